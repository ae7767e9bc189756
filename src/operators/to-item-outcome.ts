import { EmptyError, map, Observable, type OperatorFunction, of, SequenceError } from 'rxjs'
import type { Item, ItemOutcome, ItemResult } from '../model/outcome.js'
import { catchItemFailure } from './catch-item-failure.js'

/**
 * Turns an item's work into one outcome: its result, or the status and reason of its failure. Errors beyond this item (a `stop` verdict, a
 * bug, work that emits nothing or twice) pass through and end the run.
 */
export const toItemOutcome =
  (item: Item): OperatorFunction<ItemResult, ItemOutcome> =>
  (work$) =>
    work$.pipe(
      map((result, nth): ItemOutcome => {
        if (nth > 0) throw new SequenceError('Too many matching values')
        return { item, ...result }
      }),
      emitLastOnComplete,
      catchItemFailure((reason, { status, code, isTemporary }) =>
        of({ item, status, rows: [], reason, code, ...(isTemporary ? { isTemporary } : {}) }),
      ),
    )

/** Emits the last value on completion. V8 moves this closure to the old generation; `single()` would keep the rows until the next major GC. */
const emitLastOnComplete = (outcome$: Observable<ItemOutcome>): Observable<ItemOutcome> =>
  new Observable((subscriber) => {
    let latest: ItemOutcome | undefined
    return outcome$.subscribe({
      next: (outcome) => {
        latest = outcome
      },
      error: (error: unknown) => subscriber.error(error),
      complete: () => {
        const outcome = latest
        latest = undefined
        if (outcome === undefined) return subscriber.error(new EmptyError())
        subscriber.next(outcome)
        subscriber.complete()
      },
    })
  })
