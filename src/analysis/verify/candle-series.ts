import { type CandleArrays, numberToDay, readCandleFile } from '../../market/candle-file.js'
import { findConstantFactor, formatFactor } from './constant-factor.js'
import type { Finding } from './finding.js'

/** The candles of one stock or index, with their file. */
export interface CandleSeries {
  readonly symbol: string
  readonly file: string
  readonly candles: CandleArrays
}

export interface ParsedCandles {
  readonly candles: CandleArrays
  /** The first defect of the file, such as a line that is no candle. The other lines are read anyway. */
  readonly fault?: string
}

/** Reads a candle file; nothing of it if it lacks the header. */
export const parseCandles = (bytes: Buffer): ParsedCandles => {
  const { candles, hasHeader, badLine, isTruncated } = readCandleFile(bytes)
  if (!hasHeader) return { candles: { ...candles, length: 0 }, fault: 'its first line is not the header' }
  if (badLine) return { candles, fault: `line ${badLine.number} is no candle` }
  return isTruncated ? { candles, fault: 'its last line is truncated' } : { candles }
}

/** The candles of a series in order, with the findings about their days. */
export interface OrderedCandles {
  readonly findings: readonly Finding[]
  /** Ascending by day, each day once. Absent if the file mixes two series: no other check applies then. */
  readonly candles?: CandleArrays
}

/** Closes of one day that differ by more than this share are not two revisions of one candle. */
const TWO_PRICES = 0.05
/** Fewer days at two prices may be an accident. */
const MIN_DAYS_AT_TWO_PRICES = 3

/** Two prices of one stock on a day are at the factor of an action, but for rounding. */
const SAME_FACTOR = 0.03

const readFactor = (close: Float64Array, [one, other]: readonly [number, number]): number => {
  const ratio = (close[other] as number) / (close[one] as number)
  return Math.max(ratio, 1 / ratio)
}

/**
 * Finds duplicate days, and candles that precede older ones. If several days appear twice at different prices, the file mixes two series:
 * adjusted and unadjusted prices at one factor, or two stocks after a provider renamed or reassigned a symbol.
 */
export const orderDays = ({ symbol, file, candles }: CandleSeries): OrderedCandles => {
  if (isAscending(candles)) return { findings: [], candles }
  const { day, close } = candles
  const lastOf = new Map<number, number>()
  const twice: number[] = []
  const atTwoPrices: (readonly [earlier: number, later: number])[] = []
  let unordered: number | undefined
  let newest = 0
  for (let index = 0; index < candles.length; index += 1) {
    const today = day[index] as number
    const earlier = lastOf.get(today)
    if (earlier !== undefined) {
      twice.push(today)
      if (isFarApart(close[earlier] as number, close[index] as number)) atTwoPrices.push([earlier, index])
    } else if (today < newest) unordered ??= index
    lastOf.set(today, index)
    newest = Math.max(newest, today)
  }
  const [example] = atTwoPrices
  if (example !== undefined && atTwoPrices.length >= MIN_DAYS_AT_TWO_PRICES && atTwoPrices.length * 2 >= twice.length) {
    const [one, other] = example
    const on = numberToDay(day[one] as number)
    const text = `${atTwoPrices.length} days have two prices, such as ${on} with ${close[one]} and ${close[other]}`
    const factor = findConstantFactor(
      atTwoPrices.map((pair) => readFactor(close, pair)),
      SAME_FACTOR,
    )
    const of = { severity: 'error', symbol, day: on, file } as const
    return factor === undefined
      ? { findings: [{ check: 'spliced-series', ...of, detail: text }] }
      : { findings: [{ check: 'unadjusted-actions', ...of, detail: `${text}, at a constant factor of ${formatFactor(factor)}` }] }
  }
  return {
    findings: [
      ...(twice.length === 0 ? [] : [createDuplicateFinding(twice, { symbol, file })]),
      ...(unordered === undefined ? [] : [createOrderFinding(day, unordered, { symbol, file })]),
    ],
    candles: keepLastOfDays(candles),
  }
}

const isAscending = ({ day, length }: CandleArrays): boolean => {
  for (let index = 1; index < length; index += 1) if ((day[index] as number) <= (day[index - 1] as number)) return false
  return true
}

const isFarApart = (one: number, other: number): boolean => Math.abs(one - other) > TWO_PRICES * Math.min(Math.abs(one), Math.abs(other))

const createDuplicateFinding = (twice: readonly number[], of: Pick<CandleSeries, 'symbol' | 'file'>): Finding => {
  const day = numberToDay(Math.max(...new Set(twice)))
  const detail = twice.length === 1 ? `${day} appears twice` : `${twice.length} candles repeat a day, the newest one ${day}`
  return { check: 'duplicate-candles', severity: 'error', ...of, day, detail }
}

const createOrderFinding = (days: Int32Array, index: number, of: Pick<CandleSeries, 'symbol' | 'file'>): Finding => {
  const [before, day] = [numberToDay(days[index - 1] as number), numberToDay(days[index] as number)]
  return { check: 'unordered-candles', severity: 'error', ...of, day, detail: `${day} follows ${before}` }
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

/** The candles at some indices. */
export const pickCandles = (candles: CandleArrays, indices: readonly number[]): CandleArrays => {
  const column = (values: Float64Array): Float64Array => Float64Array.from(indices, (index) => values[index] as number)
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

/** The newest candles of a series, and the close of a year before. */
export interface RecentCandles {
  readonly candles: CandleArrays
  readonly yearAgo: number | undefined
  /** Of a year. */
  readonly days: Int32Array
  readonly closes: Float64Array
}

const RECENT_CANDLES = 30
const YEAR_CANDLES = 251
/** Days. */
const YEAR = 365

export const getRecent = (candles: CandleArrays): RecentCandles => {
  const { day, close, length } = candles
  const count = Math.min(length, RECENT_CANDLES)
  const yearAgo = day.subarray(0, length).findLastIndex((one) => one <= (day[length - 1] as number) - YEAR)
  const indices = Array.from({ length: count }, (_, index) => length - count + index)
  const start = Math.max(0, length - YEAR_CANDLES)
  return {
    candles: pickCandles(candles, indices),
    yearAgo: close[yearAgo],
    days: day.slice(start, length),
    closes: close.slice(start, length),
  }
}
