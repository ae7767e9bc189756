import { join } from 'node:path'
import { RETURNS } from '../../analysis/tables/screener/price.js'
import { keepLastOfDays, parseCandles, pickCandles } from '../../analysis/verify/candle-series.js'
import { findImpossibleCandles } from '../../analysis/verify/odd-candles.js'
import { type CandleArrays, dayToNumber, numberToDay } from '../../market/candle-file.js'
import { addMonths, DAYS_OF_52_WEEKS } from '../../model/trading-day.js'
import { disk } from '../../storage/disk.js'
import { getErrorCode } from '../../storage/file-system.js'
import type { About } from '../api/about.js'
import type { CandlesAnswer, PriceFacts } from '../api/stock.js'
import { type Adjustment, adjustCandles, findFactorSteps } from './adjustments.js'

/** A candle file, put in order for display. */
export interface ShownCandles {
  /** Ascending by day, each day once, without impossible ones, as stored. */
  readonly stored: CandleArrays
  /** In rupees and shares of today; the same if nothing is to be adjusted. */
  readonly adjusted: CandleArrays
  /** What was left out or put in order, as sentences. */
  readonly cleaned: readonly string[]
  /** As in the file, for the checks. */
  readonly raw: CandleArrays
  /** Why the file cannot be read, or the first defect of it. */
  readonly fault?: string
}

/** Reads a candle file of a stock or an index. A chart needs ascending days and possible prices: other candles are left out, and named. */
export const readShownCandles = async (root: string, file: string, adjustments: readonly Adjustment[] = []): Promise<ShownCandles> => {
  const bytes = await disk.readFile(join(root, file)).catch((error: unknown) => {
    if (getErrorCode(error) === 'ENOENT') return Buffer.alloc(0)
    throw error
  })
  const { candles: raw, fault } = parseCandles(bytes)
  const ordered = keepLastOfDays(raw)
  const steps = findFactorSteps(ordered, adjustments)
  const { days: impossible } = findImpossibleCandles({ symbol: '', file, candles: ordered })
  const indices = [...ordered.day.subarray(0, ordered.length).keys()].filter((index) => !impossible.has(ordered.day[index] as number))
  const stored = impossible.size === 0 ? ordered : pickCandles(ordered, indices)
  return {
    stored,
    adjusted: adjustCandles(stored, steps),
    cleaned: describeCleaning(raw, ordered, impossible.size),
    raw,
    ...(fault === undefined ? {} : { fault }),
  }
}

const describeCleaning = (raw: CandleArrays, ordered: CandleArrays, impossible: number): readonly string[] => {
  const repeated = raw.length - ordered.length
  const isUnordered = ordered !== raw && [...raw.day.subarray(1, raw.length)].some((day, index) => day < (raw.day[index] as number))
  return [
    ...(repeated > 0
      ? [`${repeated} ${repeated === 1 ? 'candle repeats a day' : 'candles repeat a day'}: the last one in the file is shown`]
      : []),
    ...(isUnordered ? ['the days were not in order'] : []),
    ...(impossible > 0 ? [`${impossible} impossible ${impossible === 1 ? 'candle is' : 'candles are'} left out`] : []),
  ]
}

/** The candles as columns for a chart. */
export const toCandlesAnswer = (
  shown: ShownCandles,
  { isAdjusted, about }: { readonly isAdjusted: boolean; readonly about: About },
): CandlesAnswer => {
  const candles = isAdjusted ? shown.adjusted : shown.stored
  const column = (values: Float64Array): readonly number[] => Array.from(values.subarray(0, candles.length), round)
  const days = Array.from(candles.day.subarray(0, candles.length), numberToDay)
  const last = days.at(-1)
  return {
    // Candles are about their newest day, not about the day of the run.
    about: last === undefined ? about : { ...about, day: last },
    days,
    open: column(candles.open),
    high: column(candles.high),
    low: column(candles.low),
    close: column(candles.close),
    volume: column(candles.volume),
    isAdjusted: shown.adjusted !== shown.stored,
    cleaned: [...shown.cleaned, ...(shown.fault === undefined ? [] : [`the file is damaged: ${shown.fault}`])],
  }
}

/** Six digits after the point are more than any price has; divided prices have more, which only cost space. */
const round = (value: number): number => Math.round(value * 1e6) / 1e6

const USUAL_SESSIONS = 20

/** The newest candle and the prices around it; undefined without candles. */
export const describePrice = (candles: CandleArrays, about: About): PriceFacts | undefined => {
  const { length, day, high, low, close, volume } = candles
  const last = length - 1
  const [newest, before] = [close[last], close[last - 1]]
  if (length === 0 || newest === undefined) return undefined
  const days = day.subarray(0, length)
  const from = findLastBefore(days, (day[last] as number) - DAYS_OF_52_WEEKS) + 1
  const yearAgo = findLastBefore(days, dayToNumber(addMonths(numberToDay(day[last] as number), -12)) + 1)
  const usual = average(volume.subarray(Math.max(0, last - USUAL_SESSIONS), last))
  const bases = [...RETURNS.map(([name, sessions]) => [name.toUpperCase(), last - sessions] as const), ['1Y', yearAgo] as const]
  const returns = bases.flatMap(([name, index]) => {
    const base = close[index]
    return base !== undefined && base > 0 ? [[name, 100 * (newest / base - 1)] as const] : []
  })
  return {
    about: { ...about, day: numberToDay(day[last] as number) },
    day: numberToDay(day[last] as number),
    close: newest,
    ...(last > 0 && before !== undefined && before > 0 ? { changePct: 100 * (newest / before - 1) } : {}),
    volume: volume[last] as number,
    ...(last >= USUAL_SESSIONS && usual > 0 ? { volumeTimes: (volume[last] as number) / usual } : {}),
    high52: Math.max(...high.subarray(from, length)),
    low52: Math.min(...low.subarray(from, length)),
    sessions: length,
    firstDay: numberToDay(day[0] as number),
    returns: Object.fromEntries(returns),
  }
}

/** The index of the last candle before a day; -1 without one. */
const findLastBefore = (days: Int32Array, day: number): number => days.findLastIndex((one) => one < day)

const average = (values: Float64Array): number => values.reduce((sum, value) => sum + value, 0) / values.length
