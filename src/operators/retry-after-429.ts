import { defer, type MonoTypeOperatorFunction, type Observable, of, retry, throwError, timer } from 'rxjs'
import { ThrottledError } from '../model/errors.js'
import { type Optional, omitUndefined } from '../model/row.js'
import { checkOperatorOptions } from './request-errors.js'

/** How often, and after which pauses, a request is sent again after a 429. */
export interface ThrottlePolicy {
  /** Retries after a 429; then the error passes. */
  readonly throttleRetries: number
  /** The longest pause after the first 429 without `Retry-After`; doubles each time. */
  readonly throttleMs: number
  /** No pause is longer, even if `Retry-After` requests it. */
  readonly throttleMaxMs: number
  /** In [0, 1): jitter, so that workers that were refused together do not retry together. */
  readonly random: () => number
}

export const THROTTLE_DEFAULTS: ThrottlePolicy = {
  // With the pauses below they span four minutes (2, 4, 8, … 60 s): most of the five that a run is patient.
  throttleRetries: 8,
  // Most hosts count requests by the second: after two of them a new count has begun.
  throttleMs: 2_000,
  // Hosts that count by the minute serve again by then; a longer `Retry-After` is checked, not believed.
  throttleMaxMs: 60_000,
  random: Math.random,
}

/**
 * Sends one request again after a 429 (`ThrottledError`): after the pause in its `Retry-After`, otherwise
 * after an exponential back-off with jitter. Any other error passes at once, and the last 429 after
 * `throttleRetries` retries. It delays this request only; where many requests share a host, each of them is
 * refused before it waits. The limiter of a run therefore holds all requests to an endpoint, or its host,
 * once many are refused.
 *
 * @throws UsageError for an unknown option, or a number that is not 0 or more
 * @example
 * const page$ = defer(() => fetch(url)).pipe(
 *   map((reply) => {
 *     if (reply.status === 429) throw new ThrottledError(parseRetryAfter(reply.headers.get('retry-after'), Date.now()))
 *     return reply
 *   }),
 *   retryAfter429({ throttleRetries: 5 }),
 * )
 */
export const retryAfter429 = <T>(policy: Optional<ThrottlePolicy> = {}): MonoTypeOperatorFunction<T> => {
  checkOperatorOptions('retryAfter429', policy, Object.keys(THROTTLE_DEFAULTS))
  const whole: ThrottlePolicy = { ...THROTTLE_DEFAULTS, ...omitUndefined(policy) }
  return (source$) =>
    defer(() => {
      const delay = createThrottleDelay(whole)
      const delay429 = (error: unknown) =>
        error instanceof ThrottledError ? delay(error) : throwError(() => error)
      return source$.pipe(retry({ delay: delay429 }))
    })
}

/**
 * The delay of one request after each of its 429s: emits when it may be sent again, or errors with the last
 * failure. Behind a limiter there is no pause: the limiter delays the next attempt.
 */
export const createThrottleDelay = (
  { throttleRetries, throttleMs, throttleMaxMs, random }: ThrottlePolicy,
  hasLimiter = false,
): ((error: unknown) => Observable<unknown>) => {
  let failures = 0
  return (error) => {
    if (failures === throttleRetries) return throwError(() => error)
    failures += 1
    if (hasLimiter) return of(0)
    const requestedMs = error instanceof ThrottledError ? error.retryAfterMs : undefined
    const backoffMs = throttleMs * 2 ** (failures - 1) * (0.5 + random() / 2)
    return timer(Math.min(requestedMs ?? backoffMs, throttleMaxMs))
  }
}
