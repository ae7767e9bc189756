import { concat, defer, EMPTY, filter, type MonoTypeOperatorFunction, type Observable } from 'rxjs'

/**
 * Withholds the results that are worth another try, and works on their items once more after all others have passed. What the second
 * pass comes to is final. Only the items are held, not the results: those may be large.
 * @param itemOf the item of a result that is withheld; nothing for a result that passes
 * @param again works on the withheld items, in the order in which they came; not called if there are none
 */
export const secondPass =
  <T, R>(itemOf: (result: R) => T | undefined, again: (items: readonly T[]) => Observable<R>): MonoTypeOperatorFunction<R> =>
  (first$) =>
    defer(() => {
      const withheld: T[] = []
      const passes = (result: R): boolean => {
        const item = itemOf(result)
        if (item !== undefined) withheld.push(item)
        return item === undefined
      }
      return concat(
        first$.pipe(filter(passes)),
        defer(() => (withheld.length === 0 ? EMPTY : again(withheld.splice(0)))),
      )
    })
