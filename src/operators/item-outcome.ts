import {
  concat,
  defer,
  EMPTY,
  EmptyError,
  filter,
  type MonoTypeOperatorFunction,
  Observable,
  type OperatorFunction,
  SequenceError,
  take,
} from 'rxjs'
import { type CollectError, formatError, isItemError, nameBug } from '../model/errors.js'
import type { Item, ItemOutcome, ItemResult } from '../model/outcome.js'

/**
 * Turns an item's work into one outcome: its result, or the status and reason of its failure. Errors beyond this item (a `stop` verdict, a
 * bug, work that emits nothing or twice) end the run; with `stream`, that of a bug names stream and item.
 */
export const toItemOutcome =
  (item: Item, stream?: string): OperatorFunction<ItemResult, ItemOutcome> =>
  (work$) =>
    new Observable((subscriber) => {
      let latest: ItemOutcome | undefined
      const end = (outcome: ItemOutcome): void => {
        subscriber.next(outcome)
        subscriber.complete()
      }
      const fail = (error: unknown): void => {
        if (isItemError(error)) end(toFailedOutcome(item, error))
        else subscriber.error(stream === undefined ? error : nameBug(error, `the work of ${stream}`, item.key))
      }
      // Two at most, so that endless work ends.
      return work$.pipe(take(2)).subscribe({
        next: (result) => {
          if (latest === undefined) latest = { item, ...result }
          else fail(new SequenceError('Too many matching values'))
        },
        error: (error: unknown) => {
          latest = undefined
          fail(error)
        },
        complete: () => {
          // Forgotten at once: this closure is in the old generation after a request, and would retain the rows until the next major GC.
          const outcome = latest
          latest = undefined
          if (outcome === undefined) fail(new EmptyError())
          else end(outcome)
        },
      })
    })

const toFailedOutcome = (item: Item, error: CollectError): ItemOutcome => {
  const { status, code, causes, isTemporary } = error
  const why = { reason: formatError(error), code, ...(causes.length > 0 ? { causes } : {}), ...(isTemporary ? { isTemporary } : {}) }
  return { item, status, rows: [], ...why, error }
}

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
