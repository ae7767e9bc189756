import { numberToDay } from '../../market/candle-file.js'
import { type Row, readText } from '../../model/row.js'
import type { CandleContext } from './candle-summaries.js'
import type { Finding } from './finding.js'
import type { SeriesDays } from './sessions.js'

/** Limits are rounded to ticks: 5 paise, or a few more on a high price. */
const TICK = 0.05
const TICK_SHARE = 0.0005

/**
 * Finds closes of the day of the bands that moved further from the previous close than the stock's band permits. If a band has just changed, the wider one
 * counts. Skips stocks without a band, with a gap before the newest candle, or with a corporate action between both closes.
 */
export const findOutsideBands = (
  all: readonly SeriesDays[],
  bandDay: number,
  { bands, actions }: Pick<CandleContext, 'bands' | 'actions'>,
): readonly Finding[] =>
  all.flatMap(({ symbol, file, recent: { candles } }): Finding[] => {
    const [dayBefore = 0, day = 0] = candles.day.slice(-2)
    const [closeBefore = 0, close = 0] = candles.close.slice(-2)
    const band = bands.get(symbol)
    const isMoved = actions.get(symbol)?.some((action) => action.day > dayBefore && action.day <= day) ?? false
    if (band === undefined || day !== bandDay || day - dayBefore > MAX_WEEKEND_DAYS || isMoved) return []
    const limit = closeBefore * (band / 100) + Math.max(TICK, closeBefore * TICK_SHARE)
    if (Math.abs(close - closeBefore) <= limit) return []
    const move = ((close / closeBefore - 1) * 100).toFixed(1)
    const detail = `the close of ${close} is ${move} % from the previous close of ${closeBefore}; the band is ${band} %`
    return [{ check: 'price-bands', severity: 'warning', symbol, day: numberToDay(day), file, detail }]
  })

const MAX_WEEKEND_DAYS = 5

const BANDS = ['2', '5', '10', '20', '40', 'No Band']

/** Finds bands that the exchange does not have. */
export const findUnknownBands = (complete: readonly Row[], file: string): readonly Finding[] =>
  complete
    .map(({ Symbol: symbol, Band }) => ({ symbol: readText(symbol), band: readText(Band) }))
    .filter(({ band }) => !BANDS.includes(band))
    .map(({ symbol, band }) => ({
      check: 'price-bands',
      severity: 'warning',
      symbol,
      file,
      detail: `its band is "${band}"; known are ${BANDS.join(', ')}`,
    }))

/** The widest band of each symbol over its series, in percent; infinite without a limit. */
export const findWidestBands = (complete: readonly Row[], changed: readonly Row[]): ReadonlyMap<string, number> => {
  const bands = new Map<string, number>()
  const widen = (row: Row, band: unknown): void => {
    const symbol = readText(row.Symbol)
    const value = Number(readText(band) || Number.NaN)
    const width = Number.isNaN(value) ? Number.POSITIVE_INFINITY : value
    bands.set(symbol, Math.max(bands.get(symbol) ?? 0, width))
  }
  for (const row of complete) widen(row, row.Band)
  for (const row of changed) if (bands.has(readText(row.Symbol))) for (const band of [row.From, row.To]) widen(row, band)
  return bands
}
