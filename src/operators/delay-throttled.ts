import { catchError, type MonoTypeOperatorFunction, mergeMap, throwError, timer } from 'rxjs'
import { Throttled } from '../model/errors.js'

export interface ThrottlePause {
  /** The pause after a 429 that names none, and the shortest after one that does. */
  readonly leastMs: number
  readonly mostMs: number
}

/**
 * Holds a `Throttled` error back for as long as the host asked, then lets it go on: whoever retries next need not wait again, and
 * an item that is refused for the last time has still kept its distance (interface document, Errors 2).
 */
export const delayThrottled = <T>({ leastMs, mostMs }: ThrottlePause): MonoTypeOperatorFunction<T> =>
  catchError((error: unknown) => {
    const refuse = throwError(() => error)
    if (!(error instanceof Throttled)) return refuse
    const pauseMs = Math.min(Math.max(error.retryAfterMs ?? 0, leastMs), mostMs)
    return timer(pauseMs).pipe(mergeMap(() => refuse))
  })
