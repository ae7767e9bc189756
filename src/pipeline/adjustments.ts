import { concat, defer, forkJoin, map, type Observable, of } from 'rxjs'
import { isRow, textOf } from '../model/row.js'
import { type Day, dayAt, readDay } from '../model/trading-day.js'
import { recover } from '../operators/recover.js'
import type { Tools } from './define-stream.js'

/** The stream that finds corporate actions, and the files that it leaves. */
const ACTIONS = 'corporate-actions'
const FILES = ['history_corporate_actions.json', 'upcoming_corporate_actions.json'] as const

const KINDS = [
  ['split', /split/i],
  ['bonus', /bonus/i],
  ['rights issue', /right/i],
] as const

interface Adjustment {
  readonly kind: string
  readonly on: Day
}

/**
 * Finds the split, bonus or rights issue of a stock between a day and today, both included, by which the provider divides all earlier
 * candles: emits what it is and when, nothing if there is none. Waits for this run's corporate actions where they are part of it; if they
 * fail, those of an earlier run say it.
 */
export const adjustedSince =
  ({ after, shared, stored, notice, asOf }: Tools, symbol: string) =>
  (since: Day): Observable<string | undefined> => {
    const rowsOf = (file: string): Observable<unknown> =>
      stored.document(file).pipe(
        recover((reason) => {
          notice(`${reason}. Until then, splits are seen by the candles alone`)
          return of([])
        }),
      )
    return shared('adjustments', () => concat(after(ACTIONS), defer(() => forkJoin(FILES.map(rowsOf))).pipe(map(adjustmentsIn)))).pipe(
      map((all) => all.get(symbol)?.find(({ on }) => on >= since && on <= dayAt(asOf))),
      map((adjustment) => adjustment && `${adjustment.kind} on ${adjustment.on}`),
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
  const [kind] = KINDS.find(([, sign]) => sign.test(textOf(ActType))) ?? []
  const on = readDay(ExDate) ?? readDay(RecDate) ?? readDay(ActDate)
  return kind === undefined || on === undefined ? [] : [{ kind, on }]
}
