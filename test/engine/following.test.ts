import { map, of } from 'rxjs'
import { describe, expect } from 'vitest'
import { perRowOf, type StreamDefinition } from '../../src/engine/define-stream.js'
import { createResult } from '../../src/model/outcome.js'
import type { RunReport } from '../../src/model/report.js'
import { toStockItems, toStocks } from '../../src/model/stock.js'
import { itWithMarbles } from '../support/marbles.js'
import { recordEvents } from '../support/record-events.js'
import {
  createCall,
  masterList,
  ok,
  page,
  row,
  status,
  tiny,
  tinyCollector,
  tinyOnce,
} from '../support/tiny.js'

const offers = (rows: Parameters<typeof toStocks>[0]) => toStockItems(toStocks(rows))

/** A stream with one request for each index that another stream offers. */
const follower = (name: string, of: string, facts: Partial<StreamDefinition> = {}): StreamDefinition =>
  tiny(name, {
    phase: 'candles',
    work: perRowOf(of, (index, { ask }) =>
      ask(createCall(name), { of: String(index.Symbol) }).pipe(map((rows) => createResult(rows))),
    ),
    ...facts,
  })
const indices = tinyOnce('indices', { offers })
const outcomes = map(({ outcome, scripts }: RunReport) =>
  [outcome, ...Object.values(scripts).map((script) => script.outcome)].join(' '),
)

describe('a stream that depends on another one', () => {
  itWithMarbles(
    'starts with its phase, and works on the items of its source as soon as they are known',
    (m) => {
      const list = m.cold('   ---(l|)', { l: masterList('X', 'Y', 'Z') })
      const candles = m.cold('--(r|)', { r: row })
      const collector = tinyCollector(m, {
        streams: [indices, follower('ohlcv', 'indices')],
        answers: (call) => (call === 'indices all' ? list : candles),
      })

      m.expect(collector.run().pipe(outcomes)).toBeObservable('-------(a|)', {
        a: 'complete success success success',
      })
      m.expect(candles).toHaveSubscriptions(['---^-!', '---^-!', '-----^-!'])
    },
  )

  itWithMarbles('reports its number of items once its source has found them', (m) => {
    const answers = (call: string) =>
      call === 'indices all' ? m.cold('---(l|)', { l: masterList('X', 'Y', 'Z') }) : of(row)
    const lines = recordEvents(
      m,
      tinyCollector(m, { streams: [indices, follower('ohlcv', 'indices')], answers }).events(),
    )
    m.flush()

    expect(lines.filter((line) => /(started|known|stream-finished) ohlcv/.test(line))).toStrictEqual([
      '0 stream-started ohlcv',
      '3 items-known ohlcv 3',
      '3 stream-finished ohlcv success',
    ])
  })

  itWithMarbles('can be listed before its source', (m) => {
    const collector = tinyCollector(m, {
      streams: [follower('ohlcv', 'indices', { phase: 'enrichment' }), indices],
      answers: (call) => of(call === 'indices all' ? masterList('X') : row),
    })

    m.expect(collector.run().pipe(outcomes)).toBeObservable('(a|)', { a: 'complete success success success' })
  })

  itWithMarbles('sends no request if its source found nothing', (m) => {
    const collector = tinyCollector(m, {
      streams: [indices, follower('ohlcv', 'indices')],
      answers: () => of(ok()),
    })

    m.expect(collector.run().pipe(outcomes)).toBeObservable('(a|)', { a: 'complete success success success' })
    m.flush()
    expect(collector.requested).toStrictEqual(['0 master-data all', '0 indices all'])
  })

  for (const { how, reply, reason } of [
    { how: 'is refused', reply: status(403), reason: 'the provider answered 403 (empty body)' },
    { how: 'is limited', reply: status(429), reason: 'the provider answered 429: rate limited (empty body)' },
    { how: 'keeps failing', reply: page, reason: 'html: the answer is an HTML page (35 B, "Sorry")' },
  ])
    itWithMarbles(`fails without a request, and names its source, when the source ${how}`, (m) => {
      const collector = tinyCollector(m, {
        streams: [indices, follower('ohlcv', 'indices'), tiny('news')],
        answers: (call) => of(call === 'indices all' ? reply : row),
        settings: { throttleRetries: 2 },
      })
      const why = map(({ outcome, scripts: { indices, ohlcv, news } }: RunReport) => [
        outcome,
        indices?.outcome,
        ohlcv?.outcome,
        ohlcv?.error,
        news?.outcome,
      ])

      const ends: unknown[] = []
      collector
        .run()
        .pipe(why)
        .subscribe((end) => ends.push(end))
      m.flush()
      const failure = `indices, the source of this stream, failed: POST static /indices: ${reason}`
      expect(ends).toStrictEqual([['partial', 'failed', 'failed', failure, 'success']])
      expect(collector.requested.filter((call) => call.includes('ohlcv'))).toStrictEqual([])
    })

  itWithMarbles('runs together with its source only, if requested alone', (m) => {
    const collector = tinyCollector(m, {
      streams: [indices, follower('ohlcv', 'indices'), tiny('news')],
      answers: (call) => of(call === 'indices all' ? masterList('X') : row),
    })

    m.expect(collector.run({ only: ['ohlcv'] }).pipe(outcomes)).toBeObservable('(a|)', {
      a: 'complete skipped success success skipped',
    })
    m.flush()
    expect(collector.requested).toStrictEqual(['0 indices all', '0 ohlcv X'])
  })

  itWithMarbles('can be the source of another stream', (m) => {
    const middle = follower('middle', 'indices', { offers })
    const collector = tinyCollector(m, {
      streams: [indices, middle, follower('last', 'middle')],
      answers: (call) => of(call === 'last Y' ? row : masterList(call === 'indices all' ? 'X' : 'Y')),
    })

    m.expect(collector.run().pipe(outcomes)).toBeObservable('(a|)', {
      a: 'complete success success success success',
    })
  })

  itWithMarbles('can run for some of its items, while its source runs for all', (m) => {
    const collector = tinyCollector(m, {
      streams: [tiny('middle', { offers }), follower('last', 'middle'), tiny('news')],
      stocks: ['A', 'B'],
      answers: (call) => of(call.startsWith('middle') ? masterList(`X${call.at(-1)}`) : row),
    })
    const pairs = { middle: ['A'], last: ['XB'], news: ['b'] }

    m.expect(collector.run({ pairs }).pipe(outcomes)).toBeObservable('(a|)', {
      a: 'complete success success success success',
    })
    m.flush()
    expect([...collector.requested].sort()).toStrictEqual([
      '0 last XB',
      '0 master-data all',
      '0 middle A',
      '0 middle B',
      '0 news B',
    ])
  })

  for (const { how, reply, end } of [
    { how: 'failed', reply: status(403), end: 'partial success failed failed failed' },
    { how: 'found nothing', reply: ok(), end: 'complete success success success success' },
  ])
    itWithMarbles(`ends when the first source of a chain ${how}`, (m) => {
      const middle = follower('middle', 'indices', { offers })
      const collector = tinyCollector(m, {
        streams: [indices, middle, follower('last', 'middle')],
        answers: () => of(reply),
      })

      m.expect(collector.run().pipe(outcomes)).toBeObservable('(a|)', { a: end })
    })
})
