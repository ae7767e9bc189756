import { BehaviorSubject, filter, map, type Observable, Subject, take } from 'rxjs'

/** What a run has in work, and whether it still takes up more. */
export interface Activity {
  readonly isStopping: () => boolean
  /** No further work is taken up. */
  readonly stop: () => void
  /** A count of its own for a part of the run. */
  readonly part: () => Part
  /** Emits once, as soon as nothing is in work. */
  readonly idle$: Observable<void>
}

export interface Part {
  readonly begin: () => void
  readonly end: () => void
  readonly count: () => number
  /** Emits when something has ended. */
  readonly ended$: Observable<void>
  /** Ends whatever is still in work. */
  readonly close: () => void
}

export const createActivity = (): Activity => {
  const inWork$ = new BehaviorSubject(0)
  let isStopping = false
  const add = (change: number): void => inWork$.next(inWork$.value + change)
  return {
    isStopping: () => isStopping,
    stop: () => {
      isStopping = true
    },
    part: () => {
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
    idle$: inWork$.pipe(
      filter((inWork) => inWork === 0),
      take(1),
      map(() => undefined),
    ),
  }
}
