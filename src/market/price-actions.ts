import { concat, defer, forkJoin, map, type Observable, of } from 'rxjs'
import { formatPart } from '../model/format.js'
import { groupBy } from '../model/map.js'
import { isRow, type Row, readText } from '../model/row.js'
import { addDays, type Day, readDay } from '../model/trading-day.js'
import { catchItemFailure } from '../operators/catch-item-failure.js'
import { type ActionKind, isUnknownAction, MOVED_DAYS, readTerms } from './action-terms.js'
import { type OwnerFinder, readOwners } from './former-stocks.js'
import type { Tools } from './tools.js'

/** The stream that fetches corporate actions, and its output files. */
const ACTIONS_STREAM = 'corporate-actions'
export const ACTION_FILES = ['history_corporate_actions.json', 'upcoming_corporate_actions.json'] as const

/** By these the provider divides all earlier candles, if late at times. By a rights issue, too. */
const DIVIDING: readonly ActionKind[] = ['split', 'consolidation', 'bonus', 'rights']
/** These do not move a price, or by too little. */
const UNMOVED: readonly ActionKind[] = ['dividend', 'buyback']

/** A corporate action that moves a price. */
export interface PriceAction {
  readonly kind: ActionKind
  readonly divides: boolean
  /** The ex-date; without one, the record date or the day of the action. */
  readonly on: Day
  /** Possible factors that earlier prices are divided by: see `readTerms`. */
  readonly factors: readonly number[]
}

/**
 * Reads the price actions of a stock; emits once. Waits for the corporate actions of this run if the run
 * fetches them; if that fails, it uses the stored ones.
 */
export const readStockActions = (
  symbol: string,
  { after, shared, stored, warn }: Tools,
): Observable<readonly PriceAction[]> => {
  const readRows = (file: string) =>
    stored.document(file).pipe(
      catchItemFailure((reason) => {
        warn(`${reason}; until it is repaired, splits are detected from the candles alone`)
        return of([])
      }),
    )
  return shared('price actions', () =>
    concat(
      after(ACTIONS_STREAM),
      defer(() => forkJoin([readOwners(stored), ...ACTION_FILES.map(readRows)])).pipe(
        map(([owners, ...lists]) => readPriceActions(lists, owners as OwnerFinder)),
      ),
    ),
  ).pipe(map((all) => all.get(symbol) ?? []))
}

const listActions = (actions: readonly PriceAction[], since: Day, until: Day): readonly PriceAction[] =>
  actions.filter(({ on }) => on >= since && on <= until)

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
  const found = listActions(actions, since, until).find(({ divides }) => divides || !dividing)
  return found && `${nameKind(found.kind)} on ${found.on}`
}

/**
 * What actions divide earlier prices by, each of them and several together: those of some days, and of a
 * month before them, which may have moved. In the other order of the terms, a jump is more likely an error.
 */
export const listLateFactors = (
  actions: readonly PriceAction[],
  { since, until }: { readonly since: Day; readonly until: Day },
): readonly number[] => {
  const usual = listActions(actions, addDays(since, -MOVED_DAYS), until).map(({ factors }) => ({
    factors: factors.slice(0, 1),
  }))
  return combineFactors(usual).map(({ factor }) => factor)
}

/** Every combination of more actions would be too many. */
const MAX_COMBINED = 5

/** The factors of each action, and the products of those of several. `parts` are the actions. */
export const combineFactors = <A extends { readonly factors: readonly number[] }>(actions: readonly A[]) => {
  let combined: readonly { readonly factor: number; readonly parts: readonly A[] }[] = [
    { factor: 1, parts: [] },
  ]
  for (const action of actions.slice(0, MAX_COMBINED))
    combined = combined.concat(
      combined.flatMap(({ factor, parts }) =>
        action.factors.map((by) => ({ factor: factor * by, parts: [...parts, action] })),
      ),
    )
  return combined.slice(1)
}

export const nameKind = (kind: ActionKind): string => (kind === 'rights' ? 'rights issue' : kind)

/**
 * The price actions in lists of corporate actions, by the present symbol of their stock. Skips rows of
 * another shape, another kind or without a day.
 */
export const readPriceActions = (
  lists: readonly unknown[],
  { findSymbol }: Pick<OwnerFinder, 'findSymbol'>,
): ReadonlyMap<string, readonly PriceAction[]> => {
  const found = lists
    .flat()
    .filter(isRow)
    .flatMap(({ Sym, DispSym, Isin, CorpAct }) =>
      [CorpAct]
        .flat()
        .filter(isRow)
        .flatMap(readPriceAction)
        .map((action) => {
          const named = { name: readText(DispSym), isin: readText(Isin) }
          return { symbol: findSymbol(readText(Sym), action.on, named), action }
        }),
    )
  return new Map(
    [...groupBy(found, ({ symbol }) => symbol)].map(([symbol, own]) => [
      symbol,
      own.map(({ action }) => action),
    ]),
  )
}

const readPriceAction = (row: Row): readonly PriceAction[] => {
  const terms = readTerms(readText(row.ActType), readText(row.Note))
  const on = readActionDay(row)
  if (terms === undefined || on === undefined || UNMOVED.includes(terms.kind)) return []
  return [{ kind: terms.kind, divides: DIVIDING.includes(terms.kind), on, factors: terms.factors }]
}

/** The ex-date of an action; without one, the record date or the day of the action. */
export const readActionDay = ({ ExDate, RecDate, ActDate }: Row): Day | undefined =>
  readDay(ExDate) ?? readDay(RecDate) ?? readDay(ActDate)

/**
 * Warns of actions that the tables cannot use: of an unknown type, or with terms that `readTerms` cannot
 * read.
 */
export const warnIfUnreadable = (rows: readonly Row[], { warn }: Pick<Tools, 'warn'>, list: string): void => {
  const listed = rows.flatMap(({ Sym, CorpAct }) =>
    [CorpAct]
      .flat()
      .filter(isRow)
      .map(({ ActType, Note }) => {
        const texts = [readText(ActType), readText(Note)] as const
        const text = [readText(Sym), ...texts].join(' ')
        return { terms: readTerms(...texts), isUnknown: isUnknownAction(...texts), text }
      }),
  )
  const unknown = listed.filter(({ isUnknown }) => isUnknown)
  if (unknown[0] !== undefined)
    warn(
      `${list}: the type of ${formatPart(unknown.length, listed.length, 'action')} is unknown, such as "${unknown[0].text}"; prices and returns leave them out`,
    )
  const all = listed.flatMap(({ terms, text }) => (terms === undefined ? [] : [{ ...terms, text }]))
  const unread = all.filter(({ isReadable }) => !isReadable)
  for (const kind of new Set(unread.map((one) => one.kind))) {
    const [first, ...more] = unread.filter((one) => one.kind === kind)
    const count = all.filter((one) => one.kind === kind).length
    const part = formatPart(more.length + 1, count, `${nameKind(kind)} action`)
    warn(
      `${list}: the terms of ${part} cannot be read, such as "${first?.text}"; they are NULL in the tables`,
    )
  }
}
