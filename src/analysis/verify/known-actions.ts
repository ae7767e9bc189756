import { isRow, readText } from '../../model/row.js'
import { readDay } from '../../model/trading-day.js'
import { dayToNumber } from './candle-arrays.js'

/** A corporate action that changes the price level. */
export interface KnownAction {
  readonly kind: string
  /** The ex-date, as a day number. */
  readonly day: number
  /** Possible factors: a note such as `2:1` may mean new shares for old ones, or face values. */
  readonly factors: readonly number[]
}

const PRICE_ACTIONS = /split|bonus|right|demerger|spin|merger|amalgamation|consolidation|reduction|arrangement/i

/** The actions of each symbol, from lists of corporate actions. Skips records of another shape or kind, or without a day. */
export const readKnownActions = (rows: Iterable<unknown>): ReadonlyMap<string, readonly KnownAction[]> => {
  const all = new Map<string, KnownAction[]>()
  for (const row of rows) {
    if (!isRow(row)) continue
    const symbol = readText(row.Sym)
    const found = [row.CorpAct].flat().filter(isRow).flatMap(toKnownAction)
    if (found.length > 0) all.set(symbol, [...(all.get(symbol) ?? []), ...found])
  }
  return all
}

const toKnownAction = ({ ActType, ExDate, RecDate, ActDate, Note }: Readonly<Record<string, unknown>>): readonly KnownAction[] => {
  const kind = readText(ActType).toLowerCase()
  const on = readDay(ExDate) ?? readDay(RecDate) ?? readDay(ActDate)
  return PRICE_ACTIONS.test(kind) && on !== undefined ? [{ kind, day: dayToNumber(on), factors: parseFactors(readText(Note)) }] : []
}

const parseFactors = (note: string): readonly number[] => {
  const [, one, other] = /(\d+(?:\.\d+)?)\s*:\s*(\d+(?:\.\d+)?)/.exec(note) ?? []
  const [a, b] = [Number(one), Number(other)]
  return a > 0 && b > 0 ? [b / a, a / b, (a + b) / b, (a + b) / a] : []
}
