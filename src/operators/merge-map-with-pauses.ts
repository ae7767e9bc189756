import {
  defer,
  EMPTY,
  finalize,
  merge,
  mergeAll,
  mergeMap,
  type Observable,
  type OperatorFunction,
  queueScheduler,
  Subject,
  subscribeOn,
  tap,
} from 'rxjs'

/** Subscribes to what some work waits for, and gives the worker of the work to the next value. */
export type Pause = <T>(wait$: Observable<T>) => Observable<T>

/**
 * `mergeMap(work, workers)`, whose work may pause: its worker takes the next value, and after the pause the
 * work goes on beside the others, without a worker. What it then sends is bounded elsewhere, such as by
 * `createLimiter({ maxInFlight })`. Completes when all work has. Costs about 1 µs a value more than
 * `mergeMap`.
 *
 * @example
 * url$.pipe(mergeMapWithPauses((url, pause) => get(url).pipe(retry({ delay: () => pause(timer(60_000)) })), 15))
 */
export const mergeMapWithPauses =
  <T, R>(work: (value: T, pause: Pause) => Observable<R>, workers: number): OperatorFunction<T, R> =>
  (value$) =>
    defer(() => {
      /** The work is subscribed to here, not in its turn: it goes on without a worker. */
      const work$ = new Subject<Observable<R>>()
      // 1: the source itself.
      let unfinished = 1
      const finish = (): void => {
        unfinished -= 1
        if (unfinished === 0) work$.complete()
      }
      /** Holds a worker until the work pauses or ends. Emits nothing. */
      const takeTurn = (value: T): Observable<never> => {
        const turn$ = new Subject<never>()
        let hasWorker = true
        const endTurn = (): void => {
          hasWorker = false
          turn$.complete()
        }
        const pause: Pause = (wait$) =>
          defer(() => {
            endTurn()
            return wait$
          })
        const end = (): void => {
          endTurn()
          finish()
        }
        work$.next(defer(() => work(value, pause)).pipe(finalize(end)))
        return hasWorker ? turn$ : endedTurn$
      }
      const counted$ = value$.pipe(tap({ next: () => (unfinished += 1), complete: finish }))
      return merge(work$.pipe(mergeAll()), counted$.pipe(mergeMap(takeTurn, workers)))
    })

/**
 * A turn that was over at once. A loop, not recursion: a long list of work that ends or pauses at once must
 * not grow the stack.
 */
const endedTurn$: Observable<never> = EMPTY.pipe(subscribeOn(queueScheduler))
