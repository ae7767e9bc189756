import { type CandleArrays, readCandleFile } from '../market/candle-file.js'
import { omitUndefined } from '../model/row.js'
import type { Finding } from './finding.js'

export interface SeriesFile {
  readonly symbol: string
  readonly file: string
}

export const ofSeries = ({ symbol, file }: SeriesFile, findings: readonly Finding[]): readonly Finding[] =>
  findings.map(({ check, severity, day, detail }) =>
    omitUndefined({ check, severity, symbol, day, file, detail }),
  )

export interface ParsedCandles {
  readonly candles: CandleArrays
  readonly fault?: string | undefined
}

/**
 * Reads a candle file; nothing of it if it lacks the header. `fault`: its first defect, such as a line that
 * is no candle; the others are read.
 */
export const parseCandles = (bytes: Buffer): ParsedCandles => {
  const { candles, hasHeader, badLine, isTruncated } = readCandleFile(bytes)
  if (!hasHeader) return { candles: { ...candles, length: 0 }, fault: 'its first line is not the header' }
  if (badLine) return { candles, fault: `line ${badLine.number} is no candle` }
  return isTruncated ? { candles, fault: 'its last line is truncated' } : { candles }
}

const isAscending = ({ day, length }: CandleArrays): boolean => {
  for (let index = 1; index < length; index += 1)
    if ((day[index] as number) <= (day[index - 1] as number)) return false
  return true
}

/** The candles in order; of several of a day the last one in the file. */
export const keepLastOfDays = (candles: CandleArrays): CandleArrays => {
  if (isAscending(candles)) return candles
  const lastOf = new Map<number, number>()
  for (let index = 0; index < candles.length; index += 1) lastOf.set(candles.day[index] as number, index)
  return pickCandles(
    candles,
    [...lastOf].sort(([one], [other]) => one - other).map(([, index]) => index),
  )
}

export const pickCandles = (candles: CandleArrays, indices: readonly number[]): CandleArrays => {
  const column = (values: Float64Array): Float64Array =>
    Float64Array.from(indices, (index) => values[index] as number)
  return {
    length: indices.length,
    time: column(candles.time),
    day: Int32Array.from(indices, (index) => candles.day[index] as number),
    open: column(candles.open),
    high: column(candles.high),
    low: column(candles.low),
    close: column(candles.close),
    volume: column(candles.volume),
  }
}

export type RecentCandles = ReturnType<typeof getRecent>

const RECENT_CANDLES = 30
const YEAR_CANDLES = 251
const DAYS_OF_YEAR = 365

/** The newest candles of a series, the close of a year before, and the days and closes since. */
export const getRecent = (candles: CandleArrays) => {
  const { day, close, length } = candles
  const count = Math.min(length, RECENT_CANDLES)
  const yearAgo = day
    .subarray(0, length)
    .findLastIndex((one) => one <= (day[length - 1] as number) - DAYS_OF_YEAR)
  const indices = Array.from({ length: count }, (_, index) => length - count + index)
  const start = Math.max(0, length - YEAR_CANDLES)
  return {
    candles: pickCandles(candles, indices),
    yearAgo: close[yearAgo],
    days: day.slice(start, length),
    closes: close.slice(start, length),
  }
}
