import {
  catchError,
  defer,
  type MonoTypeOperatorFunction,
  type Observable,
  of,
  retry,
  tap,
  throwError,
  timer,
} from 'rxjs'
import { CollectError, HostClosedError, HostDownError, HttpError } from '../model/errors.js'
import { type Optional, omitUndefined } from '../model/row.js'
import { checkOperatorOptions, toRequestError } from './request-errors.js'
import { createThrottleDelay, THROTTLE_DEFAULTS, type ThrottlePolicy } from './retry-after-429.js'

/** How often, and after which pauses, a request is retried. Retries after a 429 do not count as `retries`. */
export interface RetryPolicy extends ThrottlePolicy {
  /** Retries after a failure. */
  readonly retries: number
  /** The longest pause before the first retry; doubles each time. */
  readonly backoffMs: number
  /**
   * A limiter delays the next attempt until the host accepts requests again, so a 429 needs no pause here.
   */
  readonly hasLimiter?: boolean | undefined
}

/** The options of `retryFailures`. */
export interface RetryOptions extends RetryPolicy {
  /**
   * What an error is, before its verdict counts: an error of this package, or one that passes at once.
   * Default: `toRequestError`, which knows the errors of `fetch`, `timeout` and the usual clients.
   */
  readonly classify: (error: unknown) => unknown
  /**
   * Whether a value makes all retries available again, for a source that goes on for long. Default: false.
   */
  readonly resetOnSuccess: boolean
}

const MAX_BACKOFF_MS = 30_000

export const RETRY_DEFAULTS: RetryOptions = {
  ...THROTTLE_DEFAULTS,
  retries: 3,
  // Some times a usual answer (50 to 150 ms), so that a restarted server is up again.
  backoffMs: 500,
  hasLimiter: false,
  classify: toRequestError,
  resetOnSuccess: false,
}

/**
 * Retries one request by the verdict of its error: after a random back-off on `retry`; on `wait` (a 429, an
 * unreachable host) after the pause of `retryAfter429`; at once on `await-host`, where the host's limiter
 * does the waiting; never on any other. Only `retry` and `wait` are counted. When the limiter gives a host up
 * after an outage, a request that failed in it ends with its own error, not that of the limiter.
 *
 * @throws UsageError for an unknown option, or for a count or a time that is not 0 or more
 *
 * @example
 * request$.pipe(retryFailures())
 * fromFetch(url).pipe(retryFailures({ retries: 5, backoffMs: 1_000 }))
 * socket$.pipe(retryFailures({ resetOnSuccess: true, classify: (error) => (error instanceof CloseEvent ? new TransportError('reset', 'closed') : error) }))
 */
export const retryFailures = <T>(options: Optional<RetryOptions> = {}): MonoTypeOperatorFunction<T> => {
  checkOperatorOptions('retryFailures', options, Object.keys(RETRY_DEFAULTS))
  const whole: RetryOptions = { ...RETRY_DEFAULTS, ...omitUndefined(options) }
  const { classify, resetOnSuccess } = whole
  return (source$) =>
    source$.pipe(
      // Most requests succeed at once: `retry` and what it counts exist after a first failure only.
      catchError((error: unknown) => {
        let isFirst = true
        let delay = createRetryDelay(whole)
        const again$ = resetOnSuccess ? source$.pipe(tap(() => (delay = createRetryDelay(whole)))) : source$
        return defer(() => {
          const next$ = isFirst ? throwError(() => error) : again$
          isFirst = false
          return next$
        }).pipe(retry({ delay: (failure) => delay(classify(failure)) }))
      }),
    )
}

/** Emits when the request is to be sent again, or errors with what the request ends with. */
const createRetryDelay = (policy: RetryPolicy): ((error: unknown) => Observable<unknown>) => {
  const { retries, throttleMaxMs, backoffMs, random, hasLimiter } = policy
  const delayThrottled = createThrottleDelay(policy, hasLimiter)
  let failures = 0
  let originalError: unknown
  let wasTemporary = false
  const fail = (error: unknown): Observable<never> =>
    throwError(() => (wasTemporary ? markTemporary(error) : error))
  return (error) => {
    const verdict = error instanceof CollectError ? error.verdict : 'stop'
    if (error instanceof CollectError && verdict === 'retry') wasTemporary ||= error.isTemporary
    if (error instanceof HostDownError) originalError = error.cause
    if (verdict === 'await-host') return of(0)
    const isGivenUp = error instanceof HostClosedError && error.code === 'host-down'
    if (isGivenUp && originalError !== undefined) return throwError(() => originalError)
    if (verdict === 'wait') return delayThrottled(error).pipe(catchError(fail))
    if (verdict !== 'retry' || ++failures > retries) return fail(error)
    const longest = Math.min(backoffMs * 2 ** (failures - 1), MAX_BACKOFF_MS)
    const requestedMs = error instanceof HttpError ? Math.min(error.retryAfterMs ?? 0, throttleMaxMs) : 0
    return timer(Math.max(longest * (0.5 + random() / 2), requestedMs))
  }
}

/** Without the outage there would have been more retries, so the last failure counts as temporary too. */
const markTemporary = (error: unknown): unknown => {
  if (!(error instanceof CollectError) || error.verdict !== 'retry' || error.isTemporary) return error
  const { request, response } = error
  return error.during({ request, response, isTemporary: true })
}
