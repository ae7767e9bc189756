import { map, type OperatorFunction, of, single } from 'rxjs'
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
      single(),
      map((result): Settled => ({ item, ...result })),
      recover((reason, { status }) => of({ item, status, rows: [], reason })),
    )
