import { type CandleArrays, numberToDay } from '../../market/candle-file.js'
import type { CandleSeries } from './candle-series.js'
import { formatFactor, median } from './constant-factor.js'
import type { Finding } from './finding.js'

/** The share by which rounding to four digits may change a price. */
const ROUNDING_SHARE = 1e-4

export interface ImpossibleCandles {
  readonly findings: readonly Finding[]
  /** Day numbers. */
  readonly days: ReadonlySet<number>
}

/** Finds impossible candles; one finding per file, about the newest of them. */
export const findImpossibleCandles = ({ symbol, file, candles }: CandleSeries): ImpossibleCandles => {
  const { day, open, high, low, close, volume, length } = candles
  const days = new Set<number>()
  let [count, newest] = [0, -1]
  for (let index = 0; index < length; index += 1) {
    const [top, bottom] = [high[index] as number, low[index] as number]
    const [start, end] = [open[index] as number, close[index] as number]
    const most = top * (1 + ROUNDING_SHARE)
    const least = bottom * (1 - ROUNDING_SHARE)
    const isPossible =
      bottom > 0 &&
      top >= bottom &&
      start <= most &&
      end <= most &&
      start >= least &&
      end >= least &&
      isVolume(volume[index] as number) &&
      top <= Number.MAX_SAFE_INTEGER
    if (isPossible) continue
    count += 1
    days.add(day[index] as number)
    if (newest < 0 || (day[index] as number) > (day[newest] as number)) newest = index
  }
  if (newest < 0) return { findings: [], days }
  const on = numberToDay(day[newest] as number)
  const [o, h, l, c, v] = [open, high, low, close, volume].map((column) => column[newest] as number) as [
    number,
    number,
    number,
    number,
    number,
  ]
  const more = count === 1 ? '' : `, and ${count - 1} earlier`
  const detail = `${describeFault(o, h, l, c, v)} on ${on} (open ${o}, high ${h}, low ${l}, close ${c})${more}`
  return { findings: [{ check: 'impossible-candles', severity: 'error', symbol, day: on, file, detail }], days }
}

const isVolume = (volume: number): boolean => volume >= 0 && Number.isSafeInteger(volume)

const describeFault = (open: number, high: number, low: number, close: number, volume: number): string => {
  if (Math.min(open, high, low, close) <= 0) return 'a price of 0 or less'
  if (high < low) return 'the high is below the low'
  if (!isVolume(volume)) return `a volume of ${volume}, which is no number of shares,`
  if (high > Number.MAX_SAFE_INTEGER) return 'a price that is too large'
  return close > high || close < low ? 'the close is outside of high and low' : 'the open is outside of high and low'
}

/** The candles around one, on each side. */
const AROUND = 30
const MIN_AROUND = 20
/** Rupees. The volumes of stocks with less trade may be anything. */
const MIN_VALUE = 100_000
/** This share of the candles around has a volume, if one without is a fault. */
const TRADED_SHARE = 0.8
/** A volume in another unit: a thousandfold of one that may be a third of the median. The greatest block deals stay below. */
const TIMES_MEDIAN = 300
const TIMES_GREATEST = 20

/** Finds candles without volume, and with a thousandfold one, of stocks that trade regularly. One finding per file and kind, about the newest. */
export const findOddVolumes = ({ symbol, file, candles }: CandleSeries): readonly Finding[] => {
  const { day, close, volume, length } = candles
  const zero: number[] = []
  const great: number[] = []
  for (let index = 0; index < length; index += 1) {
    const own = volume[index] as number
    const isZero = own === 0
    const isGreat = own > TIMES_GREATEST * (volume[index - 1] ?? 0) && own > TIMES_GREATEST * (volume[index + 1] ?? 0)
    if (!isZero && !isGreat) continue
    const around = [
      ...volume.subarray(Math.max(0, index - AROUND), index),
      ...volume.subarray(index + 1, Math.min(length, index + 1 + AROUND)),
    ]
    const middle = median(Float64Array.from(around))
    if (around.length < MIN_AROUND || middle * (close[index] as number) < MIN_VALUE) continue
    if (isZero && around.filter((value) => value > 0).length >= TRADED_SHARE * around.length) zero.push(index)
    if (isGreat && own >= TIMES_MEDIAN * middle && own >= TIMES_GREATEST * Math.max(...around)) great.push(index)
  }
  const create = (indices: readonly number[], describe: (index: number) => string): readonly Finding[] => {
    const newest = indices.at(-1)
    if (newest === undefined) return []
    const on = numberToDay(day[newest] as number)
    const more = indices.length === 1 ? '' : `, and ${indices.length - 1} earlier`
    return [{ check: 'volumes', severity: 'warning', symbol, day: on, file, detail: `${describe(newest)} on ${on}${more}` }]
  }
  return [
    ...create(zero, () => 'a volume of 0'),
    ...create(great, (index) => {
      const around = volume.slice(Math.max(0, index - AROUND), Math.min(length, index + AROUND))
      return `a volume of ${volume[index]}, ${formatFactor((volume[index] as number) / median(around))} times the usual one,`
    }),
  ]
}

/** So many candles in a row that repeat those at a distance of up to a week are copies. */
const MIN_REPEATED = 4
const MAX_DISTANCE = 6
/** Rupees. A close of so many ticks does not stay the same for a week. */
const MIN_STEADY_CLOSE = 100

/** Finds candles that repeat earlier ones: a price that stands still, or a week that was copied. One finding per file, about the newest. */
export const findRepeatedCandles = ({ symbol, file, candles }: CandleSeries): readonly Finding[] => {
  for (let distance = 1; distance <= MAX_DISTANCE; distance += 1) {
    let [run, length, end] = [0, 0, 0]
    for (let index = distance; index < candles.length; index += 1) {
      run = isRepeated(candles, index, distance) ? run + 1 : 0
      if (run >= MIN_REPEATED) [length, end] = [run, index]
    }
    if (length === 0) continue
    const [first, day] = [end - length + (distance === 1 ? 0 : 1), end].map((index) => numberToDay(candles.day[index] as number)) as [
      string,
      string,
    ]
    const detail =
      distance === 1
        ? `the close is ${candles.close[end]} on each of ${length + 1} sessions from ${first} to ${day}`
        : `the ${length} candles from ${first} to ${day} repeat those of ${distance} sessions before`
    return [{ check: 'repeated-candles', severity: 'error', symbol, day: first, file, detail }]
  }
  return []
}

const isRepeated = ({ high, low, close, volume }: CandleArrays, index: number, distance: number): boolean => {
  const [price, shares] = [close[index] as number, volume[index] as number]
  if (price !== close[index - distance] || price * shares < MIN_VALUE) return false
  return shares === volume[index - distance] || (distance === 1 && price >= MIN_STEADY_CLOSE && high[index] !== low[index])
}

const VALUE_CANDLES = 60

/** The median traded value of the newest candles, in rupees. */
export const measureTradedValue = ({ close, volume, length }: CandleArrays): number => {
  const values: number[] = []
  for (let index = Math.max(0, length - VALUE_CANDLES); index < length; index += 1)
    values.push((close[index] as number) * (volume[index] as number))
  return median(Float64Array.from(values))
}
