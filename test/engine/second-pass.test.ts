import { concat, map, mergeMap, type Observable, of, throwError, timer } from 'rxjs'
import { describe, expect } from 'vitest'
import { type MemoryFiles, memory } from '../../sinks/memory.js'
import { once, perRowOf, perStock } from '../../src/engine/define-stream.js'
import type { HttpReply } from '../../src/http/transport.js'
import { BadAnswerError, NothingAnsweredError, TransportError } from '../../src/model/errors.js'
import { createResult } from '../../src/model/outcome.js'
import type { RunReport } from '../../src/model/report.js'
import { toStockItems, toStocks } from '../../src/model/stock.js'
import { itWithMarbles } from '../support/marbles.js'
import { recordEvents } from '../support/record-events.js'
import {
  type Answers,
  createCall,
  masterList,
  row,
  status,
  tiny,
  tinyCollector,
  tinyOnce,
} from '../support/tiny.js'

const SETTINGS = { retries: 0, backoffMs: 0 }

/** Answers a call with 503 the given number of times, then with a row; each after a delay. */
const failing = (
  times: Readonly<Record<string, number>>,
  ms = 1,
  then: (call: string) => HttpReply = () => row,
): Answers => {
  const requests = new Map<string, number>()
  return (call): Observable<HttpReply> => {
    const nth = (requests.get(call) ?? 0) + 1
    requests.set(call, nth)
    return timer(ms).pipe(map(() => (nth <= (times[call] ?? 0) ? status(503) : then(call))))
  }
}

/** Truncates the answers to a call the given number of times, which does not affect the state of the host. */
const cutting = (times: Readonly<Record<string, number>>, ms: number): Answers => {
  const answers = failing(times, ms)
  const cut = new TransportError('truncated', 'other side closed')
  return (call) =>
    answers(call).pipe(mergeMap((reply) => (reply.status === 200 ? of(reply) : throwError(() => cut))))
}

const callsIn = (requests: readonly string[]): readonly string[] =>
  requests.filter((call) => !call.includes('master-data'))
const outcomesOf = (report: RunReport): readonly unknown[] => [
  report.outcome,
  ...Object.values(report.scripts).map(({ outcome }) => outcome),
]

describe('the second pass', () => {
  itWithMarbles(
    'retries items that failed for a temporary reason, after all streams have finished their first pass',
    (m) => {
      const files: MemoryFiles = new Map()
      const streams = [tiny('news'), tiny('slow', { workers: 1 }), tiny('ohlcv', { phase: 'candles' })]
      const answers = failing({ 'news B': 1, 'ohlcv A': 1 })
      const collector = tinyCollector(m, { streams, answers, settings: SETTINGS, storage: memory(files) })
      const lines = recordEvents(m, collector.events())
      m.flush()

      expect(collector.requested.slice(-2)).toStrictEqual(['3 news B', '3 ohlcv A'])
      expect(
        lines.filter((line) => /second-pass|deferred|news B|(?:stream|run)-finished/.test(line)),
      ).toStrictEqual([
        '0 stream-finished master-data success',
        '2 items-deferred news 1',
        '2 items-deferred ohlcv 1',
        '3 second-pass news 1',
        '3 second-pass ohlcv 1',
        '3 stream-finished slow success',
        '4 item-finished news B success',
        '4 stream-finished news success',
        '4 stream-finished ohlcv success',
        '4 run-finished complete',
      ])
      expect([...files.keys()]).toContain('news/B.json')
    },
  )

  itWithMarbles('reports every item once, with its final outcome', (m) => {
    const collector = tinyCollector(m, {
      streams: [tiny('news')],
      answers: failing({ 'news A': 9, 'news B': 1 }),
      settings: SETTINGS,
    })
    const lines = recordEvents(m, collector.events())
    m.flush()

    expect(
      lines.filter((line) => line.includes('item-finished news')).map((line) => line.replace(/^\d+ /, '')),
    ).toStrictEqual([
      'item-finished news C success',
      'item-finished news A http_503',
      'item-finished news B success',
    ])
    expect(callsIn(collector.requested).filter((call) => call.endsWith('A'))).toHaveLength(2)
  })

  itWithMarbles('skips items that failed permanently', (m) => {
    const collector = tinyCollector(m, {
      streams: [tiny('news')],
      answers: () => of(status(404)),
      settings: SETTINGS,
    })
    const lines = recordEvents(m, collector.events())
    m.flush()
    expect(callsIn(collector.requested)).toHaveLength(3)
    expect(lines.join()).not.toContain('second-pass')
  })

  for (const { workers, most } of [
    { workers: 1, most: 1 },
    { workers: 5, most: 2 },
    { workers: 8, most: 4 },
  ])
    itWithMarbles(`works on ${most} at a time where the first pass had ${workers} workers`, (m) => {
      const stocks = ['A', 'B', 'C', 'D', 'E', 'F', 'G', 'H']
      const times = Object.fromEntries(stocks.map((stock) => [`news ${stock}`, 1]))
      const collector = tinyCollector(m, {
        stocks,
        streams: [tiny('news', { workers })],
        answers: cutting(times, 10),
        settings: SETTINGS,
      })
      const outcomes: string[] = []
      collector.run().subscribe(({ outcome }) => outcomes.push(outcome))
      m.flush()

      const second = callsIn(collector.requested).slice(stocks.length)
      const first = second[0]?.split(' ')[0]
      expect(second).toHaveLength(stocks.length)
      expect(second.filter((call) => call.startsWith(`${first} `))).toHaveLength(most)
      expect(outcomes).toStrictEqual(['complete'])
    })

  itWithMarbles('also retries degraded items, and stores the result', (m) => {
    let requests = 0
    const work = perStock(() => {
      requests += 1
      return of(
        requests === 1
          ? { ...createResult([], 'a path failed'), isTemporary: true }
          : createResult([{ Close: 2 }]),
      )
    })
    const collector = tinyCollector(m, { stocks: ['A'], streams: [tiny('news', { work })] })
    const ends = collector
      .run()
      .pipe(map(({ outcome, scripts: { news } }) => [outcome, news?.degraded, news?.items.success]))

    m.expect(ends).toBeObservable('(a|)', { a: ['complete', 0, 1] })
  })

  itWithMarbles('begins at once in a stream that others wait for, to avoid a deadlock', (m) => {
    const following = tinyOnce('following', {
      after: ['news'],
      work: once(({ ask, after }) =>
        concat(
          after('news'),
          ask(createCall('following'), { of: 'all' }).pipe(map((rows) => createResult(rows))),
        ),
      ),
    })
    const answers = failing({ 'news A': 1, 'following all': 1, 'other A': 1 })
    const collector = tinyCollector(m, {
      stocks: ['A'],
      streams: [following, tiny('news'), tiny('other')],
      answers,
      settings: SETTINGS,
    })
    const ends: unknown[] = []
    collector.run().subscribe((report) => ends.push(outcomesOf(report)))
    m.flush()

    expect(ends).toStrictEqual([['complete', 'success', 'success', 'success', 'success']])
    expect(callsIn(collector.requested)).toStrictEqual([
      '0 news A',
      '0 other A',
      '1 news A',
      '2 following all',
      // Now that all have ended their first pass.
      '3 other A',
      '3 following all',
    ])
  })

  itWithMarbles('begins at once in a stream that is a source of others, and in each core stream', (m) => {
    const indices = tinyOnce('indices', { offers: (rows) => toStockItems(toStocks(rows)) })
    const work = perRowOf('indices', (index, { ask }) =>
      ask(createCall('ohlcv'), { of: String(index.Symbol) }).pipe(map((rows) => createResult(rows))),
    )
    const streams = [tinyOnce('core', { phase: 'core' }), tiny('ohlcv', { phase: 'candles', work }), indices]
    const answers = failing({ 'core all': 1, 'indices all': 1, 'ohlcv X': 1 }, 1, (call) =>
      call === 'indices all' ? masterList('X') : row,
    )
    const collector = tinyCollector(m, { streams, answers, settings: SETTINGS })
    const ends: unknown[] = []
    collector.run().subscribe((report) => ends.push(outcomesOf(report)))
    m.flush()

    expect(ends).toStrictEqual([['complete', 'success', 'success', 'success', 'success']])
    expect(callsIn(collector.requested)).toStrictEqual([
      '0 core all',
      '1 core all',
      '2 indices all',
      '3 indices all',
      '4 ohlcv X',
      '5 ohlcv X',
    ])
  })

  itWithMarbles('does not wait for a stream that fails before it has begun', (m) => {
    const indices = tinyOnce('indices', { offers: (rows) => toStockItems(toStocks(rows)) })
    const work = perRowOf('indices', () => of(createResult([])))
    const answers = cutting({ 'indices all': 9, 'news A': 1 }, 1)
    const streams = [indices, tiny('ohlcv', { phase: 'candles', work }), tiny('news')]
    const collector = tinyCollector(m, { stocks: ['A'], streams, answers, settings: SETTINGS })
    const ends: unknown[] = []
    collector.run().subscribe((report) => ends.push(outcomesOf(report)))
    m.flush()
    expect(ends).toStrictEqual([['partial', 'success', 'failed', 'failed', 'success']])
  })

  itWithMarbles('does not begin in a stopping run, which lets requests in flight finish', (m) => {
    const answers = (call: string) => (call === 'slow A' ? timer(100).pipe(map(() => row)) : of(status(503)))
    const streams = [tiny('news'), tiny('slow')]
    const collector = tinyCollector(m, { stocks: ['A'], streams, answers, settings: SETTINGS })
    const lines = recordEvents(m, collector.events({ stop: timer(50) }))
    m.flush()

    expect(
      lines.filter((line) => /(?:item-finished|stored) |second-pass|(?:stream|run)-finished/.test(line)),
    ).toStrictEqual([
      '0 item-finished master-data all success',
      '0 stored master-data',
      '0 stream-finished master-data success',
      '100 item-finished slow A success',
      '100 stored slow',
      '100 run-finished interrupted',
    ])
    expect(callsIn(collector.requested)).toStrictEqual(['0 news A', '0 slow A'])
  })

  itWithMarbles('does not begin in a stopping run, not even in a stream that need not wait', (m) => {
    const following = tinyOnce('following', {
      after: ['news'],
      work: once((tools) => concat(tools.after('news'), of(createResult([])))),
    })
    const answers = (call: string) =>
      timer(call === 'slow A' ? 100 : 60).pipe(map(() => (call === 'slow A' ? row : status(503))))
    const streams = [tiny('news'), following, tiny('slow')]
    const collector = tinyCollector(m, { stocks: ['A'], streams, answers, settings: SETTINGS })
    const lines = recordEvents(m, collector.events({ stop: timer(50) }))
    m.flush()

    expect(lines.join()).not.toContain('second-pass')
    expect(callsIn(collector.requested)).toStrictEqual(['0 news A', '0 slow A'])
    expect(lines.at(-1)).toMatch(/COMPLETE/)
  })

  itWithMarbles('repeats a shared request that failed for a temporary reason', (m) => {
    const work = perStock((stock, { ask, shared }) =>
      shared('id', () => ask(createCall('id'), { of: 'all' })).pipe(
        map((rows) => createResult(rows.map((id) => ({ id, of: stock.Symbol })))),
      ),
    )
    const collector = tinyCollector(m, {
      streams: [tiny('news', { work })],
      answers: failing({ 'id all': 1 }),
      settings: SETTINGS,
    })
    const ends = collector.run().pipe(map(({ outcome, scripts: { news } }) => [outcome, news?.items.success]))

    m.expect(ends).toBeObservable('--(a|)', { a: ['complete', 3] })
    m.flush()
    expect(callsIn(collector.requested)).toStrictEqual(['0 id all', '1 id all'])
  })

  itWithMarbles('reuses shared answers without another request', (m) => {
    let fails = 3
    const work = perStock((stock, { ask, shared }) =>
      shared('id', () => ask(createCall('id'), { of: 'all' })).pipe(
        map((rows) => {
          if (fails-- > 0) throw new NothingAnsweredError('not yet', [new BadAnswerError('empty', 'no rows')])
          return createResult(rows.map((id) => ({ id, of: stock.Symbol })))
        }),
      ),
    )
    const collector = tinyCollector(m, { streams: [tiny('news', { work })] })
    m.expect(collector.run().pipe(map(({ outcome }) => outcome))).toBeObservable('(a|)', { a: 'complete' })
    m.flush()
    expect(callsIn(collector.requested)).toStrictEqual(['0 id all'])
  })
})
