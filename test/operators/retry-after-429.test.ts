import { defer, NEVER } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { HttpError, ThrottledError } from '../../src/model/errors.js'
import { findRetryAfter, parseRetryAfter } from '../../src/model/text.js'
import { retryAfter429, type ThrottlePolicy } from '../../src/operators/retry-after-429.js'
import { itWithMarbles } from '../support/marbles.js'

const retrying = (policy: Partial<ThrottlePolicy> = {}) =>
  retryAfter429<string>({ throttleRetries: 2, throttleMs: 8, throttleMaxMs: 100, random: () => 0, ...policy })

const unnamed = new ThrottledError(undefined)

describe('retryAfter429', () => {
  itWithMarbles('subscribes once to a source that answers, and completes with an empty one', (m) => {
    const source = m.cold<string>('-a-(b|)')

    m.expect(source.pipe(retrying())).toBeObservable('-a-(b|)')
    m.expect(source).toHaveSubscriptions('^--!')
    m.expect(m.cold<string>('--|').pipe(retrying())).toBeObservable('--|')
  })

  itWithMarbles('has its defaults for options that are undefined', (m) => {
    const refused = m.cold<string>('#', undefined, new ThrottledError(0))
    const undefinedPolicy = {
      throttleRetries: undefined,
      throttleMs: undefined,
      throttleMaxMs: undefined,
      random: undefined,
    }
    m.expect(refused.pipe(retryAfter429(undefinedPolicy))).toBeObservable(
      '#',
      undefined,
      new ThrottledError(0),
    )
    m.flush()
    expect(refused.subscriptions).toHaveLength(9)
  })

  itWithMarbles('waits exactly as long as Retry-After, without jitter', (m) => {
    const refused = m.cold<string>('-#', undefined, new ThrottledError(20))
    const answer = m.cold<string>('-(a|)')
    const attempts = [refused, answer]

    m.expect(defer(() => attempts.shift() ?? NEVER).pipe(retrying({ random: () => 0.7 }))).toBeObservable(
      '-- 20ms (a|)',
    )
    m.expect(answer).toHaveSubscriptions('- 20ms ^!')
  })

  itWithMarbles('retries at once after Retry-After: 0', (m) => {
    const error = new ThrottledError(0)
    m.expect(m.cold<string>('-#', undefined, error).pipe(retrying())).toBeObservable('---#', undefined, error)
  })

  itWithMarbles('never waits longer than throttleMaxMs', (m) => {
    const refused = (ms?: number) => m.cold<string>('#', undefined, new ThrottledError(ms))
    const once = { throttleRetries: 1, throttleMs: 5_000 }

    m.expect(refused(900).pipe(retrying(once))).toBeObservable('100ms #', undefined, new ThrottledError(900))
    m.expect(refused().pipe(retrying(once))).toBeObservable('100ms #', undefined, unnamed)
  })

  itWithMarbles('without Retry-After, backs off twice as long each time, by half of it at least', (m) => {
    const source = m.cold<string>('#', undefined, unnamed)

    m.expect(source.pipe(retrying())).toBeObservable('4ms 8ms #', undefined, unnamed)
    m.expect(source.pipe(retrying({ random: () => 0.5 }))).toBeObservable('6ms 12ms #', undefined, unnamed)
    m.expect(source.pipe(retrying({ random: () => 1 }))).toBeObservable('8ms 16ms #', undefined, unnamed)
  })

  itWithMarbles('passes the 429 after the last retry, and at once without retries', (m) => {
    const source = m.cold<string>('-#', undefined, new ThrottledError(1))

    m.expect(source.pipe(retrying({ throttleRetries: 3 }))).toBeObservable(
      '-------#',
      undefined,
      new ThrottledError(1),
    )
    m.expect(source.pipe(retrying({ throttleRetries: 0 }))).toBeObservable(
      '-#',
      undefined,
      new ThrottledError(1),
    )
  })

  itWithMarbles('passes any other error at once, also after a 429', (m) => {
    const error = new HttpError(503)
    const attempts = [
      m.cold<string>('-#', undefined, new ThrottledError(2)),
      m.cold<string>('-#', undefined, error),
    ]

    m.expect(m.cold<string>('-#', undefined, error).pipe(retrying())).toBeObservable('-#', undefined, error)
    m.expect(defer(() => attempts.shift() ?? NEVER).pipe(retrying())).toBeObservable(
      '----#',
      undefined,
      error,
    )
  })

  itWithMarbles('sends nothing after it was unsubscribed during the pause', (m) => {
    const source = m.cold<string>('-#', undefined, new ThrottledError(20))

    m.expect(source.pipe(retrying()), '---!').toBeObservable('-')
    m.expect(source).toHaveSubscriptions('^!')
  })

  itWithMarbles('starts to count again for each subscription', (m) => {
    const source = m
      .cold<string>('#', undefined, new ThrottledError(1))
      .pipe(retrying({ throttleRetries: 1 }))

    m.expect(source).toBeObservable('-#', undefined, new ThrottledError(1))
    m.expect(source).toBeObservable('-#', undefined, new ThrottledError(1))
  })

  itWithMarbles('ends with the error of a throwing random', (m) => {
    const bug = new TypeError('a bug')
    const throws = () => {
      throw bug
    }
    m.expect(m.cold<string>('-#', undefined, unnamed).pipe(retrying({ random: throws }))).toBeObservable(
      '-#',
      undefined,
      bug,
    )
  })
})

const NOW = Date.parse('2026-02-12T14:30:00Z')

describe('Retry-After', () => {
  it.each([
    ['0', 0],
    ['2', 2_000],
    [' 120 ', 120_000],
    ['0.5', 500],
    ['3600', 3_600_000],
    ['99999', 99_999],
  ])('of %j is %i ms', (header, ms) => expect(parseRetryAfter(header, NOW)).toBe(ms))

  it.each([
    ['Thu, 12 Feb 2026 14:30:05 GMT', 5_000],
    ['Thu, 12 Feb 2026 14:30:00 GMT', 0],
    ['Thu, 12 Feb 2026 14:29:00 GMT', 0],
    ['Thu, 01 Jan 1970 00:00:00 GMT', 0],
  ])('of the date %j is %i ms from now', (header, ms) => expect(parseRetryAfter(header, NOW)).toBe(ms))

  it.each([
    undefined,
    '',
    ' ',
    '-5',
    '1.',
    '.5',
    '1e3',
    '0x10',
    'abc',
    'soon',
    'Feb',
    '2 seconds',
    'NaN',
    'Infinity',
    'Thu, 99 Foo 2026',
  ])('of %j is ignored', (header) => expect(parseRetryAfter(header, NOW)).toBeUndefined())
})

describe('the reset of a rate limit', () => {
  it.each<[headers: Record<string, string>, ms: number | undefined]>([
    [{ 'retry-after': '2', 'x-ratelimit-reset': '30' }, 2_000],
    [{ ratelimit: 'limit=100, remaining=0, reset=5' }, 5_000],
    [{ ratelimit: '"default";r=0;t=7', 'ratelimit-policy': '"default";q=100;w=60' }, 7_000],
    [{ 'ratelimit-reset': '11' }, 11_000],
    [{ 'x-ratelimit-reset': '3' }, 3_000],
    [{ 'x-ratelimit-reset': '0.5' }, 500],
    [{ 'x-ratelimit-reset': `${NOW / 1_000 + 5}` }, 5_000],
    [{ 'x-ratelimit-reset': `${NOW + 5_000}` }, 5_000],
    [{ 'x-ratelimit-reset': `${NOW / 1_000 - 5}` }, 0],
    [{ 'x-ratelimit-reset': 'soon' }, undefined],
    [{ 'x-ratelimit-reset': '' }, undefined],
    [{ ratelimit: '"default";r=0' }, undefined],
    [{}, undefined],
  ])('in %j is %s ms from now', (headers, ms) =>
    expect(
      parseRetryAfter(
        findRetryAfter((name) => headers[name]),
        NOW,
      ),
    ).toBe(ms),
  )
})
