import { EmptyError, Observable, type OperatorFunction, SequenceError } from 'rxjs'
import { isLoss, messageOf } from '../model/errors.js'
import type { Found, Item, Settled } from '../model/outcome.js'

/**
 * Ends an item's work as one value: what was found, or the status and reason of its failure. Errors that are not this item's
 * alone (a `stop` verdict, a bug, work that emits nothing or twice) go on and end the run.
 */
export const settle =
  (item: Item): OperatorFunction<Found, Settled> =>
  (work$) =>
    new Observable((subscriber) => {
      let result: Found | undefined
      const end = (settled: Settled): void => {
        result = undefined
        subscriber.next(settled)
        subscriber.complete()
      }
      return work$.subscribe({
        next: (value) => {
          if (result === undefined) result = value
          else subscriber.error(new SequenceError('Too many matching values'))
        },
        error: (error: unknown) => {
          if (isLoss(error)) end({ item, status: error.status, rows: [], reason: messageOf(error) })
          else subscriber.error(error)
        },
        complete: () => {
          if (result === undefined) subscriber.error(new EmptyError())
          else end({ item, ...result })
        },
      })
    })
