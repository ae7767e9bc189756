import { catchError, type Observable, type OperatorFunction, throwError } from 'rxjs'
import { type CollectError, isLoss, messageOf } from '../model/errors.js'

/** Goes on with something else after a failure that costs one item at most. A bug, or an error that must end the run, passes. */
export const recover = <T, Instead>(
  instead: (reason: string, error: CollectError) => Observable<Instead>,
): OperatorFunction<T, T | Instead> =>
  catchError((error: unknown) => (isLoss(error) ? instead(messageOf(error), error) : throwError(() => error)))
