import type { Row } from '../model/row.js'
import { textOf } from '../model/row.js'
import { type CandleColumns, dayOfNumber } from './candle-columns.js'
import type { Finding } from './finding.js'
import type { KnownAction } from './known-actions.js'

/** The last two candles of a stock. */
export interface LastCloses {
  readonly symbol: string
  readonly file: string
  readonly day: number
  readonly close: number
  readonly dayBefore: number
  readonly closeBefore: number
}

/** Nothing where there are not two candles. */
export const lastClosesOf = ({
  symbol,
  file,
  candles,
}: {
  symbol: string
  file: string
  candles: CandleColumns
}): LastCloses | undefined => {
  const { day, close, length } = candles
  if (length < 2) return undefined
  return {
    symbol,
    file,
    day: day[length - 1] as number,
    close: close[length - 1] as number,
    dayBefore: day[length - 2] as number,
    closeBefore: close[length - 2] as number,
  }
}

export interface Bands {
  /** Rows of the list of all bands, and of the bands that changed last. */
  readonly complete: readonly Row[]
  readonly changed: readonly Row[]
  readonly actions: ReadonlyMap<string, readonly KnownAction[]>
  /** The day number of the first day that the bands are of. */
  readonly since: number
}

/** Limits are rounded to ticks: 5 paise, or a few more on a high price. */
const TICK = 0.05
const TICK_SHARE = 0.0005

/**
 * Finds newest closes that lie further from the close before than the stock's band lets them. A band that has just changed
 * counts as the wider of both. Not judged are stocks without a band, whose last two candles are not of sessions that follow each other,
 * or that an action has just moved.
 */
export const outsideBands = (all: readonly LastCloses[], { complete, changed, actions, since }: Bands): readonly Finding[] => {
  const bandOf = widest(complete, changed)
  return all.flatMap(({ symbol, file, day, close, dayBefore, closeBefore }): Finding[] => {
    const band = bandOf.get(symbol)
    const isMoved = actions.get(symbol)?.some((action) => action.day > dayBefore && action.day <= day) ?? false
    if (band === undefined || day < since || day - dayBefore > LONGEST_WEEKEND || isMoved) return []
    const most = closeBefore * (band / 100) + Math.max(TICK, closeBefore * TICK_SHARE)
    if (Math.abs(close - closeBefore) <= most) return []
    const move = ((close / closeBefore - 1) * 100).toFixed(1)
    const detail = `the close of ${close} is ${move} % from the one before, ${closeBefore}, with a band of ${band} %`
    return [{ check: 'price-bands', severity: 'warning', symbol, day: dayOfNumber(day), file, detail }]
  })
}

const LONGEST_WEEKEND = 5

/** The widest band of each symbol, in percent; none for one that has no limit in any series. */
const widest = (complete: readonly Row[], changed: readonly Row[]): ReadonlyMap<string, number> => {
  const bands = new Map<string, number>()
  const take = (row: Row, band: unknown): void => {
    const symbol = textOf(row.Symbol)
    const value = Number(textOf(band) || Number.NaN)
    const width = Number.isNaN(value) ? Number.POSITIVE_INFINITY : value
    bands.set(symbol, Math.max(bands.get(symbol) ?? 0, width))
  }
  for (const row of complete) take(row, row.Band)
  for (const row of changed) if (bands.has(textOf(row.Symbol))) for (const band of [row.From, row.To]) take(row, band)
  return bands
}
