import { type CandleArrays, dayToNumber } from '../../market/candle-file.js'
import { getOrAdd } from '../../model/map.js'
import { isRow, type Row, readText } from '../../model/row.js'
import { readDay } from '../../model/trading-day.js'
import { joinLists, type MarketFolder, readList, type StoredList } from './market-folder.js'
import type { StockNames } from './stocks.js'

/** A split or a bonus: earlier prices are divided by its factor, unless the provider has done so. */
export interface Adjustment {
  /** The ex-date, a day number. */
  readonly day: number
  readonly factor: number
}

/** A corporate action as the provider lists it. */
export interface StoredAction {
  readonly symbol: string
  readonly day: string
  readonly action: string
  readonly note: string
}

export const ACTION_FILES = ['history_corporate_actions.json', 'upcoming_corporate_actions.json'] as const

/** The corporate actions of all stocks, each once. */
export const readActions = async (folder: MarketFolder): Promise<StoredList<StoredAction>> => {
  const lists = await Promise.all(ACTION_FILES.map((file) => readList(folder, file, (rows) => rows.flatMap(toActions))))
  const all = joinLists(lists)
  return { ...all, rows: [...new Map(all.rows.map((action) => [JSON.stringify(action), action])).values()] }
}

const toActions = (row: Row): readonly StoredAction[] =>
  [row.CorpAct]
    .flat()
    .filter(isRow)
    .flatMap(({ ActType, ExDate, Note }) => {
      const day = readDay(ExDate)
      return day === undefined ? [] : [{ symbol: readText(row.Sym), day, action: readText(ActType), note: readText(Note) }]
    })

/** The splits and bonuses of each stock, by its present symbol. The factors are those of the SQL view `adjustments`. */
export const findAdjustments = (
  actions: readonly StoredAction[],
  { toPresent }: StockNames,
): ReadonlyMap<string, readonly Adjustment[]> => {
  const all = new Map<string, Adjustment[]>()
  const seen = new Set<string>()
  for (const { symbol, day, action, note } of actions) {
    const found = toFactor(action, note)
    const key = JSON.stringify([symbol, day, found?.kind, note])
    if (found === undefined || seen.has(key)) continue
    seen.add(key)
    getOrAdd(all, toPresent(symbol), () => []).push({ day: dayToNumber(day), factor: found.factor })
  }
  return all
}

/** A split `1:10` or `10:1` has the factor 10, a bonus `1:2` (one new share for two) 1.5. */
const toFactor = (action: string, note: string): { readonly kind: string; readonly factor: number } | undefined => {
  const [, one, other] = /([0-9.]+)\s*:\s*([0-9.]+)/.exec(note) ?? []
  const [a, b] = [Number(one), Number(other)]
  if (!(a > 0 && b > 0)) return undefined
  if (/split/i.test(action)) return { kind: 'split', factor: Math.max(a / b, b / a) }
  return /bonus/i.test(action) ? { kind: 'bonus', factor: (a + b) / b } : undefined
}

/** The session before an action and that of the action are at most this many days away. */
const NEAR_DAYS = 10

/** The days from which prices count as they are, newest first, each with the factor of the prices before it. */
export type FactorSteps = readonly { readonly before: number; readonly factor: number }[]

/** The factors by which candles, ascending by day, are to be divided: whether the provider has done so shows in their prices. */
export const findFactorSteps = (candles: CandleArrays, adjustments: readonly Adjustment[]): FactorSteps => {
  const missing = adjustments
    .flatMap(({ day, factor }) => {
      const first = findUnapplied(candles, { day, factor })
      return first === undefined ? [] : [{ day: first, factor }]
    })
    .sort((one, other) => other.day - one.day)
  return missing.map(({ day }, index) => ({
    before: day,
    factor: missing.slice(0, index + 1).reduce((product, { factor }) => product * factor, 1),
  }))
}

/**
 * The day from which prices count as they are; undefined if the provider has divided those before: of the two states, the one that is nearer
 * to the move between the sessions counts. Without a session on the listed day, this may be the session before.
 */
const findUnapplied = ({ day, open, close, length }: CandleArrays, { day: exDay, factor }: Adjustment): number | undefined => {
  let next = 0
  while (next < length && (day[next] as number) < exDay) next += 1
  const isNear = (index: number): boolean => index >= 0 && index < length && Math.abs((day[index] as number) - exDay) <= NEAR_DAYS
  const showsMove = (index: number): boolean => {
    const [before = 0, after = 0] = [close[index - 1], open[index]]
    return isNear(index - 1) && isNear(index) && before > 0 && after > 0 && before / after >= Math.sqrt(factor)
  }
  if (day[next] !== exDay && showsMove(next - 1)) return day[next - 1]
  return showsMove(next) ? exDay : undefined
}

/** The candles in rupees and shares of today. */
export const adjustCandles = (candles: CandleArrays, steps: FactorSteps): CandleArrays => {
  if (steps.length === 0) return candles
  const factors = Float64Array.from({ length: candles.length }, (_, index) => {
    const today = candles.day[index] as number
    return steps.findLast(({ before }) => today < before)?.factor ?? 1
  })
  const divide = (values: Float64Array): Float64Array => Float64Array.from(factors, (factor, index) => (values[index] as number) / factor)
  return {
    ...candles,
    open: divide(candles.open),
    high: divide(candles.high),
    low: divide(candles.low),
    close: divide(candles.close),
    volume: Float64Array.from(factors, (factor, index) => (candles.volume[index] as number) * factor),
  }
}
