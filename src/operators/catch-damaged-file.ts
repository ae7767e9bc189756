import { catchError, type OperatorFunction, of, throwError } from 'rxjs'
import { DamagedFileError } from '../model/errors.js'

/** Replaces a `DamagedFileError` by a value. Any other error passes. */
export const catchDamagedFile = <T, U>(instead: () => U): OperatorFunction<T, T | U> =>
  catchError((error: unknown) => (error instanceof DamagedFileError ? of(instead()) : throwError(() => error)))
