import { BehaviorSubject, filter, map, type Observable, Subject, take } from 'rxjs'

/** Counts the active items of a run, and reports whether the run accepts more. */
export interface Activity {
  readonly isStopping: () => boolean
  /** Lets no further item begin. */
  readonly stop: () => void
  /** A separate counter for one part of the run. */
  readonly createCounter: () => ActivityCounter
  /** Emits once, as soon as no item is active. */
  readonly idle$: Observable<void>
}

export interface ActivityCounter {
  readonly begin: () => void
  readonly end: () => void
  readonly count: () => number
  /** Emits whenever an item ends. */
  readonly ended$: Observable<void>
  /** Ends all items that are still active. */
  readonly close: () => void
}

export const createActivity = (): Activity => {
  const active$ = new BehaviorSubject(0)
  let isStopping = false
  const add = (change: number): void => active$.next(active$.value + change)
  return {
    isStopping: () => isStopping,
    stop: () => {
      isStopping = true
    },
    createCounter: () => {
      const ended$ = new Subject<void>()
      let own = 0
      const count = (change: number): void => {
        own += change
        add(change)
      }
      const end = (): void => {
        count(-1)
        ended$.next()
      }
      return { begin: () => count(1), end, count: () => own, ended$, close: () => count(-own) }
    },
    idle$: active$.pipe(
      filter((active) => active === 0),
      take(1),
      map(() => undefined),
    ),
  }
}
