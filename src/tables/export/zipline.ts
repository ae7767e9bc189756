import { type Bundle, defineBundle, type Session } from './bundle.js'
import type { Export, ExportOptions } from './export.js'

/** Enough digits for a price that several splits have divided. */
const toDecimal = (value: number): string => String(Number(value.toFixed(4)))

/** Prices and shares of that day: zipline adjusts them itself, by the columns `dividend` and `split`. */
const toLine = ({ day, prices, volume, then, split, dividend }: Session): string =>
  `${[day, ...prices.map((price) => toDecimal(price * then)), Math.round(volume / then), toDecimal(dividend), toDecimal(split)].join(',')}\n`

const BUNDLE: Bundle = {
  ofStock: (symbol, sessions) => ({
    [`daily/${symbol}.csv`]: Buffer.from(`date,open,high,low,close,volume,dividend,split\n${sessions.map(toLine).join('')}`),
  }),
  ofAll: () => ({}),
}

/**
 * Exports the candles as a folder for the csvdir bundle of zipline, with prices as they were and the splits, bonuses and dividends.
 *
 * @throws UsageError for a selection of tables
 * @example zipline('./zipline', { streams }).write('./data').subscribe()
 */
export const zipline = (dir: string, options: ExportOptions): Export => defineBundle(dir, BUNDLE, options)
