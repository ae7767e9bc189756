import { type MonoTypeOperatorFunction, throwError, timeout } from 'rxjs'
import { TransportError } from '../model/errors.js'

/** Errors with a `TransportError` (deadline) unless a value comes within `ms`; the source is unsubscribed, which aborts it. */
export const deadline = <T>(ms: number): MonoTypeOperatorFunction<T> =>
  timeout({ first: ms, with: () => throwError(() => new TransportError('deadline', `no whole answer within ${ms} ms`)) })
