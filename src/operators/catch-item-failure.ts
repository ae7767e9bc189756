import { catchError, type ObservableInput, type OperatorFunction, of, throwError } from 'rxjs'
import { type CollectError, DamagedFileError, formatError, isItemError } from '../model/errors.js'

/**
 * `catchError` for failures that affect one item only. Bugs, and errors that must end the run, pass through.
 * `classify` says what an error is that is not of this package, such as `toRequestError`.
 *
 * @example ask(chain, input).pipe(catchItemFailure((reason) => of(createResult([], reason))))
 * @example fromFetch(url).pipe(catchItemFailure((reason) => [{ url, reason }], toRequestError))
 */
export const catchItemFailure = <T, Instead>(
  instead: (reason: string, error: CollectError) => ObservableInput<Instead>,
  classify: (error: unknown) => unknown = (error) => error,
): OperatorFunction<T, T | Instead> =>
  catchError((thrown: unknown) => {
    const error = classify(thrown)
    return isItemError(error) ? instead(formatError(error), error) : throwError(() => error)
  })

/** Replaces a `DamagedFileError` by a value. Any other error passes. */
export const catchDamagedFile = <T, U>(instead: () => U): OperatorFunction<T, T | U> =>
  catchError((error: unknown) =>
    error instanceof DamagedFileError ? of(instead()) : throwError(() => error),
  )
