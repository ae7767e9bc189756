import { dayToNumber, numberToDay } from '../market/candle-file.js'
import { countDays, findMarketDay } from '../market/series-days.js'
import { groupDigits } from '../model/format.js'
import { type Row, readText } from '../model/row.js'
import { isWeekday, toDay } from '../model/trading-day.js'
import type { Finding } from './finding.js'
import type { KnownAction } from './price-moves.js'
import type { SeriesDays } from './sessions.js'

/** Limits are rounded to ticks: 5 paise, or a few more on a high price. */
const TICK = 0.05
const TICK_SHARE = 0.0005
const MAX_WEEKEND_DAYS = 5

/**
 * Finds a close of the day of the bands that moved further from the previous close than the stock's band
 * permits. If a band has just changed, the wider one counts. Skips stocks without a band, with a gap before
 * the newest candle, or with a corporate action between both closes.
 */
export const findOutsideBand = (
  { symbol, recent: { candles } }: SeriesDays,
  { bands, bandDay, actions }: BandContext,
): readonly Finding[] => {
  const [dayBefore = 0, day = 0] = candles.day.slice(-2)
  const [closeBefore = 0, close = 0] = candles.close.slice(-2)
  const band = bands.get(symbol)
  const isMoved = actions.get(symbol)?.some((action) => action.day > dayBefore && action.day <= day) ?? false
  if (band === undefined || day !== bandDay || day - dayBefore > MAX_WEEKEND_DAYS || isMoved) return []
  const limit = closeBefore * (band / 100) + Math.max(TICK, closeBefore * TICK_SHARE)
  if (Math.abs(close - closeBefore) <= limit) return []
  const move = ((close / closeBefore - 1) * 100).toFixed(1)
  const detail = `the close of ${groupDigits(close)} is ${move} % from the previous close of ${groupDigits(closeBefore)}; the band is ${band} %`
  return [{ check: 'price-bands', severity: 'warning', day: numberToDay(day), detail }]
}

interface BandContext {
  readonly bands: ReadonlyMap<string, number>
  readonly bandDay: number | undefined
  readonly actions: ReadonlyMap<string, readonly KnownAction[]>
}

const [BAND_FILE, CHANGED_FILE] = ['complete_price_bands.json', 'incremental_price_bands.json']
const BANDS = ['2', '5', '10', '20', '40', 'No Band']

type ListRows = ReadonlyMap<string, readonly Row[]>

export const listBands = (rows: ListRows): readonly Row[] => rows.get(BAND_FILE) ?? []

export const findUnknownBands = (rows: ListRows): readonly Finding[] =>
  listBands(rows).flatMap(({ Symbol: symbol, Band }): readonly Finding[] => {
    const band = readText(Band)
    if (BANDS.includes(band)) return []
    const detail = `its band is "${band}"; known are ${BANDS.join(', ')}`
    return [{ check: 'price-bands', severity: 'warning', symbol: readText(symbol), file: BAND_FILE, detail }]
  })

/** The widest band of each symbol over its series, in percent; infinite without a limit. */
export const findWidestBands = (rows: ListRows): ReadonlyMap<string, number> => {
  const bands = new Map<string, number>()
  const widen = (row: Row, band: unknown): void => {
    const symbol = readText(row.Symbol)
    const value = Number(readText(band) || Number.NaN)
    const width = Number.isNaN(value) ? Number.POSITIVE_INFINITY : value
    bands.set(symbol, Math.max(bands.get(symbol) ?? 0, width))
  }
  for (const row of listBands(rows)) widen(row, row.Band)
  for (const row of rows.get(CHANGED_FILE) ?? [])
    if (bands.has(readText(row.Symbol))) for (const band of [row.From, row.To]) widen(row, band)
  return bands
}

/**
 * The day number of the price bands: that of the run, or on a weekend without a session the Friday before.
 * Bands change daily, so they apply to candles of this day only.
 */
export const readBandDay = (stocks: readonly SeriesDays[], asOf: number | undefined): number | undefined => {
  if (asOf === undefined) return undefined
  const day = toDay(asOf)
  if (isWeekday(day)) return dayToNumber(day)
  return dayToNumber(findMarketDay(countDays(stocks.map(({ days }) => days)), day))
}
