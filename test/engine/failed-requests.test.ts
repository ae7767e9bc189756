import { map, of } from 'rxjs'
import { describe, expect } from 'vitest'
import type { RunReport } from '../../src/model/report.js'
import { itWithMarbles } from '../support/marbles.js'
import { answerInTurn, oneStock, summarizeRun } from '../support/one-stock.js'
import { page, reset, row, status, tiny, tinyCollector } from '../support/tiny.js'

describe('a failed request', () => {
  const transientFailures = [
    { what: 'a 500', answer: of(status(500)), as: 'http_500' },
    { what: 'a 503', answer: of(status(503)), as: 'http_503' },
    { what: 'a reset connection', answer: reset(), as: 'error' },
    { what: 'a page instead of JSON', answer: of(page), as: 'error' },
    { what: 'an empty body', answer: of({ status: 200, body: Buffer.from('') }), as: 'error' },
    { what: 'cut JSON', answer: of({ status: 200, body: Buffer.from('{"data":[{"Clo') }), as: 'error' },
    {
      what: 'bytes that are not UTF-8',
      answer: of({ status: 200, body: Buffer.from('{"data":[{"Name":"\xff"}]}', 'latin1') }),
      as: 'error',
    },
  ]
  const lasting = [
    { what: 'another envelope', answer: of({ status: 200, body: Buffer.from('{"data":7}') }), as: 'error' },
  ]
  for (const { what, answer, as } of transientFailures)
    itWithMarbles(
      `is tried 3 times after ${what}, with a back-off that doubles, 3 times more in the second pass, and ends as ${as}`,
      (m) => {
        const collector = oneStock(m, answer)
        const ends: string[] = []
        collector
          .run()
          .pipe(summarizeRun)
          .subscribe((end) => ends.push(end))
        m.flush()

        expect(ends).toStrictEqual([`partial, 1 ${as}, 6 requests, 4 retries`])
        expect(collector.requested.slice(1, 4)).toStrictEqual(['0 news A', '375 news A', '1125 news A'])
      },
    )

  for (const { what, answer, as } of lasting)
    itWithMarbles(`is tried 3 times after ${what}, with a back-off that doubles, and ends as ${as}`, (m) => {
      const collector = oneStock(m, answer)

      m.expect(collector.run().pipe(summarizeRun)).toBeObservable('375ms 750ms (a|)', {
        a: `partial, 1 ${as}, 3 requests, 2 retries`,
      })
    })

  for (const code of [400, 401, 403, 404, 204, 302])
    itWithMarbles(`is tried once after a ${code}`, (m) => {
      const collector = oneStock(m, of(status(code)))

      m.expect(collector.run().pipe(summarizeRun)).toBeObservable('(a|)', {
        a: `partial, 1 http_${code}, 1 requests, 0 retries`,
      })
    })

  itWithMarbles('is aborted at its time-out and tried again in the second pass', (m) => {
    const answer = m.cold('-')
    const collector = oneStock(m, answer, { timeoutsMs: { news: 1_000 }, backoffMs: 0, retries: 0 })

    m.expect(collector.run().pipe(summarizeRun)).toBeObservable('2s (a|)', {
      a: 'partial, 1 error, 2 requests, 0 retries',
    })
    m.expect(answer).toHaveSubscriptions(['^ 999ms !', '1s ^ 999ms !'])
  })

  itWithMarbles('is a success when a later attempt is answered', (m) => {
    const collector = tinyCollector(m, {
      stocks: ['A'],
      streams: [tiny('news')],
      answers: answerInTurn(status(503), page, row),
    })

    m.expect(collector.run().pipe(summarizeRun)).toBeObservable('375ms 750ms (a|)', {
      a: 'complete, 1 success, 3 requests, 2 retries',
    })
  })

  itWithMarbles('fails only its own stock, with the reason in the report', (m) => {
    const answers = (call: string) => of(call === 'news B' ? status(404) : row)
    const collector = tinyCollector(m, { streams: [tiny('news')], answers })
    const summarize = map(({ outcome, scripts: { news } }: RunReport): readonly unknown[] => [
      outcome,
      news?.outcome,
      news?.items,
      news?.problems,
    ])
    const items = { success: 2, empty: 0, skipped: 0, rate_limit: 0, error: 0, http_404: 1 }
    const problems = [
      {
        item: 'B',
        status: 'http_404',
        code: 'http_404',
        reason: 'POST static /news: the provider answered 404 (empty body)',
      },
    ]

    m.expect(collector.run().pipe(summarize)).toBeObservable('(a|)', {
      a: ['partial', 'partial', items, problems],
    })
  })

  itWithMarbles('of every stock fails the stream, with each reason once', (m) => {
    const collector = tinyCollector(m, { streams: [tiny('news')], answers: () => of(status(404)) })
    const summarize = map(({ scripts: { news } }: RunReport) => [news?.outcome, news?.error])

    m.expect(collector.run().pipe(summarize)).toBeObservable('(a|)', {
      a: ['failed', 'POST static /news: the provider answered 404 (empty body)'],
    })
  })
})
