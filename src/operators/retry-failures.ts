import { type MonoTypeOperatorFunction, of, retry, tap, throwError, timer } from 'rxjs'
import { CollectError } from '../model/errors.js'

export interface RetryPolicy {
  /** Further attempts after the first. */
  readonly retries: number
  /** The longest pause before the first further attempt; doubles with each. */
  readonly backoffMs: number
  /** In [0, 1): spreads the pauses, so that workers which failed together do not come back together. */
  readonly random: () => number
  readonly onRetry?: () => void
}

const LONGEST_BACKOFF_MS = 30_000

/** Subscribes again as the error's verdict says: after a random back-off on `retry`, at once on `wait`, never on anything else. */
export const retryFailures = <T>({ retries, backoffMs, random, onRetry }: RetryPolicy): MonoTypeOperatorFunction<T> =>
  retry({
    count: retries,
    delay: (error: unknown, attempt) => {
      const verdict = error instanceof CollectError ? error.verdict : 'stop'
      if (verdict !== 'retry' && verdict !== 'wait') return throwError(() => error)
      const longest = Math.min(backoffMs * 2 ** (attempt - 1), LONGEST_BACKOFF_MS)
      const pause = verdict === 'wait' ? of(0) : timer(longest * (0.5 + random() / 2))
      return pause.pipe(tap(() => onRetry?.()))
    },
  })
