import { type Row, readText } from '../../model/row.js'
import { readDay } from '../../model/trading-day.js'
import { dayToNumber } from './candle-arrays.js'
import type { StockIndex } from './stray-records.js'

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
