import { AsyncLocalStorage } from 'node:async_hooks'
import {
  defer,
  identity,
  type MonoTypeOperatorFunction,
  Observable,
  type SchedulerLike,
  Subject,
  subscribeOn,
  takeUntil,
} from 'rxjs'

/** Calls in one asynchronous context (that of `AsyncLocalStorage`), from whichever it is called. */
export type Within = <T>(call: () => T) => T

/** The present asynchronous context. */
export const captureContext = (): Within => AsyncLocalStorage.snapshot()

/** Subscribes in a context. */
export const subscribeWithin =
  <T>(within: Within): MonoTypeOperatorFunction<T> =>
  (source$) =>
    new Observable((subscriber) => within(() => source$.subscribe(subscriber)))

/**
 * Creates and subscribes in the context of the subscriber, also when a scheduler does it: those of RxJS call
 * everything of one turn in the context of the first.
 */
export const deferWithin = <T>(
  create: (within: Within) => Observable<T>,
  scheduler?: SchedulerLike,
): Observable<T> =>
  defer(() => {
    const within = captureContext()
    return defer(() => create(within)).pipe(
      subscribeWithin(within),
      scheduler ? subscribeOn(scheduler) : identity,
    )
  })

/**
 * Passes everything on in the context of the subscriber. The limiters are shared by all runs of a collector,
 * so what happens in one run may be caused by the end of another one's request.
 */
export const keepContext =
  <T>(): MonoTypeOperatorFunction<T> =>
  (source$) =>
    new Observable((subscriber) => {
      const within = captureContext()
      const left$ = new Subject<void>()
      // Before the subscription: a source that emits at once must see that its subscriber has left.
      subscriber.add(() => left$.next())
      source$.pipe(takeUntil(left$)).subscribe({
        next: (value) => within(() => subscriber.next(value)),
        error: (error: unknown) => within(() => subscriber.error(error)),
        complete: () => within(() => subscriber.complete()),
      })
    })
