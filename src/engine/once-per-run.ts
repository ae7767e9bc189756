import { AsyncSubject, catchError, defer, type Observable, share, throwError } from 'rxjs'
import { CollectError } from '../model/errors.js'
import type { Tools } from './define-stream.js'

/**
 * Runs each request once per run: the first caller sends it, later callers get the same answer or the same
 * error.
 */
export const oncePerRun = (): Tools['shared'] => {
  const answers = new Map<string, Observable<unknown>>()
  return <T>(key: string, make: () => Observable<T>): Observable<T> => {
    const known = answers.get(key)
    if (known) return known as Observable<T>
    const answer$ = defer(make).pipe(
      share({ connector: () => new AsyncSubject<T>(), resetOnError: false, resetOnComplete: false }),
    )
    answers.set(key, answer$)
    return answer$
  }
}

/**
 * The same for second passes: reuses the answers of the first pass, and sends a request again if it failed
 * for a temporary reason.
 */
export const oncePerSecondPass = (shared: Tools['shared']): Tools['shared'] => {
  const again = oncePerRun()
  return (key, make) =>
    shared(key, make).pipe(
      catchError((error: unknown) =>
        error instanceof CollectError && error.isTemporary ? again(key, make) : throwError(() => error),
      ),
    )
}
