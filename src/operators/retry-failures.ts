import { defer, type MonoTypeOperatorFunction, of, retry, throwError, timer } from 'rxjs'
import { CollectError, HostClosedError, HostDownError, HttpError } from '../model/errors.js'

/** How often, and after which pauses, a request is retried. */
export interface RetryPolicy {
  /** Retries after a failure. */
  readonly retries: number
  /** Retries after a 429; they do not count as `retries`. */
  readonly throttleRetries: number
  /** The longest pause before the first retry; doubles each time. */
  readonly backoffMs: number
  /** The longest pause accepted from the `Retry-After` of an overloaded host. */
  readonly maxPauseMs: number
  /** In [0, 1): jitter, so that workers that failed together do not retry together. */
  readonly random: () => number
}

const MAX_BACKOFF_MS = 30_000

/**
 * Subscribes again by the error's verdict: after a random back-off on `retry`; at once on `wait` and `await-host`, where the host's limiter
 * does the waiting; never on any other. Only `retry` and `wait` are counted. When the limiter gives the host up, the result is the
 * original error, not that of the limiter.
 */
export const retryFailures =
  <T>({ retries, throttleRetries, backoffMs, maxPauseMs, random }: RetryPolicy): MonoTypeOperatorFunction<T> =>
  (attempt$) =>
    defer(() => {
      let failures = 0
      let refusals = 0
      let originalError: unknown
      let isTemporary = false
      return attempt$.pipe(
        retry({
          delay: (error: unknown) => {
            const verdict = error instanceof CollectError ? error.verdict : 'stop'
            // Without the outage there would have been more retries, so the last failure counts as temporary too.
            if (error instanceof CollectError && verdict === 'retry') isTemporary = error.isTemporary ||= isTemporary
            if (error instanceof HostDownError) originalError = error.cause
            if (verdict === 'await-host') return of(0)
            const isGivenUp = error instanceof HostClosedError && error.code === 'host-down'
            if (isGivenUp && originalError !== undefined) return throwError(() => originalError)
            const isAllowed = verdict === 'retry' ? ++failures <= retries : verdict === 'wait' && ++refusals <= throttleRetries
            if (!isAllowed) return throwError(() => error)
            if (verdict === 'wait') return of(0)
            const longest = Math.min(backoffMs * 2 ** (failures - 1), MAX_BACKOFF_MS)
            const requestedMs = error instanceof HttpError ? Math.min(error.retryAfterMs ?? 0, maxPauseMs) : 0
            return timer(Math.max(longest * (0.5 + random() / 2), requestedMs))
          },
        }),
      )
    })
