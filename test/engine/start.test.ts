import { map, mergeMap, of, toArray } from 'rxjs'
import { describe, expect } from 'vitest'
import { type MemoryFiles, memory } from '../../sinks/memory.js'
import { perPart } from '../../src/engine/define-stream.js'
import { UsageError } from '../../src/model/errors.js'
import { createResult } from '../../src/model/outcome.js'
import type { RunReport } from '../../src/model/report.js'
import { itWithMarbles } from '../support/marbles.js'
import { createCall, masterList, ok, row, status, tiny, tinyCollector, tinyOnce } from '../support/tiny.js'

const runTime = Date.parse('2026-02-12T20:00:00+05:30')
const page = (name: string, symbol: string) => ok({ Close: name.length, of: symbol })

describe('a run', () => {
  itWithMarbles('stores the same report beside the outputs as it emits', (m) => {
    const files: MemoryFiles = new Map()
    const collector = tinyCollector(m, {
      streams: [tiny('news')],
      storage: memory(files),
      answers: () => m.cold('---(r|)', { r: row }),
    })
    const reports: RunReport[] = []
    collector.run().subscribe((report) => reports.push(report))
    m.flush()

    expect(JSON.parse(files.get('.scripstream/report.json')?.text ?? '')).toStrictEqual(reports[0])
    expect([...files.keys()].sort()).toStrictEqual([
      '.scripstream/report.json',
      'master-data/all.json',
      'news/A.json',
      'news/B.json',
      'news/C.json',
    ])
  })

  itWithMarbles('takes its times from the given clock, and its name from time and random numbers', (m) => {
    const collector = tinyCollector(m, {
      streams: [],
      stocks: [],
      answers: () => m.cold('1500ms (r|)', { r: ok({ Sym: 'A', Isin: 'INA' }) }),
      clock: () => runTime + m.scheduler.now(),
    })
    const times = map(({ run, asOf, startedAt, finishedAt, durationMs }: RunReport) => ({
      run,
      asOf,
      startedAt,
      finishedAt,
      durationMs,
    }))

    m.expect(collector.run().pipe(times)).toBeObservable('1500ms (a|)', {
      a: {
        run: '20260212T143000Z-8000',
        asOf: '2026-02-12T14:30:00.000Z',
        startedAt: '2026-02-12T14:30:00.000Z',
        finishedAt: '2026-02-12T14:30:01.500Z',
        durationMs: 1_500,
      },
    })
  })

  itWithMarbles('uses a given instant instead of the clock for the collected data', (m) => {
    const seen: number[] = []
    const work = perPart(['all'], (_, { asOf }) => of(createResult([seen.push(asOf)])))
    const now = runTime + 60_000
    const collector = tinyCollector(m, { streams: [tiny('dated', { work })], clock: () => now })
    const times = map(({ asOf, startedAt }: RunReport) => [asOf, startedAt])

    m.expect(collector.run({ asOf: runTime }).pipe(times)).toBeObservable('(a|)', {
      a: ['2026-02-12T14:30:00.000Z', '2026-02-12T14:31:00.000Z'],
    })
    m.flush()
    expect(seen).toStrictEqual([runTime])
  })

  itWithMarbles('has the instant of its start throughout, even past midnight', (m) => {
    const midnight = Date.parse('2026-02-13T00:00:00+05:30')
    const seen: string[] = []
    const work = perPart(['one', 'other'], (part, { asOf, ask }) =>
      ask(createCall('dated'), { of: part }).pipe(
        map((rows) => createResult([seen.push(`${part} ${asOf - midnight}`), ...rows])),
      ),
    )
    const collector = tinyCollector(m, {
      streams: [tiny('dated', { work, workers: 1 })],
      stocks: [],
      answers: (call) => m.cold('2s (r|)', { r: call.startsWith('master') ? masterList('A') : row }),
      clock: () => midnight - 1_000 + m.scheduler.now(),
    })
    const times = map(({ asOf, finishedAt }: RunReport) => [asOf, finishedAt])

    m.expect(collector.run().pipe(times)).toBeObservable('6s (a|)', {
      a: ['2026-02-12T18:29:59.000Z', '2026-02-12T18:30:05.000Z'],
    })
    m.flush()
    expect(seen).toStrictEqual(['one -1000', 'other -1000'])
  })

  itWithMarbles('accounts for every stock in each per-stock stream, however its items end', (m) => {
    const stocks = Array.from({ length: 60 }, (_, place) => `S${place}`)
    const replies = [
      row,
      ok(),
      status(429),
      status(404),
      status(503),
      { status: 200, body: Buffer.from('<html>') },
    ]
    const answers = (call: string) => of(replies[Number(call.split(' S')[1]) % replies.length] ?? row)
    const collector = tinyCollector(m, {
      stocks,
      streams: [tiny('news'), tiny('ohlcv', { phase: 'candles' })],
      answers,
      settings: { workers: { news: 60, ohlcv: 60 }, throttleMs: 0 },
    })
    const sums = map(({ stocks: all, scripts }: RunReport) => [
      all,
      ...['news', 'ohlcv'].map((name) =>
        Object.values(scripts[name]?.items ?? {}).reduce((sum, count) => sum + count, 0),
      ),
    ])

    const ends: unknown[] = []
    collector
      .run()
      .pipe(sums)
      .subscribe((end) => ends.push(end))
    m.flush()
    expect(ends).toStrictEqual([[60, 60, 60]])
  })

  itWithMarbles('sends a shared request once, and again in each later run', (m) => {
    const id = m.cold('--(r|)', { r: row })
    const work = perPart(['asm', 'gsm'], (part, { ask, shared }) =>
      shared('id', () => ask(createCall('id'), { of: 'all' })).pipe(
        mergeMap(() => ask(createCall('list'), { of: part })),
        map((rows) => createResult(rows)),
      ),
    )
    const collector = tinyCollector(m, {
      streams: [tiny('lists', { work }), tiny('circuits', { work })],
      answers: (call) => (call === 'id all' ? id : of(row)),
    })
    const outcome = collector.run().pipe(map((report) => report.outcome))

    m.expect(outcome, '^').toBeObservable('     --(a|)', { a: 'complete' })
    m.expect(outcome, '-----^').toBeObservable('-------(a|)', { a: 'complete' })
    m.expect(id).toHaveSubscriptions(['^-!', '-----^-!'])
    m.flush()
    expect(collector.requested.filter((call) => call.includes('list'))).toHaveLength(8)
  })

  itWithMarbles('does not start with invalid options: no request, no event', (m) => {
    const collector = tinyCollector(m, { streams: [tiny('news')], settings: { urls: {} } })
    const events = collector.events()

    m.expect(events).toBeObservable(
      '#',
      undefined,
      usage('not set:\n  SCRIPSTREAM_STATIC_URL (urls.static), needed by master-data, news'),
    )
    m.flush()
    expect(collector.requested).toStrictEqual([])
  })
})

const usage = (start: string): UsageError =>
  new UsageError(`${start}\nSet the variables, or the names in brackets in scripstream.config.json.`, {
    code: 'missing-setting',
  })

describe('two collectors in one process', () => {
  itWithMarbles('share nothing: no requests, outputs, shared answers or reports', (m) => {
    const sides = (['left', 'right'] as const).map((side) => {
      const files: MemoryFiles = new Map()
      const work = perPart(['all'], (_, { ask, shared }) =>
        shared('id', () => ask(createCall('id'), { of: side })).pipe(map((rows) => createResult(rows))),
      )
      const collector = tinyCollector(m, {
        stocks: side === 'left' ? ['A'] : ['B', 'C'],
        streams: [tiny('news'), tinyOnce('list', { work })],
        storage: memory(files),
        answers: (call) => (side === 'left' ? m.cold('--(r|)', { r: page('left', call) }) : of(status(404))),
      })
      return { collector, files }
    })
    const [left, right] = sides
    const numbers = map(({ outcome, stocks, scripts }: RunReport) => [
      outcome,
      stocks,
      scripts.news?.requests,
      scripts.list?.requests,
    ])

    m.expect(left?.collector.run().pipe(numbers, toArray()) ?? of([])).toBeObservable(' --(a|)', {
      a: [['complete', 1, 1, 1]],
    })
    m.expect(right?.collector.run().pipe(numbers, toArray()) ?? of([])).toBeObservable('(a|)', {
      a: [['partial', 2, 2, 1]],
    })
    m.flush()
    expect(left?.collector.requested).toStrictEqual(['0 master-data all', '0 id left', '0 news A'])
    expect(right?.collector.requested).toStrictEqual([
      '0 master-data all',
      '0 id right',
      '0 news B',
      '0 news C',
    ])
    expect([...(left?.files.keys() ?? [])]).toContain('news/A.json')
    expect([...(right?.files.keys() ?? [])]).toStrictEqual([
      'master-data/all.json',
      '.scripstream/failed.json',
      '.scripstream/report.json',
    ])
  })
})
