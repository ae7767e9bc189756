import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Status } from '../../src/model/errors.js'
import type { RunEvent } from '../../src/model/event.js'
import { createRunStats, NOT_STARTED } from '../../src/model/run-stats.js'

const started: RunEvent = {
  type: 'run-started',
  at: 1_000,
  run: 'run-1',
  asOf: 0,
  streams: [
    { name: 'news', state: 'waiting' },
    { name: 'deals', state: 'skipped' },
    { name: 'ohlcv', state: 'disabled' },
  ],
}
const begin: RunEvent = { type: 'stream-started', at: 2_000, stream: 'news' }
const finish: RunEvent = { type: 'stream-finished', at: 5_000, stream: 'news', outcome: 'success' }
const itemFinished = (
  status: Status,
  more: { readonly degraded?: string; readonly reason?: string } = {},
): RunEvent => ({
  type: 'item-finished',
  stream: 'news',
  item: 'A',
  status,
  ...more,
})
const createStats = (...events: readonly RunEvent[]) => {
  const stats = createRunStats()
  for (const event of [started, ...events]) stats.record(event)
  return stats
}
const reportOf = (...events: readonly RunEvent[]) => createStats(...events).report(9_000)

describe('the report of a run', () => {
  it('contains the run, its times, and every stream, with zeros if nothing happened', () => {
    const nothing = {
      durationMs: 0,
      requests: 0,
      retries: 0,
      rateLimited: 0,
      degraded: 0,
      takenOver: 0,
      files: 0,
      bytes: 0,
      problems: [],
    }
    const items = { success: 0, empty: 0, skipped: 0, rate_limit: 0, error: 0 }

    expect(reportOf({ type: 'master-read', stocks: 7 })).toStrictEqual({
      run: 'run-1',
      asOf: '1970-01-01T00:00:00.000Z',
      startedAt: '1970-01-01T00:00:01.000Z',
      finishedAt: '1970-01-01T00:00:09.000Z',
      durationMs: 8_000,
      outcome: 'complete',
      stocks: 7,
      scripts: {
        news: { outcome: 'skipped', items, ...nothing, error: NOT_STARTED },
        deals: { outcome: 'skipped', items, ...nothing },
        ohlcv: { outcome: 'disabled', items, ...nothing },
      },
    })
  })

  it('adds up requests, further attempts and 429s of a stream', () => {
    const stored = [20, 40, 10].map((bytes) => ({ type: 'stored' as const, stream: 'news', bytes }))
    const events = (['requested', 'rate-limited', 'retried', 'requested', 'requested'] as const).map(
      (type) => ({ type, stream: 'news' }),
    )
    const { requests, retries, rateLimited, durationMs, files, bytes } =
      reportOf(begin, ...events, ...stored, finish).scripts.news ?? {}

    expect({ requests, retries, rateLimited, durationMs, files, bytes }).toStrictEqual({
      requests: 3,
      retries: 1,
      rateLimited: 1,
      durationMs: 3_000,
      files: 3,
      bytes: 70,
    })
  })

  it('is complete if every item was answered or had nothing to do', () => {
    expect(
      reportOf(begin, itemFinished('success'), itemFinished('empty'), itemFinished('skipped'), finish)
        .outcome,
    ).toBe('complete')
  })

  for (const status of ['rate_limit', 'http_404', 'http_503', 'error'] as const)
    it(`is partial where an item was lost: ${status}`, () => {
      const { outcome, scripts } = reportOf(
        begin,
        itemFinished('success'),
        itemFinished(status, { reason: 'why' }),
        finish,
      )

      expect(outcome).toBe('partial')
      expect(scripts.news?.items[status]).toBe(1)
      expect(scripts.news?.problems).toStrictEqual([{ item: 'A', status, reason: 'why' }])
    })

  it.each<[string, RunEvent, string, object]>([
    [
      'is partial if an item is degraded, which is counted besides its status',
      itemFinished('empty', { degraded: 'lodr: 503' }),
      'partial',
      {
        degraded: 1,
        items: expect.objectContaining({ empty: 1 }),
        problems: [{ item: 'A', status: 'empty', reason: 'lodr: 503' }],
      },
    ],
    [
      'stays complete with warnings',
      { type: 'warning', stream: 'news', text: '3 rows were left out' },
      'complete',
      { problems: [{ reason: '3 rows were left out' }] },
    ],
    [
      'is partial if stored data was retained because an answer looked wrong',
      { type: 'warning', stream: 'news', text: 'shrink: 20 of 60', code: 'shrink' },
      'partial',
      { outcome: 'partial', problems: [{ code: 'shrink', reason: 'shrink: 20 of 60' }] },
    ],
    [
      'is partial if a stream failed, and states why',
      { ...finish, outcome: 'failed', error: 'no tier' } as RunEvent,
      'partial',
      { outcome: 'failed', error: 'no tier' },
    ],
  ])('%s', (_, event, outcome, news) => {
    const end = event.type === 'stream-finished' ? [] : [finish]
    expect(reportOf(begin, event, ...end)).toMatchObject({ outcome, scripts: { news } })
  })

  it('uses a given outcome of the run', () => {
    const report = createStats(begin, itemFinished('success'), finish).report(9_000, {
      outcome: 'failed',
      error: 'master-data failed',
    })

    expect([report.outcome, report.error]).toStrictEqual(['failed', 'master-data failed'])
  })

  it('calls failed a stream that had begun when the run ended, and skipped one that had not', () => {
    const stats = createRunStats()
    stats.record({
      ...started,
      streams: [
        { name: 'news', state: 'waiting' },
        { name: 'deals', state: 'waiting' },
      ],
    } as RunEvent)
    stats.record(begin)
    const { news, deals } = stats.report(9_000, { outcome: 'interrupted' }).scripts

    expect([news?.outcome, news?.durationMs, deals?.outcome, deals?.durationMs]).toStrictEqual([
      'failed',
      7_000,
      'skipped',
      0,
    ])
  })

  it('keeps the first ten failures of a stream', () => {
    const losses = Array.from({ length: 25 }, (_, place) => itemFinished('error', { reason: `${place}` }))
    const problems = reportOf(begin, ...losses, finish).scripts.news?.problems

    expect(problems?.map(({ reason }) => reason)).toStrictEqual([
      '0',
      '1',
      '2',
      '3',
      '4',
      '5',
      '6',
      '7',
      '8',
      '9',
    ])
  })

  it('keeps the first five warnings of a stream after its failures, so that neither displaces the other', () => {
    const notices = Array.from(
      { length: 25 },
      (_, place): RunEvent => ({ type: 'warning', stream: 'news', text: `n${place}` }),
    )
    const problems = reportOf(begin, ...notices, itemFinished('error', { reason: 'lost' }), finish).scripts
      .news?.problems

    expect(problems?.map(({ reason }) => reason)).toStrictEqual(['lost', 'n0', 'n1', 'n2', 'n3', 'n4'])
  })

  it('names every stored file that was replaced as a whole or repaired, and why', () => {
    const items = Array.from({ length: 1_200 }, (_, place) => `S${place}`)
    const events = items.map(
      (item): RunEvent => ({
        type: 'item-finished',
        stream: 'news',
        item,
        status: 'success',
        remark: 'repaired: torn',
      }),
    )
    const { outcome, scripts } = reportOf(begin, itemFinished('success'), ...events, finish)

    expect(outcome).toBe('complete')
    expect(scripts.news?.rewritten).toStrictEqual(items.map((item) => ({ item, reason: 'repaired: torn' })))
  })

  it('counts each item under exactly one status', () => {
    const anyStatus = fc.constantFrom<Status>(
      'success',
      'empty',
      'skipped',
      'rate_limit',
      'http_404',
      'http_503',
      'error',
    )
    const property = fc.property(fc.array(anyStatus), (statuses) => {
      const { items } =
        reportOf(begin, ...statuses.map((status) => itemFinished(status)), finish).scripts.news ?? {}
      expect(Object.values(items ?? {}).reduce((sum, count) => sum + count, 0)).toBe(statuses.length)
    })
    fc.assert(property)
  })
})

describe('the run statistics during a run', () => {
  it('counts the known, finished and lost items of a stream', () => {
    const total: RunEvent = { type: 'items-known', stream: 'news', total: 4 }
    const [news] = createStats(begin, total, itemFinished('success'), itemFinished('error')).streams()

    expect([news?.state, news?.total, news?.finished, news?.lost]).toStrictEqual(['running', 4, 2, 1])
  })

  it('ignores a stream that is not in the run', () => {
    const stats = createStats({ type: 'requested', stream: 'another' })

    expect(stats.streams().map(({ name }) => name)).toStrictEqual(['news', 'deals', 'ohlcv'])
  })
})
