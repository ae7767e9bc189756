import type { Candle, Candles } from '../model/candle.js'
import { formatThousands } from '../model/text.js'
import { toDay } from '../model/trading-day.js'
import { type CandleArrays, candleAt, DAY_SECONDS, isSameDay, toCandleDay, toDayNumber } from './candle-file.js'
import { thresholds } from './refusal-policy.js'

/** Why a candle is impossible; undefined if it is possible. */
export const findCandleFault = ([, open, high, low, close, volume]: Candle): string | undefined => {
  const prices = `open ${open}, high ${high}, low ${low}, close ${close}`
  if (![open, high, low, close, volume].every(Number.isFinite)) return `a value that is not a number: ${prices}, volume ${volume}`
  if (low <= 0) return `a price that is not above zero: ${prices}`
  if (low > Math.min(open, close) || high < Math.max(open, close)) return `open or close outside of low and high: ${prices}`
  return volume < 0 ? `volume ${volume}` : undefined
}

/**
 * Why a whole history must not be stored, although older candles are stored as served: a volume that is no number of shares, or a new day
 * with two candles.
 */
export const findHistoryFault = (candles: Candles): string | undefined => {
  const rows = [...candles]
  const negative = rows.find((candle) => candle[5] < 0)
  if (negative !== undefined) return `volume ${negative[5]} on ${toCandleDay(negative)}`
  return rows
    .slice(-thresholds.prices.newest)
    .map((candle, place, newest) => findRepeatedDay(newest[place - 1], candle))
    .find((fault) => fault !== undefined)
}

/** A text if two candles with different timestamps are of one day, else undefined. */
export const findRepeatedDay = (before: Candle | undefined, candle: Candle): string | undefined =>
  before !== undefined && before[0] < candle[0] && isSameDay(before[0], candle[0]) ? `two candles of ${toCandleDay(candle)}` : undefined

/** A move to this multiple of the previous close or more, or to this share of it or less. */
export interface MoveLimits {
  readonly rise: number
  readonly fall: number
}

/**
 * A price move beyond the limits. By default one that the market cannot make: a provider error, unless a corporate action explains it.
 * Undefined for other moves.
 */
export const findImpossibleMove = (before: Candle, candle: Candle, { rise, fall }: MoveLimits = thresholds.prices): string | undefined => {
  const { minChange, restDays } = thresholds.prices
  const close = before[4]
  if (close <= 0 || (candle[0] - before[0]) / DAY_SECONDS >= restDays) return undefined
  const isBeyond = (price: number): boolean => (price >= close * rise || price <= close * fall) && Math.abs(price - close) >= minChange
  const price = [candle[4], candle[1], candle[2], candle[3]].find(isBeyond)
  return price === undefined ? undefined : `from a close of ${close} to ${price}`
}

export type StoredHistory = ReturnType<typeof toStoredHistory>

/** The stored history of a series, as far as its file can be read. */
export const toStoredHistory = (candles: CandleArrays) => {
  /** By the number of their day. */
  const closes = new Map<number, number>()
  /** Its last candles, by the number of their day. */
  const recent = new Map<number, Candle>()
  /** Epoch seconds of its newest candle; 0 without one. */
  let newest = 0
  for (let index = 0; index < candles.length; index += 1) {
    closes.set(candles.day[index] as number, candles.close[index] as number)
    newest = Math.max(newest, candles.time[index] as number)
  }
  for (let index = Math.max(0, candles.length - thresholds.prices.newest); index < candles.length; index += 1)
    recent.set(candles.day[index] as number, candleAt(candles, index) as Candle)
  return { count: closes.size, newest, closes, recent }
}

export type SeriesComparison = ReturnType<typeof compareSeries>

/** Rupees. Prices are rounded to paise before and after the multiplication. */
const ROUNDING_RUPEES = 0.006
/** Smaller moves may agree by chance. */
const MIN_MOVE = 0.003
const TOLERANCE = 0.001

/** Compares stored closes, by day number, with an answered history, which must ascend. */
export const compareSeries = (stored: ReadonlyMap<number, number>, answered: Iterable<Candle>) => {
  const factors: number[] = []
  let [moves, same, before, beforeNow] = [0, 0, 0, 0]
  for (const [time, , , , now] of answered) {
    const close = stored.get(toDayNumber(time))
    if (close === undefined || close <= 0) continue
    factors.push(now / close)
    const noise = ROUNDING_RUPEES * (1 / before + 1 / beforeNow + 1 / close + 1 / now)
    const move = close / before
    // A price of zero makes the noise infinite, so its moves never count.
    if (Math.abs(move - 1) > Math.max(MIN_MOVE, 3 * noise)) {
      moves += 1
      if (Math.abs(now / beforeNow / move - 1) <= TOLERANCE + noise) same += 1
    }
    before = close
    beforeNow = now
  }
  // The median ratio of answered to stored closes (1 if no day is in both), the close-to-close moves that are in both series, and how many of
  // these are equal. A factor does not change them, not even one that applies up to some day only.
  return { factor: median(factors), moves, same }
}

/** The upper one of two; 1 without any: no factor. */
export const median = (values: ArrayLike<number>): number => new Float64Array(values).sort()[values.length >> 1] ?? 1

/** Whether two histories are of different instruments; false if there are too few moves to decide. */
export const isOtherInstrument = ({ moves, same }: SeriesComparison): boolean =>
  moves >= thresholds.identity.minMoves && same < moves * thresholds.identity.share

/** Whether two prices differ by more than rounding to paise (up to 2 % of a low price) or to four digits explains. */
export const isDifferentPrice = (one: number, other: number): boolean =>
  Math.abs(one - other) > Math.max(Math.min(0.011, Math.abs(one) * 0.02), Math.abs(one) * 1e-4)

/** How the first `length` candles of an answered history differ from the stored ones: in a price, or because they are not stored. */
export const describeRewriting = (stored: CandleArrays, answered: CandleArrays, length: number): string | undefined => {
  const prices = (['open', 'high', 'low', 'close'] as const).map((name) => [stored[name], answered[name]] as const)
  const changed: number[] = []
  for (let [at, index] = [0, 0]; index < length; index += 1) {
    const time = answered.time[index] as number
    while (at < stored.length && (stored.time[at] as number) < time) at += 1
    const isStored = at < stored.length && stored.time[at] === time
    if (!isStored || prices.some(([one, other]) => isDifferentPrice(one[at] as number, other[index] as number))) changed.push(time)
  }
  const counts = `${formatThousands(changed.length)} of ${formatThousands(length)} earlier candles differ`
  return changed[0] === undefined ? undefined : `${counts}, from ${toDay(changed[0] * 1_000)} on`
}

/** Whether the prices were multiplied. */
export const isMultiple = (factor: number): boolean => Math.abs(factor - 1) > thresholds.rescale.tolerance

/** Whether no corporate action can explain the factor. */
export const isErrorFactor = (factor: number): boolean =>
  factor >= thresholds.rescale.impossibleRise || factor <= thresholds.rescale.impossibleFall
