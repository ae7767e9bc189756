import { concat, defer, forkJoin, map, type Observable, of } from 'rxjs'
import { type PriceAction, readPriceActions } from '../market/price-actions.js'
import { type Day, toDay } from '../model/trading-day.js'
import { catchItemFailure } from '../operators/catch-item-failure.js'
import type { Tools } from './define-stream.js'

/** The stream that fetches corporate actions, and its output files. */
const ACTIONS_STREAM = 'corporate-actions'
const ACTION_FILES = ['history_corporate_actions.json', 'upcoming_corporate_actions.json'] as const

/**
 * Finds the split, bonus or rights issue of a stock between a day and today, both included, by which the provider divides all earlier
 * candles. Emits its kind and day, or `undefined`. Waits for the corporate actions of this run if the run fetches them; if that fails, it
 * uses the stored ones.
 */
export const createAdjustmentFinder = (tools: Tools, symbol: string) => createActionFinder(tools, symbol, ({ divides }) => divides)

/** The same for a corporate action of any kind that moves a price. */
export const createPriceActionFinder = (tools: Tools, symbol: string) => createActionFinder(tools, symbol, () => true)

const createActionFinder =
  ({ after, shared, stored, warn, asOf }: Tools, symbol: string, counts: (action: PriceAction) => boolean) =>
  (since: Day): Observable<string | undefined> => {
    const rowsOf = (file: string): Observable<unknown> =>
      stored.document(file).pipe(
        catchItemFailure((reason) => {
          warn(`${reason}; until it is repaired, splits are detected from the candles alone`)
          return of([])
        }),
      )
    return shared('adjustments', () =>
      concat(after(ACTIONS_STREAM), defer(() => forkJoin(ACTION_FILES.map(rowsOf))).pipe(map(readPriceActions))),
    ).pipe(
      map((all) => all.get(symbol)?.find((action) => counts(action) && action.on >= since && action.on <= toDay(asOf))),
      map((action) => action && `${action.kind} on ${action.on}`),
    )
  }
