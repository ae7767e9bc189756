import { map, of } from 'rxjs'
import { describe, expect } from 'vitest'
import type { RunReport } from '../../src/model/report.js'
import { itWithMarbles } from '../support/marbles.js'
import { answerInTurn, oneStock, summarizeRun } from '../support/one-stock.js'
import { page, row, status, tiny, tinyCollector } from '../support/tiny.js'

const pauses = [
  { named: 'no Retry-After', retryAfter: undefined, frames: '2s' },
  { named: 'a shorter Retry-After', retryAfter: '1', frames: '2s' },
  { named: 'an unreadable Retry-After', retryAfter: 'soon', frames: '2s' },
  { named: 'a longer Retry-After', retryAfter: '9', frames: '9s' },
  { named: 'a Retry-After that is a date', retryAfter: 'Thu, 01 Jan 1970 00:00:07 GMT', frames: '7s' },
  { named: 'a Retry-After of more than a minute', retryAfter: '3600', frames: '60s' },
]

describe('a 429', () => {
  for (const { named, retryAfter, frames } of pauses)
    itWithMarbles(`with ${named} is retried after ${frames}, without using up retries`, (m) => {
      const answers = answerInTurn(status(429, retryAfter), row)
      const collector = tinyCollector(m, {
        stocks: ['A'],
        streams: [tiny('news')],
        answers,
        settings: { retries: 0 },
      })

      m.expect(collector.run().pipe(summarizeRun)).toBeObservable(`${frames} (a|)`, {
        a: 'complete, 1 success, 2 requests, 1 retries',
      })
    })

  itWithMarbles('does not use up the retries of a failure after it', (m) => {
    const answers = answerInTurn(status(429), status(503), page, row)
    const collector = tinyCollector(m, { stocks: ['A'], streams: [tiny('news')], answers })

    m.expect(collector.run().pipe(summarizeRun)).toBeObservable('2s 375ms 750ms (a|)', {
      a: 'complete, 1 success, 4 requests, 3 retries',
    })
  })

  itWithMarbles(
    'ends its stock as rate_limit after as many further attempts as are granted in each of two passes, the last without a pause behind it',
    (m) => {
      const collector = oneStock(m, of(status(429, '3')), { throttleRetries: 2 })

      m.expect(collector.run().pipe(summarizeRun)).toBeObservable('15s (a|)', {
        a: 'partial, 1 rate_limit, 6 requests, 4 retries',
      })
    },
  )

  itWithMarbles(
    'without a Retry-After doubles the pause each time, until the host is given up; the second pass probes it once more',
    (m) => {
      const answer = m.cold('(r|)', { r: status(429) })
      const collector = oneStock(m, answer, { throttleGiveUpMs: 120_000 })

      m.expect(collector.run().pipe(summarizeRun)).toBeObservable('182s (a|)', {
        a: 'partial, 1 rate_limit, 8 requests, 6 retries',
      })
      m.expect(answer).toHaveSubscriptions([
        '(^!)',
        '2s (^!)',
        '6s (^!)',
        '14s (^!)',
        '30s (^!)',
        '62s (^!)',
        '122s (^!)',
        '182s (^!)',
      ])
    },
  )

  itWithMarbles('of an endpoint that answers again in the second pass costs no stock', (m) => {
    const stocks = ['A', 'B', 'C']
    const answers = () => (m.scheduler.now() < 150_000 ? of(status(429)) : m.cold('500ms (r|)', { r: row }))
    const settings = { throttleGiveUpMs: 120_000 }
    const collector = tinyCollector(m, { stocks, streams: [tiny('news')], answers, settings })
    collector
      .run()
      .pipe(map(({ outcome }) => [m.scheduler.now(), outcome]))
      .subscribe((end) => expect(end).toEqual([183_500, 'complete']))
    m.flush()

    expect(collector.requested.slice(-3)).toStrictEqual(['182000 news A', '182500 news B', '183000 news C'])
  })

  itWithMarbles('pauses all streams that use the endpoint; other ones of the host begin slowly', (m) => {
    const collector = tinyCollector(m, {
      stocks: ['A'],
      streams: [tiny('news'), tiny('filings'), tiny('ohlcv', { phase: 'candles' })],
      answers: answerInTurn(status(429), row),
    })
    collector.run().subscribe()
    m.flush()

    expect(collector.requested).toStrictEqual([
      '0 master-data all',
      '0 news A',
      '0 filings A',
      '100 ohlcv A',
      '2000 news A',
    ])
  })

  itWithMarbles('is counted in the report, whatever the outcome, and reported once per endpoint', (m) => {
    const collector = tinyCollector(m, {
      stocks: ['A'],
      streams: [tiny('news')],
      answers: answerInTurn(status(429), row),
    })
    const limited = map(({ scripts }: RunReport) => [
      scripts.news?.rateLimited,
      scripts['master-data']?.problems,
    ])

    m.expect(collector.run().pipe(limited)).toBeObservable('2s (a|)', {
      a: [
        1,
        [
          {
            reason:
              'static news refused requests (429, pages, or failures beside answers); backed off once; the lowest rate was 5 requests/s',
          },
        ],
      ],
    })
  })
})
