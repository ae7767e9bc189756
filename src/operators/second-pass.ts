import { concat, defer, EMPTY, filter, type MonoTypeOperatorFunction, type Observable } from 'rxjs'

/**
 * Withholds results that deserve a second try, and works on their items again after the first pass. The second result is final. Only the
 * items are stored meanwhile, because results may be large.
 * @param toRetryItem the item of a result to withhold; undefined for a result that passes
 * @param retry works on the withheld items, in their order; not called if there are none
 */
export const secondPass =
  <T, R>(toRetryItem: (result: R) => T | undefined, retry: (items: readonly T[]) => Observable<R>): MonoTypeOperatorFunction<R> =>
  (first$) =>
    defer(() => {
      const withheld: T[] = []
      const passes = (result: R): boolean => {
        const item = toRetryItem(result)
        if (item !== undefined) withheld.push(item)
        return item === undefined
      }
      return concat(
        first$.pipe(filter(passes)),
        defer(() => (withheld.length === 0 ? EMPTY : retry(withheld.splice(0)))),
      )
    })
