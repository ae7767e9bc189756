import { concat, defer, forkJoin, map, type Observable, of } from 'rxjs'
import { isRow, textOf } from '../model/row.js'
import { type Day, dayAt, readDay } from '../model/trading-day.js'
import { recover } from '../operators/recover.js'
import type { Tools } from './define-stream.js'

/** The stream that finds corporate actions, and the files that it leaves. */
const ACTIONS = 'corporate-actions'
const FILES = ['history_corporate_actions.json', 'upcoming_corporate_actions.json'] as const

/** What moves a price, and whether the provider divides all earlier candles by it. */
const KINDS = [
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
 * candles: emits what it is and when, nothing if there is none. Waits for this run's corporate actions where they are part of it; if they
 * fail, those of an earlier run say it.
 */
export const adjustedSince = (tools: Tools, symbol: string) => actionSince(tools, symbol, ({ divides }) => divides)

/** Finds the corporate action of any kind that moves a price, in the same way. */
export const movedSince = (tools: Tools, symbol: string) => actionSince(tools, symbol, () => true)

const actionSince =
  ({ after, shared, stored, notice, asOf }: Tools, symbol: string, counts: (action: Adjustment) => boolean) =>
  (since: Day): Observable<string | undefined> => {
    const rowsOf = (file: string): Observable<unknown> =>
      stored.document(file).pipe(
        recover((reason) => {
          notice(`${reason}. Until then, splits are seen by the candles alone`)
          return of([])
        }),
      )
    return shared('adjustments', () => concat(after(ACTIONS), defer(() => forkJoin(FILES.map(rowsOf))).pipe(map(adjustmentsIn)))).pipe(
      map((all) => all.get(symbol)?.find((action) => counts(action) && action.on >= since && action.on <= dayAt(asOf))),
      map((action) => action && `${action.kind} on ${action.on}`),
    )
  }

/** The adjustments in lists of corporate actions, by symbol. What has another shape, kind or no day is left out. */
export const adjustmentsIn = (lists: readonly unknown[]): ReadonlyMap<string, readonly Adjustment[]> => {
  const all = new Map<string, Adjustment[]>()
  for (const row of lists.flat().filter(isRow)) {
    const found = [row.CorpAct].flat().filter(isRow).flatMap(adjustmentIn)
    if (found.length > 0) all.set(textOf(row.Sym), [...(all.get(textOf(row.Sym)) ?? []), ...found])
  }
  return all
}

const adjustmentIn = ({ ActType, ExDate, RecDate, ActDate }: Readonly<Record<string, unknown>>): readonly Adjustment[] => {
  const known = KINDS.find(({ sign }) => sign.test(textOf(ActType)))
  const on = readDay(ExDate) ?? readDay(RecDate) ?? readDay(ActDate)
  return known === undefined || on === undefined ? [] : [{ kind: known.kind, divides: known.divides, on }]
}
