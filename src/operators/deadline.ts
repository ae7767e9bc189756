import { asyncScheduler, type MonoTypeOperatorFunction, NEVER, Observable, tap } from 'rxjs'
import { TransportError } from '../model/errors.js'

/**
 * Errors with a `TransportError` (deadline) unless a value comes within `ms`, or is told to have arrived by then; the source is
 * unsubscribed, which aborts it.
 */
export const deadline =
  <T>(ms: number, arrived$: Observable<unknown> = NEVER): MonoTypeOperatorFunction<T> =>
  (source$) =>
    new Observable((subscriber) => {
      const fail = (): void => subscriber.error(new TransportError('deadline', `no whole answer within ${ms} ms`))
      const late = asyncScheduler.schedule(fail, ms)
      const inTime = (): void => late.unsubscribe()
      subscriber.add(late)
      subscriber.add(arrived$.subscribe(inTime))
      source$.pipe(tap(inTime)).subscribe(subscriber)
    })
