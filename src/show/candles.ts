import { join } from 'node:path'
import { type CandleArrays, numberToDay } from '../market/candle-file.js'
import { formatQuantity } from '../model/format.js'
import { addDays, type Day } from '../model/trading-day.js'
import { disk } from '../storage/disk.js'
import { ignoreMissing } from '../storage/file-system.js'
import { keepLastOfDays, parseCandles, pickCandles } from '../verify/candle-series.js'
import { findImpossibleCandles } from '../verify/series-checks.js'
import type { About, CandlesAnswer } from './answers.js'
import type { DataSource } from './folder.js'
import { listOf } from './tables.js'

export type ShownCandles = Awaited<ReturnType<typeof readShownCandles>>

/**
 * Reads a candle file of a stock or an index, up to the day of the folder. A chart needs ascending days and
 * possible prices: other candles are left out, and named.
 */
export const readShownCandles = async ({ root, day }: Pick<DataSource, 'root' | 'day'>, file: string) => {
  const bytes = (await disk.readFile(join(root, file)).catch(ignoreMissing)) ?? Buffer.alloc(0)
  const { candles, fault } = parseCandles(bytes)
  const raw = day === undefined ? candles : pickCandles(candles, upTo(candles, day))
  const ordered = keepLastOfDays(raw)
  const { days: impossible } = findImpossibleCandles(ordered)
  const indices = [...ordered.day.subarray(0, ordered.length).keys()].filter(
    (index) => !impossible.has(ordered.day[index] as number),
  )
  return {
    /** Ascending by day, each day once, without impossible ones, as stored. */
    stored: impossible.size === 0 ? ordered : pickCandles(ordered, indices),
    cleaned: describeCleaning(raw, ordered, impossible.size),
    /** As in the file, for the checks; `fault` is its first defect. */
    raw,
    fault,
  }
}

const upTo = ({ day: days, length }: CandleArrays, day: Day): readonly number[] =>
  [...days.subarray(0, length).keys()].filter((index) => numberToDay(days[index] as number) <= day)

const describeCleaning = (
  raw: CandleArrays,
  ordered: CandleArrays,
  impossible: number,
): readonly string[] => {
  const repeated = raw.length - ordered.length
  const isUnordered =
    ordered !== raw &&
    [...raw.day.subarray(1, raw.length)].some((day, index) => day < (raw.day[index] as number))
  return [
    ...(repeated > 0
      ? [
          `${formatQuantity(repeated, 'candle repeats a day', 'candles repeat a day')}: the last one in the file is shown`,
        ]
      : []),
    ...(isUnordered ? ['the days were not in order'] : []),
    ...(impossible > 0
      ? [`${formatQuantity(impossible, 'impossible candle is', 'impossible candles are')} left out`]
      : []),
  ]
}

/**
 * The factors by which the view `candles_adjusted` divides stored prices, each with the last day that it
 * counts for; oldest first.
 */
export type Factors = readonly { readonly until: string; readonly factor: number }[]

interface DayAverages {
  readonly day: string
  readonly values: readonly (number | undefined)[]
}

/** The averages of a stock in the view `candle_averages`, or of an index in `index_averages`. */
export const averagesOf = (view: string, own: string) =>
  listOf<DayAverages>(`SELECT day, [sma_50_inr, sma_200_inr] AS values FROM ${view} WHERE ${own}`, 'r.day')

export interface ChartWishes {
  /** Whether prices are as stored, not adjusted for splits and bonuses. */
  readonly isStored?: boolean
  /** Whether the candles of a week are one, on its last session. */
  readonly isWeekly?: boolean
}

export const toCandlesAnswer = (
  { stored, cleaned, fault }: ShownCandles,
  {
    about,
    factors = [],
    averages = [],
    isStored = false,
    isWeekly = false,
  }: ChartWishes & {
    readonly about: About
    readonly factors?: Factors
    readonly averages?: readonly DayAverages[]
  },
): CandlesAnswer => {
  const days = Array.from(stored.day.subarray(0, stored.length), numberToDay)
  const factorOf = (day: string) => factors.find(({ until }) => day <= until)?.factor ?? 1
  const divisors = days.map((day) => (isStored ? 1 : factorOf(day)))
  const known = new Map(averages.map(({ day, values }) => [day, values]))
  const divide = (values: Float64Array): readonly number[] =>
    divisors.map((factor, index) => roundPrice((values[index] as number) / factor))
  const daily: ChartColumns = {
    days,
    open: divide(stored.open),
    high: divide(stored.high),
    low: divide(stored.low),
    close: divide(stored.close),
    volume: divisors.map((factor, index) => roundPrice((stored.volume[index] as number) * factor)),
  }
  const columns = isWeekly ? toWeeks(daily) : daily
  const last = days.at(-1)
  return {
    // Candles are about their newest day, not about the day of the run.
    about: last === undefined ? about : { ...about, day: last },
    ...columns,
    averages: [50, 200].map((length, place) => ({
      length,
      values: columns.days.map((day) => {
        const value = known.get(day)?.[place]
        return value === undefined ? null : roundPrice(value * (isStored ? factorOf(day) : 1))
      }),
    })),
    isAdjusted: factors.length > 0,
    cleaned: [...cleaned, ...(fault === undefined ? [] : [`the file is damaged: ${fault}`])],
  }
}

type ChartColumns = Pick<CandlesAnswer, 'days' | 'weeks' | 'open' | 'high' | 'low' | 'close' | 'volume'>

/** The candles of each week as one, on its last session. */
const toWeeks = ({ days, open, high, low, close, volume }: ChartColumns): ChartColumns => {
  const fridays = days.map((day) => addDays(day as Day, 4 - ((new Date(day).getUTCDay() + 6) % 7)))
  const starts = [...fridays.keys()].filter((index) => fridays[index] !== fridays[index - 1])
  const weeks = starts.map((from, place) => [from, starts[place + 1] ?? days.length] as const)
  const each = (values: readonly number[], read: (week: readonly number[]) => number): readonly number[] =>
    weeks.map(([from, to]) => read(values.slice(from, to)))
  return {
    days: weeks.map(([, to]) => days[to - 1] as string),
    weeks: weeks.map(([from]) => fridays[from] as string),
    open: weeks.map(([from]) => open[from] as number),
    high: each(high, (week) => Math.max(...week)),
    low: each(low, (week) => Math.min(...week)),
    close: weeks.map(([, to]) => close[to - 1] as number),
    volume: each(volume, (week) => roundPrice(week.reduce((sum, one) => sum + one, 0))),
  }
}

/**
 * Six digits after the point are more than any price has; divided prices have more, which only cost space.
 */
const roundPrice = (value: number): number => Math.round(value * 1e6) / 1e6
