import { catchError, type Observable, type OperatorFunction, of, throwError } from 'rxjs'
import { type CollectError, DamagedFileError, formatError, isItemError } from '../model/errors.js'

/**
 * `catchError` for failures that affect one item only. Bugs, and errors that must end the run, pass through.
 *
 * @example ask(chain, input).pipe(catchItemFailure((reason) => of(createResult([], reason))))
 */
export const catchItemFailure = <T, Instead>(
  instead: (reason: string, error: CollectError) => Observable<Instead>,
): OperatorFunction<T, T | Instead> =>
  catchError((error: unknown) => (isItemError(error) ? instead(formatError(error), error) : throwError(() => error)))

/** Replaces a `DamagedFileError` by a value. Any other error passes. */
export const catchDamagedFile = <T, U>(instead: () => U): OperatorFunction<T, T | U> =>
  catchError((error: unknown) => (error instanceof DamagedFileError ? of(instead()) : throwError(() => error)))
