import { catchError, defer, NEVER, of } from 'rxjs'
import { describe, expect, test } from 'vitest'
import {
  BadAnswerError,
  HttpError,
  NothingAnsweredError,
  StorageError,
  ThrottledError,
  TransportError,
} from '../../src/model/errors.js'
import { deadline } from '../../src/operators/deadline.js'
import { retryAfter429 } from '../../src/operators/retry-after-429.js'
import { type RetryOptions, retryFailures } from '../../src/operators/retry-failures.js'
import { itWithMarbles } from '../support/marbles.js'

const retrying = (policy: Partial<RetryOptions> = {}) =>
  retryFailures<string>({
    retries: 2,
    throttleRetries: 2,
    backoffMs: 8,
    throttleMs: 4,
    throttleMaxMs: 60,
    random: () => 0,
    hasLimiter: true,
    ...policy,
  })

describe('retryFailures', () => {
  itWithMarbles('subscribes once to a source that answers', (m) => {
    const source = m.cold<string>('-a-(b|)')
    const expected = '             -a-(b|)'

    m.expect(source.pipe(retrying())).toBeObservable(expected)
    m.expect(source).toHaveSubscriptions('^--!')
  })

  itWithMarbles('retries after a back-off that doubles, then passes on the last error', (m) => {
    const error = new HttpError(503)
    const source = m.cold<string>('-#', undefined, error)
    const subs = ['^!               ', '-----^!          ', '--------------^! ']
    const expected = '            ---------------# '

    m.expect(source.pipe(retrying())).toBeObservable(expected, undefined, error)
    m.expect(source).toHaveSubscriptions(subs)
  })

  itWithMarbles('waits between half of the longest back-off and all of it, at random', (m) => {
    const error = new HttpError(500)
    const source = m.cold<string>('#', undefined, error)

    m.expect(source.pipe(retrying({ retries: 1, random: () => 0 }))).toBeObservable(
      '  ----#',
      undefined,
      error,
    )
    m.expect(source.pipe(retrying({ retries: 1, random: () => 0.5 }))).toBeObservable(
      '------#',
      undefined,
      error,
    )
    m.expect(source.pipe(retrying({ retries: 1, random: () => 1 }))).toBeObservable(
      '  --------#',
      undefined,
      error,
    )
  })

  itWithMarbles('never backs off for longer than 30 s', (m) => {
    const error = new HttpError(500)
    const source = m.cold<string>('#', undefined, error)
    const subs = ['(^!)', '20s (^!)', '50s (^!)', '80s (^!)']

    m.expect(source.pipe(retrying({ retries: 3, backoffMs: 20_000, random: () => 1 }))).toBeObservable(
      '80s #',
      undefined,
      error,
    )
    m.expect(source).toHaveSubscriptions(subs)
  })

  itWithMarbles('retries at once after a 429 if a limiter does the waiting', (m) => {
    const error = new ThrottledError(undefined)
    const source = m.cold<string>('--#', undefined, error)
    const subs = [
      '                          ^-!    ',
      '                          --^-!  ',
      '                          ----^-!',
    ]
    const expected = '            ------#'

    m.expect(source.pipe(retrying())).toBeObservable(expected, undefined, error)
    m.expect(source).toHaveSubscriptions(subs)
  })

  itWithMarbles(
    'without a limiter, waits after a 429: as long as Retry-After, or a back-off that doubles',
    (m) => {
      const named = m.cold<string>('#', undefined, new ThrottledError(30))
      const unnamed = m.cold<string>('#', undefined, new ThrottledError(undefined))
      const alone = retrying({ hasLimiter: false })

      m.expect(named.pipe(alone)).toBeObservable('60ms #', undefined, new ThrottledError(30))
      m.expect(unnamed.pipe(alone)).toBeObservable('2ms 4ms #', undefined, new ThrottledError(undefined))
      m.expect(named).toHaveSubscriptions(['(^!)', '30ms (^!)', '60ms (^!)'])
      m.expect(unnamed).toHaveSubscriptions(['(^!)', '--(^!)', '2ms 4ms (^!)'])
    },
  )

  itWithMarbles('without a limiter, waits for a host that cannot be reached', (m) => {
    const error = new TransportError('connect', 'refused')
    const source = m.cold<string>('#', undefined, error)

    m.expect(source.pipe(retrying({ hasLimiter: false }))).toBeObservable('2ms 4ms #', undefined, error)
  })

  itWithMarbles('passes on the answer of a later attempt', (m) => {
    const refused = m.cold<string>('-#', undefined, new TransportError('reset', 'gone'))
    const answer = m.cold<string>(' --(a|)')
    const subs = '                  -----^-!'
    const expected = '              -------(a|)'
    const attempts = [refused, answer]

    m.expect(defer(() => attempts.shift() ?? NEVER).pipe(retrying())).toBeObservable(expected)
    m.expect(refused).toHaveSubscriptions('^!')
    m.expect(answer).toHaveSubscriptions(subs)
  })

  const retried = [
    new HttpError(500),
    new HttpError(503),
    new TransportError('reset', 'gone'),
    new BadAnswerError('html', 'a page'),
  ]
  for (const error of retried)
    itWithMarbles(`retries after: ${error.message}`, (m) => {
      const source = m.cold<string>('#', undefined, error)

      m.expect(source.pipe(retrying({ retries: 1 }))).toBeObservable('----#', undefined, error)
      m.expect(source).toHaveSubscriptions(['(^!)', '----(^!)'])
    })

  const final = [
    new HttpError(400),
    new HttpError(404),
    new TransportError('tls', 'no trust'),
    new NothingAnsweredError('no tier'),
    new StorageError('the disk is full'),
    new TypeError('a bug'),
  ]
  for (const error of final)
    itWithMarbles(`never retries after: ${error.message}`, (m) => {
      const source = m.cold<string>('-#', undefined, error)

      m.expect(source.pipe(retrying())).toBeObservable('-#', undefined, error)
      m.expect(source).toHaveSubscriptions('            ^!')
    })

  itWithMarbles('retries after 429s as often as permitted, even without retries', (m) => {
    const error = new ThrottledError(undefined)
    const source = m.cold<string>('-#', undefined, error)

    m.expect(source.pipe(retrying({ retries: 0, throttleRetries: 3 }))).toBeObservable(
      '----#',
      undefined,
      error,
    )
  })

  itWithMarbles('tries once if no retries are permitted', (m) => {
    const error = new HttpError(503)
    const source = m.cold<string>('-#', undefined, error)

    m.expect(source.pipe(retrying({ retries: 0 }))).toBeObservable('-#', undefined, error)
    m.expect(source).toHaveSubscriptions('                          ^!')
  })

  itWithMarbles('does not retry when it is unsubscribed during a back-off', (m) => {
    const source = m.cold<string>('-#', undefined, new HttpError(503))
    const unsub = '                ---!'

    m.expect(source.pipe(retrying()), unsub).toBeObservable('-')
    m.expect(source).toHaveSubscriptions('                   ^!')
  })

  itWithMarbles('counts waits and retries separately', (m) => {
    const [refused, failed, answer] = [
      new ThrottledError(undefined),
      new HttpError(503),
      m.cold<string>('-(a|)'),
    ]
    const attempts = [refused, failed, refused, failed].map((error) => m.cold<string>('-#', undefined, error))
    const source = defer(() => attempts.shift() ?? answer)

    m.expect(source.pipe(retrying())).toBeObservable('-- 4ms -- 8ms -(a|)')
  })

  itWithMarbles('ends with a temporary copy of the last error if an earlier failure was temporary', (m) => {
    const permanent = new BadAnswerError('schema', 'a text')
    const attempts = [new HttpError(503), permanent].map((error) => m.cold<string>('-#', undefined, error))
    const source = defer(() => attempts.shift() ?? NEVER)

    m.expect(
      source.pipe(
        retrying({ retries: 1 }),
        catchError((error: BadAnswerError) => of(`${error.message}, ${error.isTemporary}`)),
      ),
    ).toBeObservable('-- 4ms (a|)', { a: 'schema: a text, true' })
    m.flush()
    expect(permanent.isTemporary).toBe(false)
  })

  itWithMarbles('starts the counts again for each subscription', (m) => {
    const error = new ThrottledError(undefined)
    const source = m.cold<string>('#', undefined, error).pipe(retrying({ throttleRetries: 1 }))

    m.expect(source).toBeObservable('#', undefined, error)
    m.expect(source).toBeObservable('#', undefined, error)
  })

  itWithMarbles('ends with the error of a throwing random', (m) => {
    const bug = new TypeError('a bug')
    const throws = () => {
      throw bug
    }
    const source = m.cold<string>('-#', undefined, new HttpError(503))

    m.expect(source.pipe(retrying({ random: throws }))).toBeObservable('-#', undefined, bug)
    m.expect(source).toHaveSubscriptions('^!')
  })

  itWithMarbles('counts anew after a value if it is told so', (m) => {
    const error = new HttpError(503)
    const source = m.cold<string>('a#', undefined, error)
    const waits = retryFailures<string>({ retries: 1, backoffMs: 2, random: () => 0, resetOnSuccess: true })
    const gives = retryFailures<string>({ retries: 1, backoffMs: 2, random: () => 0 })

    m.expect(source.pipe(gives)).toBeObservable('a-a#', undefined, error)
    m.expect(source.pipe(waits), '^------!').toBeObservable('a-a-a-a', undefined, error)
  })

  itWithMarbles('takes the verdict of what an error is classified as', (m) => {
    const own = new Error('closed')
    const source = m.cold<string>('#', undefined, own)
    const classify = (error: unknown) => (error === own ? new TransportError('reset', 'closed') : error)

    m.expect(source.pipe(retrying({ retries: 1, classify }))).toBeObservable(
      '----#',
      undefined,
      new TransportError('reset', 'closed'),
    )
    m.expect(source.pipe(retrying({ retries: 1 }))).toBeObservable('#', undefined, own)
  })
})

test.each<[string, (options: never) => unknown, object, string]>([
  [
    'retryFailures',
    retryFailures,
    { retires: 2 },
    'retryFailures: unknown option "retires" (did you mean retries?)',
  ],
  ['retryFailures', retryFailures, { retries: -1 }, 'retryFailures: retries is -1; use a number from 0 on'],
  ['retryAfter429', retryAfter429, { throttleMs: Number.NaN }, 'retryAfter429: throttleMs is NaN'],
  ['deadline', deadline, { idleMs: 5, total: 9 }, 'deadline: unknown option "total" (did you mean totalMs?)'],
])('%s refuses wrong options', (_, operator, options, message) =>
  expect(() => operator(options as never)).toThrow(message),
)
