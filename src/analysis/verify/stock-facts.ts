import { dayToNumber } from '../../market/candle-file.js'
import { type PriceAction, readPriceActions } from '../../market/price-actions.js'

export { ACTION_FILES } from '../../market/price-actions.js'

import { type Row, readText } from '../../model/row.js'
import { readDay } from '../../model/trading-day.js'
import type { StockIndex } from './record-checks.js'

/** A corporate action that changes the price level. */
export interface KnownAction {
  readonly kind: string
  /** The ex-date, as a day number. */
  readonly day: number
  /** Possible factors: a note such as `2:1` may mean new shares for old ones, or face values. */
  readonly factors: readonly number[]
}

/** The price actions of each symbol, from rows of corporate actions. */
export const readKnownActions = (rows: readonly unknown[]): ReadonlyMap<string, readonly KnownAction[]> =>
  new Map([...readPriceActions(rows)].map(([symbol, actions]) => [symbol, actions.map(toKnownAction)]))

const toKnownAction = ({ type, on, note }: PriceAction): KnownAction => ({
  kind: type.toLowerCase(),
  day: dayToNumber(on),
  factors: parseFactors(note),
})

const parseFactors = (note: string): readonly number[] => {
  const [, one, other] = /(\d+(?:\.\d+)?)\s*:\s*(\d+(?:\.\d+)?)/.exec(note) ?? []
  const [a, b] = [Number(one), Number(other)]
  return a > 0 && b > 0 ? [b / a, a / b, (a + b) / b, (a + b) / a] : []
}

/** The listing days by symbol. Skips rows with another ISIN: they are of a stock that had the symbol earlier. */
export const readListingDays = (rows: readonly Row[], { bySymbol }: StockIndex): ReadonlyMap<string, number> => {
  const days = new Map<string, number>()
  for (const row of rows) {
    const symbol = readText(row.SYMBOL)
    const isin = row['ISIN NUMBER']
    const day = parseListingDay(readText(row['DATE OF LISTING']))
    if (day !== undefined && (isin === undefined || isin === bySymbol.get(symbol)?.ISIN)) days.set(symbol, day)
  }
  return days
}

const MONTHS = ['JAN', 'FEB', 'MAR', 'APR', 'MAY', 'JUN', 'JUL', 'AUG', 'SEP', 'OCT', 'NOV', 'DEC']

/** The day number of `06-OCT-2008`; undefined if it is not a real day. */
const parseListingDay = (text: string): number | undefined => {
  const [date = '', month = '', year = ''] = text.split('-')
  const index = MONTHS.indexOf(month.toUpperCase()) + 1
  const day = readDay(`${year}-${String(index).padStart(2, '0')}-${date.padStart(2, '0')}`)
  return day === undefined ? undefined : dayToNumber(day)
}
