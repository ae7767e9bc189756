import { concat, defer, forkJoin, map, type Observable, of } from 'rxjs'
import { isRow, type Row, readText } from '../model/row.js'
import { type Day, readDay } from '../model/trading-day.js'
import { catchItemFailure } from '../operators/catch-item-failure.js'
import type { Tools } from './tools.js'

/** The stream that fetches corporate actions, and its output files. */
const ACTIONS_STREAM = 'corporate-actions'
export const ACTION_FILES = ['history_corporate_actions.json', 'upcoming_corporate_actions.json'] as const

/**
 * Kinds of corporate actions that move a price, and whether the provider divides all earlier candles by them.
 */
const ACTION_KINDS = [
  { kind: 'split', sign: /split/i, divides: true },
  { kind: 'bonus', sign: /bonus/i, divides: true },
  { kind: 'rights issue', sign: /right/i, divides: true },
  { kind: 'demerger', sign: /demerger|spin/i, divides: false },
  { kind: 'merger', sign: /merger|amalgamation|arrangement/i, divides: false },
  { kind: 'consolidation', sign: /consolidation|reduction/i, divides: false },
] as const

/** A corporate action that moves a price. */
export interface PriceAction {
  readonly kind: string
  readonly divides: boolean
  /** The ex-date; without one, the record date or the day of the action. */
  readonly on: Day
  /** The kind and the terms, such as `1:10`, as the provider writes them. */
  readonly type: string
  readonly note: string
}

/**
 * Reads the price actions of a stock; emits once. Waits for the corporate actions of this run if the run
 * fetches them; if that fails, it uses the stored ones.
 */
export const readStockActions = (
  symbol: string,
  { after, shared, stored, warn }: Tools,
): Observable<readonly PriceAction[]> => {
  const readRows = (file: string): Observable<unknown> =>
    stored.document(file).pipe(
      catchItemFailure((reason) => {
        warn(`${reason}; until it is repaired, splits are detected from the candles alone`)
        return of([])
      }),
    )
  return shared('price actions', () =>
    concat(
      after(ACTIONS_STREAM),
      defer(() => forkJoin(ACTION_FILES.map(readRows))).pipe(map(readPriceActions)),
    ),
  ).pipe(map((all) => all.get(symbol) ?? []))
}

/**
 * The first action between two days, both included, as its kind and day; `dividing`: only one by which the
 * provider divides earlier candles.
 */
export const findAction = (
  actions: readonly PriceAction[],
  {
    since,
    until,
    dividing = false,
  }: { readonly since: Day; readonly until: Day; readonly dividing?: boolean },
): string | undefined => {
  const found = actions.find(({ on, divides }) => on >= since && on <= until && (divides || !dividing))
  return found && `${found.kind} on ${found.on}`
}

/**
 * The price actions in lists of corporate actions, by symbol. Skips rows of another shape, another kind or
 * without a day.
 */
export const readPriceActions = (lists: readonly unknown[]): ReadonlyMap<string, readonly PriceAction[]> => {
  const all = new Map<string, PriceAction[]>()
  for (const row of lists.flat().filter(isRow)) {
    const found = [row.CorpAct].flat().filter(isRow).flatMap(readPriceAction)
    if (found.length > 0) all.set(readText(row.Sym), [...(all.get(readText(row.Sym)) ?? []), ...found])
  }
  return all
}

const readPriceAction = ({ ActType, ExDate, RecDate, ActDate, Note }: Row): readonly PriceAction[] => {
  const type = readText(ActType)
  const known = ACTION_KINDS.find(({ sign }) => sign.test(type))
  const on = readDay(ExDate) ?? readDay(RecDate) ?? readDay(ActDate)
  return known === undefined || on === undefined
    ? []
    : [{ kind: known.kind, divides: known.divides, on, type, note: readText(Note) }]
}
