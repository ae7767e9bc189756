import { defer, type MonoTypeOperatorFunction, of, retry, throwError, timer } from 'rxjs'
import { CollectError, HostAwayError, HostClosed, HttpError } from '../model/errors.js'

/** How often, and after which pauses, something is tried again. */
export interface RetryPolicy {
  /** Further attempts after a failure. */
  readonly retries: number
  /** Further attempts after a refusal; they use up none of the retries. */
  readonly throttleRetries: number
  /** The longest pause before the first further attempt; doubles with each. */
  readonly backoffMs: number
  /** The longest pause that a `Retry-After` of an overloaded host is granted; none if absent. */
  readonly longestPauseMs?: number
  /** In [0, 1): spreads the pauses, so that workers which failed together do not come back together. */
  readonly random: () => number
}

const LONGEST_BACKOFF_MS = 30_000

/**
 * Subscribes again as the error's verdict says: after a random back-off on `retry`, at once on `wait` and on `await-host`, where the host's
 * limiter does the waiting, never on anything else. Only `retry` and `wait` are counted. What is not waited for any longer ends with the
 * error that it met itself.
 */
export const retryFailures =
  <T>({ retries, throttleRetries, backoffMs, longestPauseMs = 0, random }: RetryPolicy): MonoTypeOperatorFunction<T> =>
  (attempt$) =>
    defer(() => {
      let failures = 0
      let refusals = 0
      let met: unknown
      let isTemporary = false
      return attempt$.pipe(
        retry({
          delay: (error: unknown) => {
            const verdict = error instanceof CollectError ? error.verdict : 'stop'
            // An outage may have used up the retries that the last failure lacks.
            if (error instanceof CollectError && verdict === 'retry') isTemporary = error.isTemporary ||= isTemporary
            if (error instanceof HostAwayError) met = error.cause
            if (verdict === 'await-host') return of(0)
            if (error instanceof HostClosed && error.code === 'host-down' && met !== undefined) return throwError(() => met)
            const isAllowed = verdict === 'retry' ? ++failures <= retries : verdict === 'wait' && ++refusals <= throttleRetries
            if (!isAllowed) return throwError(() => error)
            if (verdict === 'wait') return of(0)
            const longest = Math.min(backoffMs * 2 ** (failures - 1), LONGEST_BACKOFF_MS)
            const askedFor = error instanceof HttpError ? Math.min(error.retryAfterMs ?? 0, longestPauseMs) : 0
            return timer(Math.max(longest * (0.5 + random() / 2), askedFor))
          },
        }),
      )
    })
