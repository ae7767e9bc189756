import { map, of } from 'rxjs'
import { describe, it } from 'vitest'
import type { RunReport } from '../../src/model/report.js'
import { marbles } from '../support/marbles.js'
import { ended, inTurn, oneStock } from '../support/one-stock.js'
import { row, status, tiny, tinyCollector } from '../support/tiny.js'

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
    it(
      `with ${named} and no retries waits ${frames} and ends as rate_limit`,
      marbles((m) => {
        const collector = oneStock(m, of(status(429, retryAfter)), { retries: 0 })

        m.expect(collector.run().pipe(ended)).toBeObservable(`${frames} (a|)`, { a: 'partial, 1 rate_limit, 1 asked, 0 again' })
      }),
    )

  it(
    'is asked again after the pause, up to 3 attempts in all, each with its pause',
    marbles((m) => {
      const answer = m.cold('(r|)', { r: status(429) })
      const collector = oneStock(m, answer)

      m.expect(collector.run().pipe(ended)).toBeObservable('6s (a|)', { a: 'partial, 1 rate_limit, 3 asked, 2 again' })
      m.expect(answer).toHaveSubscriptions(['(^!)', '2s (^!)', '4s (^!)'])
    }),
  )

  it(
    'is forgotten when a later attempt is answered',
    marbles((m) => {
      const answer = inTurn(status(429, '3'), row)
      const collector = tinyCollector(m, { stocks: ['A'], streams: [tiny('news')], answers: answer })

      m.expect(collector.run().pipe(ended)).toBeObservable('3s (a|)', { a: 'complete, 1 success, 2 asked, 1 again' })
    }),
  )

  it(
    'is counted in the report, whatever comes of it',
    marbles((m) => {
      const collector = tinyCollector(m, { stocks: ['A'], streams: [tiny('news')], answers: inTurn(status(429), row) })
      const limited = map(({ scripts }: RunReport) => scripts.news?.rateLimited)

      m.expect(collector.run().pipe(limited)).toBeObservable('2s (a|)', { a: 1 })
    }),
  )
})
