import type { Candle } from '../model/candle.js'
import { thresholds } from './never-worse.js'

/** How an answered history compares with the stored one, by their closes. */
export interface SeriesComparison {
  /** The median ratio of answered to stored closes; 1 if no day is in both. */
  readonly factor: number
  /** Close-to-close moves that are in both series. */
  readonly moves: number
  /** How many of these moves are equal. A factor does not change them, not even one that applies up to some day only. */
  readonly same: number
}

const INDIA_OFFSET_SECONDS = 19_800
/** The day of a candle in days since 1970 in India, whatever hour its timestamp has. */
export const epochToDayNumber = (time: number): number => Math.floor((time + INDIA_OFFSET_SECONDS) / 86_400)

/** Rupees. Prices are rounded to paise before and after the multiplication. */
const ROUNDING_RUPEES = 0.006
/** Smaller moves may agree by chance. */
const MIN_MOVE = 0.003
const TOLERANCE = 0.001

/** Compares stored closes, by day number, with an answered history, which must ascend. */
export const compareSeries = (stored: ReadonlyMap<number, number>, answered: Iterable<Candle>): SeriesComparison => {
  const factors: number[] = []
  let [moves, same, before, beforeNow] = [0, 0, 0, 0]
  for (const [time, , , , now] of answered) {
    const close = stored.get(epochToDayNumber(time))
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
  return { factor: median(factors), moves, same }
}

const median = (values: readonly number[]): number => Float64Array.from(values).sort()[values.length >> 1] ?? 1

const { minMoves, share } = thresholds.identity

/** Whether two histories are of different instruments; false if there are too few moves to decide. */
export const isOtherInstrument = ({ moves, same }: SeriesComparison): boolean => moves >= minMoves && same < moves * share

const { up, down, same: near } = thresholds.rescale

/** Whether the prices were multiplied. */
export const isMultiple = (factor: number): boolean => Math.abs(factor - 1) > near

/** Whether no corporate action can explain the factor. */
export const isErrorFactor = (factor: number): boolean => factor >= up || factor <= down
