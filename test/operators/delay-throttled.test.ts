import { describe, it } from 'vitest'
import { HttpError, Throttled } from '../../src/model/errors.js'
import { delayThrottled } from '../../src/operators/delay-throttled.js'
import { marbles } from '../support/marbles.js'

const pause = delayThrottled<string>({ leastMs: 2_000, mostMs: 60_000 })

describe('delayThrottled', () => {
  it(
    'hands on values at once',
    marbles((m) => {
      const source = m.cold<string>('-a-(b|)')
      const expected = '             -a-(b|)'

      m.expect(source.pipe(pause)).toBeObservable(expected)
      m.expect(source).toHaveSubscriptions('^--!')
    }),
  )

  it(
    'ends with an empty source, without a pause',
    marbles((m) => {
      const source = m.cold<string>('--|')
      const expected = '             --|'

      m.expect(source.pipe(pause)).toBeObservable(expected)
      m.expect(source).toHaveSubscriptions('^-!')
    }),
  )

  it(
    'waits with a source that never answers',
    marbles((m) => {
      const source = m.cold<string>('-')

      m.expect(source.pipe(pause)).toBeObservable('-')
      m.expect(source).toHaveSubscriptions('       ^')
    }),
  )

  it(
    'hands on at once any error but a 429',
    marbles((m) => {
      const error = new HttpError(503)
      const source = m.cold<string>('--#', undefined, error)
      const expected = '             --#'

      m.expect(source.pipe(pause)).toBeObservable(expected, undefined, error)
      m.expect(source).toHaveSubscriptions('^-!')
    }),
  )

  const pauses = [
    { named: 'no pause', retryAfterMs: undefined, held: '2s' },
    { named: 'a shorter pause', retryAfterMs: 0, held: '2s' },
    { named: 'a longer pause', retryAfterMs: 7_000, held: '7s' },
    { named: 'the longest pause', retryAfterMs: 60_000, held: '60s' },
    { named: 'a pause beyond the longest', retryAfterMs: 3_600_000, held: '60s' },
  ]
  for (const { named, retryAfterMs, held } of pauses)
    it(
      `holds a 429 that names ${named} for ${held}, while the source is free`,
      marbles((m) => {
        const error = new Throttled(retryAfterMs)
        const source = m.cold<string>('--#', undefined, error)
        const subs = '                 ^-!'
        const expected = `               -- ${held} #`

        m.expect(source.pipe(pause)).toBeObservable(expected, undefined, error)
        m.expect(source).toHaveSubscriptions(subs)
      }),
    )

  it(
    'says nothing when it is unsubscribed during the pause',
    marbles((m) => {
      const source = m.cold<string>('--#', undefined, new Throttled(undefined))
      const unsub = '                1s !'
      const subs = '                 ^-!'

      m.expect(source.pipe(pause), unsub).toBeObservable('-')
      m.expect(source).toHaveSubscriptions(subs)
    }),
  )

  it(
    'lets go of the source when it is unsubscribed before an answer',
    marbles((m) => {
      const source = m.cold<string>('----a|')
      const unsub = '                --!'
      const subs = '                 ^-!'

      m.expect(source.pipe(pause), unsub).toBeObservable('-')
      m.expect(source).toHaveSubscriptions(subs)
    }),
  )
})
