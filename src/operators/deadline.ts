import { asyncScheduler, type MonoTypeOperatorFunction, Observable } from 'rxjs'
import { TransportError } from '../model/errors.js'

/**
 * Errors with a `TransportError` (deadline) unless a value comes within `ms`; the source is unsubscribed, which aborts it. `begun` is
 * handed, for each subscription, what to call if the value has arrived and is only emitted later.
 */
export const deadline =
  <T>(ms: number, begun?: (inTime: () => void) => void): MonoTypeOperatorFunction<T> =>
  (source$) =>
    new Observable((subscriber) => {
      const fail = (): void => subscriber.error(new TransportError('deadline', `no whole answer within ${ms} ms`))
      const late = asyncScheduler.schedule(fail, ms)
      const inTime = (): void => late.unsubscribe()
      subscriber.add(late)
      begun?.(inTime)
      subscriber.add(
        source$.subscribe({
          next: (value) => {
            inTime()
            subscriber.next(value)
          },
          error: (error: unknown) => subscriber.error(error),
          complete: () => subscriber.complete(),
        }),
      )
    })
