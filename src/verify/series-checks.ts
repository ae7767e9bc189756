import { type CandleArrays, numberToDay } from '../market/candle-file.js'
import { formatNumber, formatQuantity, groupDigits } from '../model/format.js'
import { median } from '../model/map.js'
import { keepLastOfDays, ofSeries, type ParsedCandles, type SeriesFile } from './candle-series.js'
import type { Finding } from './finding.js'
import { findConstantFactor, findPriceMoves, formatFactor, type MoveFacts } from './price-moves.js'

type SeriesFacts = Omit<MoveFacts, 'impossibleDays'> & { readonly isStock: boolean }

/**
 * The checks of one candle file alone. Indices are checked for impossible candles only: they may move freely.
 */
export const checkSeries = (
  of: SeriesFile,
  { candles: all, fault }: ParsedCandles,
  { isStock, ...facts }: SeriesFacts,
) => {
  const { findings, candles } = orderDays(all)
  const impossible = findImpossibleCandles(all)
  const checked = isStock ? candles : undefined
  const moves = checked ? findPriceMoves(checked, { ...facts, impossibleDays: impossible.days }) : []
  const others = checked
    ? [...findOddVolumes(checked), ...findRepeatedCandles(checked), ...findReshapedCandles(checked)]
    : []
  const faults: readonly Finding[] =
    fault === undefined ? [] : [{ check: 'files', severity: 'error', detail: fault }]
  return {
    findings: ofSeries(of, [...faults, ...findings, ...impossible.findings, ...moves, ...others]),
    moves,
    /** In order, each day once; absent if the file mixes two series. */
    candles,
  }
}

/** Closes of one day that differ by more than this share are not two revisions of one candle. */
const TWO_PRICES = 0.05
/** Fewer days at two prices may be an accident. */
const MIN_DAYS_AT_TWO_PRICES = 3

/** Two prices of one stock on a day are at the factor of an action, but for rounding. */
const ROUNDED_FACTOR = 0.03

/**
 * Finds duplicate days, and candles that precede older ones. If several days appear twice at different
 * prices, the file mixes two series: adjusted and unadjusted prices at one factor, or two stocks after a
 * provider renamed or reassigned a symbol.
 */
export const orderDays = (
  all: CandleArrays,
): { readonly findings: readonly Finding[]; readonly candles?: CandleArrays } => {
  const candles = keepLastOfDays(all)
  if (candles === all) return { findings: [], candles }
  const { day, close } = all
  const lastOf = new Map<number, number>()
  const twice: number[] = []
  const atTwoPrices: (readonly [day: number, earlier: number, later: number])[] = []
  const unordered: number[] = []
  let newest = 0
  for (let index = 0; index < all.length; index += 1) {
    const today = day[index] as number
    const earlier = lastOf.get(today)
    if (earlier !== undefined) {
      twice.push(today)
      const [one, other] = [close[earlier] as number, close[index] as number]
      if (Math.abs(one - other) > TWO_PRICES * Math.min(Math.abs(one), Math.abs(other)))
        atTwoPrices.push([today, one, other])
    } else if (today < newest) unordered.push(index)
    lastOf.set(today, index)
    newest = Math.max(newest, today)
  }
  if (atTwoPrices.length >= MIN_DAYS_AT_TWO_PRICES && atTwoPrices.length * 2 >= twice.length)
    return { findings: [describeTwoPrices(atTwoPrices)] }
  const findings: Finding[] = []
  if (twice.length > 0) {
    const on = numberToDay(twice.reduce((one, other) => Math.max(one, other)))
    const detail =
      twice.length === 1
        ? `${on} appears twice`
        : `${formatNumber(twice.length)} candles repeat a day, the newest one ${on}`
    findings.push({ check: 'duplicate-candles', severity: 'error', day: on, detail })
  }
  const [first] = unordered
  if (first !== undefined) {
    const on = numberToDay(day[first] as number)
    findings.push({
      check: 'unordered-candles',
      severity: 'error',
      day: on,
      detail: `${on} follows ${numberToDay(day[first - 1] as number)}`,
    })
  }
  return { findings, candles }
}

const describeTwoPrices = (
  all: readonly (readonly [day: number, earlier: number, later: number])[],
): Finding => {
  const [number = 0, one = 0, other = 0] = all[0] ?? []
  const day = numberToDay(number)
  const text = `${formatQuantity(all.length, 'day has', 'days have')} two prices, such as ${day} with ${groupDigits(one)} and ${groupDigits(other)}`
  const factors = all.map(([, earlier, later]) => Math.max(earlier / later, later / earlier))
  const factor = findConstantFactor(factors, ROUNDED_FACTOR)
  return factor === undefined
    ? { check: 'spliced-series', severity: 'error', day, detail: text }
    : {
        check: 'unadjusted-actions',
        severity: 'error',
        day,
        detail: `${text}, at a constant factor of ${formatFactor(factor)}`,
      }
}

const countEarlier = (count: number): string =>
  count === 1 ? '' : `, and ${formatNumber(count - 1)} earlier`

/** The share by which rounding to four digits may change a price. */
const ROUNDING_SHARE = 1e-4

/** Finds impossible candles and their day numbers; one finding per file, about the newest of them. */
export const findImpossibleCandles = (candles: CandleArrays) => {
  const { day, open, high, low, close, length } = candles
  const days = new Set<number>()
  let [count, newest, fault] = [0, -1, '']
  for (let index = 0; index < length; index += 1) {
    const found = describeImpossible(candles, index)
    if (found === undefined) continue
    count += 1
    days.add(day[index] as number)
    if (newest < 0 || (day[index] as number) > (day[newest] as number)) [newest, fault] = [index, found]
  }
  if (newest < 0) return { findings: [], days }
  const on = numberToDay(day[newest] as number)
  const prices = Object.entries({ open, high, low, close }).map(
    ([name, values]) => `${name} ${groupDigits(values[newest] as number)}`,
  )
  const detail = `${fault} on ${on} (${prices.join(', ')})${countEarlier(count)}`
  return {
    findings: [{ check: 'impossible-candles', severity: 'error', day: on, detail } satisfies Finding],
    days,
  }
}

/** What is wrong with a candle; undefined if it is possible. */
const describeImpossible = (candles: CandleArrays, index: number): string | undefined => {
  const [open, close, volume] = [
    candles.open[index] as number,
    candles.close[index] as number,
    candles.volume[index] as number,
  ]
  const [high, low] = [candles.high[index] as number, candles.low[index] as number]
  if (Math.min(open, high, low, close) <= 0) return 'a price of 0 or less'
  if (high < low) return 'the high is below the low'
  if (volume < 0 || !Number.isSafeInteger(volume))
    return `a volume of ${groupDigits(volume)}, which is no number of shares,`
  if (high > Number.MAX_SAFE_INTEGER) return 'a price that is too large'
  const [most, least] = [high * (1 + ROUNDING_SHARE), low * (1 - ROUNDING_SHARE)]
  if (Math.max(open, close) <= most && Math.min(open, close) >= least) return undefined
  return close > high || close < low
    ? 'the close is outside of high and low'
    : 'the open is outside of high and low'
}

/** The candles before a finding, or after it, that show what is usual. */
const AROUND = 30
const MIN_AROUND = 20
/** Rupees. The volumes of stocks with less trade may be anything. */
const MIN_VALUE = 100_000
/** This share of the candles before has a volume, if one without is a fault. */
const TRADED_SHARE = 0.8
/**
 * A volume in another unit: a thousandfold of one that may be a third of the median. The greatest block deals
 * stay below.
 */
const TIMES_MEDIAN = 300
const TIMES_GREATEST = 20

/** Consecutive candles of one kind, from the index of the first to before `end`. */
interface EqualRun {
  readonly start: number
  readonly end: number
}

const describeShape = ({ day }: CandleArrays, { start, end }: EqualRun): string => {
  const [from, to] = [start, end - 1].map((index) => numberToDay(day[index] as number))
  return end - start === 1
    ? `on ${from}`
    : `on each of ${formatNumber(end - start)} sessions from ${from} to ${to}`
}

/**
 * Finds candles without volume, and with a thousandfold one, of stocks that traded regularly before. Several
 * in a row are one run, which is compared with the time before it: a stock that stands still would be its own
 * neighborhood. One finding per file and kind, about the newest.
 */
const findOddVolumes = (candles: CandleArrays): readonly Finding[] => {
  const { day, close, volume, length } = candles
  const [zero, great]: [EqualRun[], EqualRun[]] = [[], []]
  for (let start = 0; start < length; start += 1) {
    const own = volume[start] as number
    const isZero = own === 0
    if (!isZero && own <= TIMES_GREATEST * (volume[start - 1] ?? 0)) continue
    const least = own / TIMES_GREATEST
    let end = start + 1
    while (end < length && (isZero ? volume[end] === 0 : (volume[end] as number) > least)) end += 1
    const run = { start, end }
    const usual = getUsual(volume, run)
    const middle = median(usual)
    if (usual.length >= MIN_AROUND && middle * (close[start] as number) >= MIN_VALUE) {
      if (isZero && usual.filter((value) => value > 0).length >= TRADED_SHARE * usual.length) zero.push(run)
      if (!isZero && isGreatRun(volume, run, middle)) great.push(run)
    }
    if (isZero) start = end - 1
  }
  const create = (runs: readonly EqualRun[], what: (start: number) => string): readonly Finding[] => {
    const newest = runs.at(-1)
    if (newest === undefined) return []
    const detail = `${what(newest.start)} ${describeShape(candles, newest)}${countEarlier(runs.length)}`
    const from = numberToDay(day[newest.start] as number)
    return [{ check: 'volumes', severity: 'warning', day: from, detail }]
  }
  return [
    ...create(zero, () => 'a volume of 0'),
    ...create(great, (start) => {
      const own = volume[start] as number
      const usual = median(getUsual(volume, great.at(-1) as EqualRun))
      return `a volume of ${groupDigits(own)}, ${formatFactor(own / usual)} times the usual one,`
    }),
  ]
}

const getAfter = (volume: Float64Array, { end }: EqualRun): Float64Array => volume.subarray(end, end + AROUND)

/** The volumes before a run; with those after it if the series has just begun. */
const getUsual = (volume: Float64Array, run: EqualRun): readonly number[] => {
  const before = volume.subarray(Math.max(0, run.start - AROUND), run.start)
  return [...before, ...(before.length < MIN_AROUND ? getAfter(volume, run) : [])]
}

/** Whether all volumes of a run are far beyond those before it and after it. A longer one is a new level. */
const isGreatRun = (volume: Float64Array, run: EqualRun, middle: number): boolean => {
  const least = Math.min(...volume.subarray(run.start, run.end))
  const greatest = Math.max(...getUsual(volume, run), ...getAfter(volume, run))
  return run.end - run.start <= AROUND && least >= TIMES_MEDIAN * middle && least >= TIMES_GREATEST * greatest
}

/** So many candles in a row that repeat those at a distance of up to a week are copies. */
const MIN_REPEATED = 4
const MAX_DISTANCE = 6
/** Rupees. A close of so many ticks does not stay the same for a week. */
const MIN_STEADY_CLOSE = 100

/**
 * Finds candles that repeat earlier ones: a price that stands still, or a week that was copied. One finding
 * per file, about the newest.
 */
const findRepeatedCandles = (candles: CandleArrays): readonly Finding[] => {
  for (let distance = 1; distance <= MAX_DISTANCE; distance += 1) {
    let [run, length, end] = [0, 0, 0]
    for (let index = distance; index < candles.length; index += 1) {
      run = isRepeated(candles, index, distance) ? run + 1 : 0
      if (run >= MIN_REPEATED) [length, end] = [run, index]
    }
    if (length === 0) continue
    const first = numberToDay(candles.day[end - length + (distance === 1 ? 0 : 1)] as number)
    const day = numberToDay(candles.day[end] as number)
    const detail =
      distance === 1
        ? `the close is ${groupDigits(candles.close[end] as number)} on each of ${length + 1} sessions from ${first} to ${day}`
        : `the ${formatNumber(length)} candles from ${first} to ${day} repeat those of ${distance} sessions before`
    return [{ check: 'repeated-candles', severity: 'error', day: first, detail }]
  }
  return []
}

const isRepeated = ({ high, low, close, volume }: CandleArrays, index: number, distance: number): boolean => {
  const [price, shares] = [close[index] as number, volume[index] as number]
  if (price !== close[index - distance] || price * shares < MIN_VALUE) return false
  return (
    shares === volume[index - distance] ||
    (distance === 1 && price >= MIN_STEADY_CLOSE && high[index] !== low[index])
  )
}

/** Rupees. Cheaper stocks move by few ticks, and a tick of dearer ones may be a rupee. */
const [MIN_SHAPED_PRICE, MAX_SHAPED_PRICE] = [20, 5_000]
/** Rupees. Stocks with fewer trades may open and close at the ends of their range. */
const MIN_SHAPED_VALUE = 1_000_000
/** Listed stocks have up to 9 such candles in a row. */
const MIN_SHAPED = 15
const EXCHANGED_CANDLES = 60
/** From close to open is less than from open to next close: elsewhere the sums are at a factor above 0.7. */
const EXCHANGED_SHARE = 0.6
const MAX_MOVE_SHARE = 0.05

/**
 * Finds candles of which each may be, and not all in a row: with prices rounded to rupees, with high and low
 * cut to open and close, or with open and close exchanged. One finding per file and kind, about the newest.
 */
const findReshapedCandles = (candles: CandleArrays): readonly Finding[] => {
  const { day, open, high, low, close, volume, length } = candles
  const getMove = (from = 0, to = 0): number => Math.min(MAX_MOVE_SHARE, Math.abs(to / from - 1))
  const excess = new Float64Array(Math.floor(length / EXCHANGED_CANDLES))
  const getPlace = (index: number): number => Math.floor(index / EXCHANGED_CANDLES)
  for (let index = 1; index < length; index += 1)
    (excess[getPlace(index)] as number) +=
      EXCHANGED_SHARE * getMove(close[index - 1], open[index]) - getMove(open[index - 1], close[index])
  return CANDLE_SHAPES.flatMap(([what, fits]): readonly Finding[] => {
    let [start, run]: [number, EqualRun | undefined] = [0, undefined]
    for (let end = 0; end <= length; end += 1) {
      const last = close[end] as number
      const isUsual =
        end < length &&
        last >= MIN_SHAPED_PRICE &&
        last <= MAX_SHAPED_PRICE &&
        last * (volume[end] as number) >= MIN_SHAPED_VALUE
      if (
        isUsual &&
        fits(open[end] as number, high[end] as number, low[end] as number, last, excess[getPlace(end)])
      )
        continue
      if (end - start >= MIN_SHAPED) run = { start, end }
      start = end + 1
    }
    if (run === undefined) return []
    const from = numberToDay(day[run.start] as number)
    const detail = `${what} ${describeShape(candles, run)}`
    return [{ check: 'impossible-candles', severity: 'warning', day: from, detail }]
  })
}

/** `excess` is above 0 where from open to next close is less than from close to open. */
const CANDLE_SHAPES: readonly (readonly [
  what: string,
  fits: (open: number, high: number, low: number, close: number, excess?: number) => boolean,
])[] = [
  [
    'prices in whole rupees',
    (open, high, low, close) => (open % 1) + (high % 1) + (low % 1) + (close % 1) === 0,
  ],
  [
    'no price above or below both open and close',
    (open, high, low, close) =>
      open !== close && high === Math.max(open, close) && low === Math.min(open, close),
  ],
  ['open and close as if they were exchanged', (_open, _high, _low, _close, excess = 0) => excess > 0],
]

const VALUE_CANDLES = 60

/** The median traded value of the newest candles, in rupees, before it stood still without a trade. */
export const measureTradedValue = ({ close, volume, length: all }: CandleArrays): number => {
  const length = volume.subarray(0, all).findLastIndex((shares) => shares > 0) + 1
  const first = Math.max(0, length - VALUE_CANDLES)
  return median(close.slice(first, length).map((price, index) => price * (volume[first + index] as number)))
}
