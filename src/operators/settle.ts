import { EmptyError, map, Observable, type OperatorFunction, of, SequenceError } from 'rxjs'
import type { Found, Item, Settled } from '../model/outcome.js'
import { recover } from './recover.js'

/**
 * Ends an item's work as one value: what was found, or the status and reason of its failure. Errors that are not this item's
 * alone (a `stop` verdict, a bug, work that emits nothing or twice) go on and end the run.
 */
export const settle =
  (item: Item): OperatorFunction<Found, Settled> =>
  (work$) =>
    work$.pipe(
      map((result, nth): Settled => {
        if (nth > 0) throw new SequenceError('Too many matching values')
        return { item, ...result }
      }),
      onceComplete,
      recover((reason, { status, code, isTemporary }) =>
        of({ item, status, rows: [], reason, code, ...(isTemporary ? { isTemporary } : {}) }),
      ),
    )

/** What came, once no more can come. `single` would not let go of it: it is old by then, and what it holds lasts until a great collection. */
const onceComplete = (settled$: Observable<Settled>): Observable<Settled> =>
  new Observable((subscriber) => {
    let last: Settled | undefined
    return settled$.subscribe({
      next: (settled) => {
        last = settled
      },
      error: (error: unknown) => subscriber.error(error),
      complete: () => {
        const settled = last
        last = undefined
        if (settled === undefined) return subscriber.error(new EmptyError())
        subscriber.next(settled)
        subscriber.complete()
      },
    })
  })
