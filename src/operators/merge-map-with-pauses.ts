import {
  defer,
  EMPTY,
  finalize,
  map,
  merge,
  mergeAll,
  mergeMap,
  type Observable,
  type OperatorFunction,
  of,
  queueScheduler,
  Subject,
  subscribeOn,
  take,
  tap,
  timer,
} from 'rxjs'

/** Waits for that long, milliseconds, and then until the work may go on. */
export type Pause = (ms: number) => Observable<unknown>

/** Holds a worker until it completes; emits nothing. */
type Turn = Observable<never>

/**
 * `mergeMap(work, workers)`, whose work may pause: its worker takes the next value meanwhile, and after the
 * pause it stands in line for a worker again, behind the values that have come. Nothing is begun twice.
 * Completes when all work has. Costs about 5 µs a value more than `mergeMap`.
 *
 * @example url$.pipe(mergeMapWithPauses((url, pause) => get(url).pipe(retry({ delay: () => pause(60_000) })), 15))
 */
export const mergeMapWithPauses =
  <T, R>(work: (value: T, pause: Pause) => Observable<R>, workers: number): OperatorFunction<T, R> =>
  (value$) =>
    defer(() => {
      /** Work goes on while it has no worker: it is not subscribed to by its turn. */
      const begun$ = new Subject<Observable<R>>()
      const again$ = new Subject<() => Turn>()
      // The list counts as one.
      let unfinished = 1
      const finish = (): void => {
        unfinished -= 1
        if (unfinished > 0) return
        again$.complete()
        begun$.complete()
      }
      const begin = (value: T): Turn => {
        const first$ = new Subject<never>()
        let isOver = false
        let later: ReturnType<typeof createTurns> | undefined
        const pause: Pause = (ms) => {
          later ??= createTurns(first$, (resume) => again$.next(resume))
          return later.pause(ms)
        }
        const end = (): void => {
          isOver = true
          first$.complete()
          later?.end()
          finish()
        }
        begun$.next(defer(() => work(value, pause)).pipe(finalize(end)))
        return isOver ? endedTurn$ : first$
      }
      const first$ = value$.pipe(
        map((value) => {
          unfinished += 1
          return () => begin(value)
        }),
        tap({ complete: finish }),
      )
      return merge(begun$.pipe(mergeAll()), merge(first$, again$).pipe(mergeMap((turn) => turn(), workers)))
    })

/** Work that has ended at once. A loop, not recursion: a long list of it must not grow the stack. */
const endedTurn$: Turn = EMPTY.pipe(subscribeOn(queueScheduler))

/**
 * The turns of work that pauses: from its beginning, or the end of a pause, to the next pause, or its end.
 */
const createTurns = (first$: Subject<never>, lineUp: (resume: () => Turn) => void) => {
  const resumed$ = new Subject<void>()
  let turn$ = first$
  let state: 'working' | 'pausing' | 'in line' | 'over' = 'working'
  const isOver = (): boolean => state === 'over'
  const resume = (): Turn => {
    if (isOver()) return endedTurn$
    turn$ = new Subject()
    state = 'working'
    resumed$.next()
    return isOver() ? endedTurn$ : turn$
  }
  const standInLine = (): Observable<never> => {
    if (state === 'pausing') {
      state = 'in line'
      lineUp(resume)
    }
    return EMPTY
  }
  const pause: Pause = (ms) =>
    defer(() => {
      if (state === 'working') state = 'pausing'
      turn$.complete()
      return timer(ms).pipe(
        mergeMap(() => (state === 'working' ? of(0) : merge(resumed$.pipe(take(1)), defer(standInLine)))),
      )
    })
  const end = (): void => {
    state = 'over'
    turn$.complete()
  }
  return { pause, end }
}
