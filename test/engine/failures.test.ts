import { of } from 'rxjs'
import { describe, expect } from 'vitest'
import { CollectError, NothingAnsweredError } from '../../src/model/errors.js'
import type { PublicOutcome } from '../../src/model/outcome.js'
import type { RunReport } from '../../src/model/report.js'
import { type Context, itWithMarbles } from '../support/marbles.js'
import { ok, page, row, status, type Tiny, tiny, tinyCollector, tinyOnce } from '../support/tiny.js'

describe('the outcome of a failed item', () => {
  itWithMarbles('has the error with code, request and response, without secrets; others have none', (m) => {
    const items: PublicOutcome[] = []
    const settings = { retries: 0, headers: { authorization: 'Bearer s3cret-token' } }
    const denied = { status: 403, body: Buffer.from('no right for s3cret-token'), contentType: 'text/plain' }
    const collector = tinyCollector(m, {
      streams: [tiny('news')],
      settings,
      answers: (call) => of(call === 'news B' ? denied : row),
    })
    collector.stream('news').subscribe((item) => items.push(item))
    m.flush()
    expect(items.map(({ item, error }) => [item.key, error instanceof CollectError])).toEqual([
      ['A', false],
      ['B', true],
      ['C', false],
    ])
    expect(items[1]?.error).toMatchObject({
      code: 'http_403',
      request: { method: 'POST', host: 'static', path: '/news', stream: 'news', item: 'B' },
      response: { status: 403, start: expect.stringContaining('[redacted]') },
    })
    expect(items.filter((item) => 'error' in item)).toHaveLength(1)
  })

  itWithMarbles('has the last error of several sources as the cause', (m) => {
    const failures = [new NothingAnsweredError('one'), new NothingAnsweredError('other')]
    expect(new NothingAnsweredError('all', [...failures, { code: 'dns' }])).toMatchObject({
      code: 'no-answer',
      cause: failures[1],
    })
    m.flush()
  })
})

describe('the report of a failed stream', () => {
  const reportOf = (m: Context, tinyOptions: Tiny): RunReport => {
    const reports: RunReport[] = []
    tinyCollector(m, tinyOptions)
      .run()
      .subscribe((report) => reports.push(report))
    m.flush()
    expect(reports).toHaveLength(1)
    return reports[0] as RunReport
  }
  const many = Array.from({ length: 20 }, (_, index) => `S${index}`)
  const statuses = ['A', 'B', 'C'] as const

  for (const [why, code, options] of [
    ['its only item failed', 'http_404', { streams: [tinyOnce('news')], answers: () => of(status(404)) }],
    ['all items failed alike', 'http_404', { streams: [tiny('news')], answers: () => of(status(404)) }],
    [
      'items failed differently',
      'no-answer',
      {
        streams: [tiny('news')],
        answers: (call: string) => of(status(400 + statuses.indexOf(call.slice(-1) as 'A'))),
      },
    ],
    ['all items were empty', 'all-empty', { streams: [tiny('news')], stocks: many, answers: () => of(ok()) }],
  ] as const)
    itWithMarbles(`has the code ${code} if ${why}`, (m) => {
      const { scripts } = reportOf(m, { ...options, settings: { retries: 0 } })
      expect(scripts.news).toMatchObject({ outcome: 'failed', code, error: expect.any(String) })
      expect(scripts['master-data']).not.toHaveProperty('code')
    })

  for (const { count, rows, outcome } of [
    { count: 20, rows: [], outcome: 'failed' },
    { count: 19, rows: [], outcome: 'success' },
    { count: 30, rows: ['news S7'], outcome: 'success' },
  ])
    itWithMarbles(`is ${outcome} with ${count} items, of which ${rows.length} have rows`, (m) => {
      const stocks = Array.from({ length: count }, (_, index) => `S${index}`)
      const answers = (call: string) => of(rows.some((one) => one === call) ? ok({ a: 1 }) : ok())
      const {
        outcome: end,
        error,
        items,
      } = reportOf(m, { streams: [tiny('news')], stocks, answers }).scripts.news ?? {}
      expect([end, items?.empty]).toEqual([outcome, count - rows.length])
      expect(error).toBe(outcome === 'failed' ? 'all 20 items were empty' : undefined)
    })

  itWithMarbles(
    'has the code of the stream that it depends on; a failed run has that of the master list',
    (m) => {
      const list = tinyOnce('list', { offers: () => [] })
      const rows = tiny('rows', { work: { ...tiny('rows').work, of: 'list' } })
      const answers = (call: string) => of(call === 'list all' ? page : row)
      expect(
        reportOf(m, { streams: [list, rows], answers, settings: { retries: 0 } }).scripts.rows,
      ).toMatchObject({ code: 'html' })
      const failed = reportOf(m, {
        streams: [list],
        stocks: [],
        answers: () => of(status(410)),
        settings: { retries: 0 },
      })
      expect(failed).toMatchObject({
        outcome: 'failed',
        code: 'http_410',
        error: expect.stringContaining('410'),
      })
    },
  )

  itWithMarbles('is the error of a subscribed stream with the same code', (m) => {
    const errors: unknown[] = []
    tinyCollector(m, {
      streams: [tiny('news')],
      stocks: [],
      answers: () => of(status(410)),
      settings: { retries: 0 },
    })
      .stream('news')
      .subscribe({ error: (error: unknown) => errors.push(error) })
    m.flush()
    expect(errors).toMatchObject([{ name: 'NothingAnsweredError', code: 'http_410' }])
  })
})
