import { defer, type MonoTypeOperatorFunction, of, retry, throwError, timer } from 'rxjs'
import { CollectError } from '../model/errors.js'

/** How often, and after which pauses, something is tried again. */
export interface RetryPolicy {
  /** Further attempts after a failure. */
  readonly retries: number
  /** Further attempts after a refusal; they use up none of the retries. */
  readonly throttleRetries: number
  /** The longest pause before the first further attempt; doubles with each. */
  readonly backoffMs: number
  /** In [0, 1): spreads the pauses, so that workers which failed together do not come back together. */
  readonly random: () => number
}

const LONGEST_BACKOFF_MS = 30_000

/** Subscribes again as the error's verdict says: after a random back-off on `retry`, at once on `wait`, never on anything else. */
export const retryFailures =
  <T>({ retries, throttleRetries, backoffMs, random }: RetryPolicy): MonoTypeOperatorFunction<T> =>
  (attempt$) =>
    defer(() => {
      let failures = 0
      let refusals = 0
      return attempt$.pipe(
        retry({
          delay: (error: unknown) => {
            const verdict = error instanceof CollectError ? error.verdict : 'stop'
            const isAllowed = verdict === 'retry' ? ++failures <= retries : verdict === 'wait' && ++refusals <= throttleRetries
            if (!isAllowed) return throwError(() => error)
            const longest = Math.min(backoffMs * 2 ** (failures - 1), LONGEST_BACKOFF_MS)
            return verdict === 'wait' ? of(0) : timer(longest * (0.5 + random() / 2))
          },
        }),
      )
    })
