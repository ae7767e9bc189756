import { defer, first, type MonoTypeOperatorFunction, mergeMap, type Observable } from 'rxjs'

/**
 * Subscribes to the source, some work, once there is room for what it will emit. In `mergeMap(work, workers)`
 * it makes the workers wait for a slow consumer. Costs less than 1 µs while there is room. `room$` emits when
 * there may be room again.
 *
 * @example item$.pipe(mergeMap((item) => work(item).pipe(whenRoom(() => storing < 16, stored$)), 20))
 */
export const whenRoom =
  <T>(hasRoom: () => boolean, room$: Observable<unknown>): MonoTypeOperatorFunction<T> =>
  (work$) =>
    defer(() =>
      hasRoom()
        ? work$
        : room$.pipe(
            first(hasRoom),
            mergeMap(() => work$),
          ),
    )
