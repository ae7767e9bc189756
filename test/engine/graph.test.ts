import { map, NEVER, of, timer } from 'rxjs'
import { describe, expect } from 'vitest'
import { itWithMarbles } from '../support/marbles.js'
import { recordEvents } from '../support/record-events.js'
import { ok, page, row, status, tiny, tinyCollector, tinyOnce } from '../support/tiny.js'

const outcome = map(({ outcome }: { readonly outcome: string }) => outcome)
const core = { phase: 'core' } as const
const candles = { phase: 'candles' } as const

describe('the order of a run', () => {
  itWithMarbles(
    'emits its events in order: each stream, its items, their outcomes, and finally the run',
    (m) => {
      const collector = tinyCollector(m, {
        streams: [tiny('news', { workers: 1 })],
        stocks: ['A', 'B'],
        answers: () => m.cold('-(r|)', { r: row }),
      })
      const lines = recordEvents(m, collector.events())
      m.flush()

      expect(lines).toStrictEqual([
        '0 run-started master-data:waiting news:waiting',
        '0 stream-started master-data',
        '0 items-known master-data 1',
        '0 requested master-data',
        '0 item-finished master-data all success',
        '0 master-read 2',
        '0 stored master-data',
        '0 stream-finished master-data success',
        '0 stream-started news',
        '0 items-known news 2',
        '0 requested news',
        '1 item-finished news A success',
        '1 stored news',
        '1 requested news',
        '2 item-finished news B success',
        '2 stored news',
        '2 stream-finished news success',
        '2 run-finished complete',
        '2 COMPLETE',
      ])
    },
  )

  itWithMarbles('runs the core streams one after the other, and phase 2 only once phase 1 has ended', (m) => {
    const answers = {
      first: m.cold('--(r|)', { r: row }),
      second: m.cold('---(r|)', { r: row }),
      later: m.cold('-(r|)', { r: row }),
    }
    const collector = tinyCollector(m, {
      streams: [tinyOnce('first', core), tinyOnce('later'), tinyOnce('second', core)],
      answers: (call) => answers[call.split(' ')[0] as keyof typeof answers],
    })

    m.expect(collector.run().pipe(outcome)).toBeObservable('------(a|)', { a: 'complete' })
    m.expect(answers.first).toHaveSubscriptions('           ^-!')
    m.expect(answers.second).toHaveSubscriptions('          --^--!')
    m.expect(answers.later).toHaveSubscriptions('           -----^!')
  })

  itWithMarbles('starts no stream before the master list is available', (m) => {
    const collector = tinyCollector(m, {
      streams: [tinyOnce('first', core), tinyOnce('later')],
      stocks: [],
      answers: () => timer(5).pipe(map(() => ok({ Sym: 'A', Isin: 'INA' }))),
    })
    recordEvents(m, collector.events())
    m.flush()

    expect(collector.requested).toStrictEqual(['0 master-data all', '5 first all', '10 later all'])
  })

  itWithMarbles('runs phases 2 and 2.5 in parallel, and ends with the slower one', (m) => {
    const slow = m.cold('  -----(r|)', { r: row })
    const quick = m.cold(' --(r|)', { r: row })
    const candle = m.cold('---(r|)', { r: row })
    const answers = { slow, quick, candle }
    const collector = tinyCollector(m, {
      streams: [tinyOnce('slow'), tinyOnce('quick'), tinyOnce('candle', candles)],
      answers: (call) => answers[call.split(' ')[0] as keyof typeof answers],
    })

    m.expect(collector.run().pipe(outcome)).toBeObservable('-----(a|)', { a: 'complete' })
    m.expect(slow).toHaveSubscriptions('                    ^----!')
    m.expect(quick).toHaveSubscriptions('                   ^-!')
    m.expect(candle).toHaveSubscriptions('                  ^--!')
  })
})

describe('the barrier', () => {
  itWithMarbles('passes when there is nothing but the master list, or nothing at all, to run', (m) => {
    m.expect(tinyCollector(m, { streams: [] }).run().pipe(outcome)).toBeObservable('(a|)', { a: 'complete' })
    const idle = tinyCollector(m, { streams: [tinyOnce('later')] })
    m.expect(idle.run({ only: [] }).pipe(outcome)).toBeObservable('(a|)', { a: 'complete' })
  })

  itWithMarbles('passes when no stock is selected', (m) => {
    const collector = tinyCollector(m, {
      streams: [tiny('news'), tiny('ohlcv', candles)],
      stocks: [],
      answers: () => of(ok()),
    })

    m.expect(collector.run().pipe(map(({ outcome, stocks }) => ({ outcome, stocks })))).toBeObservable(
      '(a|)',
      {
        a: { outcome: 'complete', stocks: 0 },
      },
    )
  })

  itWithMarbles('waits for the other streams when one fails, and the run is partial', (m) => {
    const fails = m.cold('-(r|)', { r: status(404) })
    const slow = m.cold(' -----(r|)', { r: row })
    const collector = tinyCollector(m, {
      streams: [tinyOnce('fails'), tinyOnce('slow')],
      answers: (call) => (call === 'fails all' ? fails : slow),
    })
    const outcomes = map(
      ({ outcome, scripts }: { outcome: string; scripts: Record<string, { outcome: string }> }) =>
        [outcome, scripts.fails?.outcome, scripts.slow?.outcome].join(' '),
    )

    m.expect(collector.run().pipe(outcomes)).toBeObservable('-----(a|)', { a: 'partial failed success' })
    m.expect(slow).toHaveSubscriptions('                     ^----!')
  })

  itWithMarbles('continues with phase 2 after a failed core stream, unless it is the master list', (m) => {
    const collector = tinyCollector(m, {
      streams: [tinyOnce('first', core), tinyOnce('later')],
      answers: (call) => of(call === 'first all' ? status(404) : row),
    })
    recordEvents(m, collector.events())
    m.flush()

    expect(collector.requested).toStrictEqual(['0 master-data all', '0 first all', '0 later all'])
  })

  itWithMarbles(
    'waits for a slow stream until its time-out and retries are used up, then the stream fails',
    (m) => {
      const collector = tinyCollector(m, {
        streams: [tinyOnce('slow', { timeoutMs: 1_000 })],
        answers: () => NEVER,
        settings: { backoffMs: 0 },
      })
      const outcomes: string[] = []
      collector.run().subscribe((report) => outcomes.push(report.outcome))
      m.flush()

      expect(outcomes).toStrictEqual(['partial'])
      expect(collector.dropped).toHaveLength(3)
    },
  )
})

describe('the critical step', () => {
  for (const { how, reply, asked, times } of [
    { how: 'is refused', reply: status(403), asked: [0], times: 1 },
    { how: 'keeps failing', reply: status(503), asked: [0, 375, 1_125], times: 3 },
    { how: 'answers a page', reply: page, asked: [0, 375, 1_125], times: 6 },
  ])
    itWithMarbles(`ends the run as failed, without another request, when it ${how}`, (m) => {
      const collector = tinyCollector(m, {
        streams: [tinyOnce('first', core), tiny('news'), tinyOnce('later'), tiny('ohlcv', candles)],
        stocks: [],
        answers: () => of(reply),
      })
      const lines = recordEvents(m, collector.events())
      m.flush()

      expect(collector.requested.slice(0, 3)).toStrictEqual(asked.map((frame) => `${frame} master-data all`))
      expect(collector.requested.map((call) => call.replace(/^\d+ /, ''))).toStrictEqual(
        Array(times).fill('master-data all'),
      )
      expect(
        lines
          .filter((line) => !line.includes('warning'))
          .slice(-3)
          .map((line) => line.replace(/^\d+ /, '')),
      ).toStrictEqual(['stream-finished master-data failed', 'run-finished failed', 'COMPLETE'])
    })

  itWithMarbles('reports why it failed, and that the others were skipped', (m) => {
    const collector = tinyCollector(m, {
      streams: [tiny('news')],
      stocks: [],
      answers: () => of(status(403)),
    })
    const why = map(
      ({ error, scripts }: { error?: string; scripts: Record<string, { outcome: string }> }) => [
        error,
        scripts.news?.outcome,
      ],
    )

    m.expect(collector.run().pipe(why)).toBeObservable('(a|)', {
      a: ['master-data failed: POST static /master-data: the provider answered 403 (empty body)', 'skipped'],
    })
  })
})
