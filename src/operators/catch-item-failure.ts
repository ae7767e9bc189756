import { catchError, type Observable, type OperatorFunction, throwError } from 'rxjs'
import { type CollectError, formatError, isItemError } from '../model/errors.js'

/**
 * `catchError` for failures that affect one item only. Bugs, and errors that must end the run, pass through.
 *
 * @example ask(chain, input).pipe(catchItemFailure((reason) => of(createResult([], reason))))
 */
export const catchItemFailure = <T, Instead>(
  instead: (reason: string, error: CollectError) => Observable<Instead>,
): OperatorFunction<T, T | Instead> =>
  catchError((error: unknown) => (isItemError(error) ? instead(formatError(error), error) : throwError(() => error)))
