import { type CandleColumns, dayOfNumber, type Series } from './candle-columns.js'
import type { Finding } from './finding.js'

/** The candles of a series as later checks need them, and what was wrong with their days. */
export interface DaysInOrder {
  readonly findings: readonly Finding[]
  /** Ascending by day, each day once. Nothing where two series are mixed up, of which nothing more can be said. */
  readonly candles?: CandleColumns
}

/** Closes of one day that are further apart are not two revisions of one candle. */
const TWO_PRICES = 0.05
/** So many days at two prices are no accident. */
const FEWEST_AT_TWO_PRICES = 3

/**
 * Finds days that are there twice, and candles before older ones. Where a day is there twice at two different prices, again and again, the
 * file holds two series: a provider that goes on with a symbol after a rename, or that gave it away again, was seen to answer both.
 */
export const daysInOrder = ({ symbol, file, candles }: Series): DaysInOrder => {
  if (isAscending(candles)) return { findings: [], candles }
  const { day, close } = candles
  const lastOf = new Map<number, number>()
  const twice: number[] = []
  let atTwoPrices: readonly [earlier: number, later: number][] = []
  let unordered: number | undefined
  let newest = 0
  for (let place = 0; place < candles.length; place += 1) {
    const today = day[place] as number
    const earlier = lastOf.get(today)
    if (earlier !== undefined) {
      twice.push(today)
      if (areApart(close[earlier] as number, close[place] as number)) atTwoPrices = [...atTwoPrices, [earlier, place]]
    } else if (today < newest) unordered ??= place
    lastOf.set(today, place)
    newest = Math.max(newest, today)
  }
  const [example] = atTwoPrices
  if (example !== undefined && atTwoPrices.length >= FEWEST_AT_TWO_PRICES && atTwoPrices.length * 2 >= twice.length) {
    const [one, other] = example
    const on = dayOfNumber(day[one] as number)
    const detail = `${atTwoPrices.length} days are there at two prices, such as ${on} at ${close[one]} and at ${close[other]}`
    return { findings: [{ check: 'spliced-series', severity: 'error', symbol, day: on, file, detail }] }
  }
  return {
    findings: [
      ...(twice.length === 0 ? [] : [duplicates(twice, { symbol, file })]),
      ...(unordered === undefined ? [] : [outOfOrder(day, unordered, { symbol, file })]),
    ],
    candles: sorted(
      candles,
      [...lastOf].sort(([one], [other]) => one - other).map(([, place]) => place),
    ),
  }
}

const isAscending = ({ day, length }: CandleColumns): boolean => {
  for (let place = 1; place < length; place += 1) if ((day[place] as number) <= (day[place - 1] as number)) return false
  return true
}

const areApart = (one: number, other: number): boolean => Math.abs(one - other) > TWO_PRICES * Math.min(Math.abs(one), Math.abs(other))

const duplicates = (twice: readonly number[], of: Pick<Series, 'symbol' | 'file'>): Finding => {
  const day = dayOfNumber(Math.min(...new Set(twice)))
  const detail =
    twice.length === 1 ? `${day} is there twice` : `${twice.length} candles are of days that are there already, the first of ${day}`
  return { check: 'duplicate-candles', severity: 'error', ...of, day, detail }
}

const outOfOrder = (days: Int32Array, place: number, of: Pick<Series, 'symbol' | 'file'>): Finding => {
  const [before, day] = [dayOfNumber(days[place - 1] as number), dayOfNumber(days[place] as number)]
  return { check: 'unordered-candles', severity: 'error', ...of, day, detail: `${day} follows ${before}` }
}

const sorted = (candles: CandleColumns, places: readonly number[]): CandleColumns => {
  const column = (values: Float64Array): Float64Array => Float64Array.from(places, (place) => values[place] as number)
  return {
    length: places.length,
    day: Int32Array.from(places, (place) => candles.day[place] as number),
    open: column(candles.open),
    high: column(candles.high),
    low: column(candles.low),
    close: column(candles.close),
    volume: column(candles.volume),
  }
}
