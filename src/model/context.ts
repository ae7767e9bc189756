import {
  asapScheduler,
  defer,
  identity,
  type MonoTypeOperatorFunction,
  Observable,
  type SchedulerLike,
  Subscriber,
  subscribeOn,
} from 'rxjs'

/** Calls in one asynchronous context (that of `AsyncLocalStorage`), from whichever it is called. */
export type Within = <T>(call: () => T) => T

/** Not imported: the limiter and the operators run in browsers, too. */
const hooks = globalThis.process?.getBuiltinModule?.('node:async_hooks')

/** The present asynchronous context. */
export const captureContext = (): Within => hooks?.AsyncLocalStorage.snapshot() ?? ((call) => call())

/**
 * Runs a task once the present one has ended, in the present context: the scheduler itself runs everything of
 * one turn in the context of the first.
 */
export const runSoon = (task: () => void): void => {
  const within = captureContext()
  asapScheduler.schedule(() => within(task))
}

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

/** Passes everything on in a context, that of the subscriber unless given, whoever causes it. */
export const keepContext =
  <T>(given?: Within): MonoTypeOperatorFunction<T> =>
  (source$) =>
    new Observable((subscriber) => {
      const within = given ?? captureContext()
      // Unsubscribes with the subscriber, also while a source emits at once, or while its error is handled.
      const own = Subscriber.create<T>(
        (value) => within(() => subscriber.next(value as T)),
        (error: unknown) => within(() => subscriber.error(error)),
        () => within(() => subscriber.complete()),
      )
      subscriber.add(own)
      source$.subscribe(own)
    })
