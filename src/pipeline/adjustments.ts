import { concat, defer, forkJoin, map, type Observable, of } from 'rxjs'
import { isRow, readText } from '../model/row.js'
import { type Day, readDay, toDay } from '../model/trading-day.js'
import { catchItemFailure } from '../operators/catch-item-failure.js'
import type { Tools } from './define-stream.js'

/** The stream that fetches corporate actions, and its output files. */
const ACTIONS_STREAM = 'corporate-actions'
const ACTION_FILES = ['history_corporate_actions.json', 'upcoming_corporate_actions.json'] as const

/** Kinds of corporate actions that move a price, and whether the provider divides all earlier candles by them. */
const ADJUSTMENT_KINDS = [
  { kind: 'split', sign: /split/i, divides: true },
  { kind: 'bonus', sign: /bonus/i, divides: true },
  { kind: 'rights issue', sign: /right/i, divides: true },
  { kind: 'demerger', sign: /demerger|spin/i, divides: false },
  { kind: 'merger', sign: /merger|amalgamation|arrangement/i, divides: false },
  { kind: 'consolidation', sign: /consolidation|reduction/i, divides: false },
] as const

interface Adjustment {
  readonly kind: string
  readonly divides: boolean
  readonly on: Day
}

/**
 * Finds the split, bonus or rights issue of a stock between a day and today, both included, by which the provider divides all earlier
 * candles. Emits its kind and day, or `undefined`. Waits for the corporate actions of this run if the run fetches them; if that fails, it
 * uses the stored ones.
 */
export const createAdjustmentFinder = (tools: Tools, symbol: string) => createActionFinder(tools, symbol, ({ divides }) => divides)

/** The same for a corporate action of any kind that moves a price. */
export const createPriceActionFinder = (tools: Tools, symbol: string) => createActionFinder(tools, symbol, () => true)

const createActionFinder =
  ({ after, shared, stored, warn, asOf }: Tools, symbol: string, counts: (action: Adjustment) => boolean) =>
  (since: Day): Observable<string | undefined> => {
    const rowsOf = (file: string): Observable<unknown> =>
      stored.document(file).pipe(
        catchItemFailure((reason) => {
          warn(`${reason}; until it is repaired, splits are detected from the candles alone`)
          return of([])
        }),
      )
    return shared('adjustments', () =>
      concat(after(ACTIONS_STREAM), defer(() => forkJoin(ACTION_FILES.map(rowsOf))).pipe(map(parseAdjustments))),
    ).pipe(
      map((all) => all.get(symbol)?.find((action) => counts(action) && action.on >= since && action.on <= toDay(asOf))),
      map((action) => action && `${action.kind} on ${action.on}`),
    )
  }

/** The adjustments in lists of corporate actions, by symbol. Skips rows of another shape, another kind or without a day. */
export const parseAdjustments = (lists: readonly unknown[]): ReadonlyMap<string, readonly Adjustment[]> => {
  const all = new Map<string, Adjustment[]>()
  for (const row of lists.flat().filter(isRow)) {
    const found = [row.CorpAct].flat().filter(isRow).flatMap(parseAdjustment)
    if (found.length > 0) all.set(readText(row.Sym), [...(all.get(readText(row.Sym)) ?? []), ...found])
  }
  return all
}

const parseAdjustment = ({ ActType, ExDate, RecDate, ActDate }: Readonly<Record<string, unknown>>): readonly Adjustment[] => {
  const known = ADJUSTMENT_KINDS.find(({ sign }) => sign.test(readText(ActType)))
  const on = readDay(ExDate) ?? readDay(RecDate) ?? readDay(ActDate)
  return known === undefined || on === undefined ? [] : [{ kind: known.kind, divides: known.divides, on }]
}
