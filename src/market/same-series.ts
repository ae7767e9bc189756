import type { Candle } from '../model/candle.js'
import { thresholds } from './never-worse.js'

/** How an answered history is like the stored one, judged by their closes. */
export interface Likeness {
  /** What the stored closes are multiplied by, in the median; 1 where no day is in both. */
  readonly factor: number
  /** Moves from one close to the next that both series tell of, */
  readonly moves: number
  /** and how many of them are the same. A factor does not change them, not even one that holds up to some day only. */
  readonly same: number
}

const INDIA_SECONDS = 19_800
/** Candles are of one day whatever hour they are stamped with. */
export const dayNumberOf = (time: number): number => Math.floor((time + INDIA_SECONDS) / 86_400)

/** Prices are rounded to paise before and after they are multiplied. */
const ROUNDING = 0.006
/** Moves of less than 0.3 % may agree by chance. */
const LEAST_MOVE = 0.003
const TOLERANCE = 0.001

/** Compares closes by day number with a history, which ascends. */
export const likenessOf = (stored: ReadonlyMap<number, number>, answered: Iterable<Candle>): Likeness => {
  const factors: number[] = []
  let [moves, same, before, beforeNow] = [0, 0, 0, 0]
  for (const [time, , , , now] of answered) {
    const close = stored.get(dayNumberOf(time))
    if (close === undefined || close <= 0) continue
    factors.push(now / close)
    const noise = ROUNDING * (1 / before + 1 / beforeNow + 1 / close + 1 / now)
    const move = close / before
    // Zero makes the noise infinite, which tells nothing.
    if (Math.abs(move - 1) > Math.max(LEAST_MOVE, 3 * noise)) {
      moves += 1
      if (Math.abs(now / beforeNow / move - 1) <= TOLERANCE + noise) same += 1
    }
    before = close
    beforeNow = now
  }
  return { factor: median(factors), moves, same }
}

const median = (values: readonly number[]): number => Float64Array.from(values).sort()[values.length >> 1] ?? 1

const { leastMoves, share } = thresholds.identity

/** Whether two histories are of two instruments. Too few moves tell nothing. */
export const isAnother = ({ moves, same }: Likeness): boolean => moves >= leastMoves && same < moves * share

const { up, down, same: near } = thresholds.rescale

/** Whether prices were multiplied at all. */
export const isMultiple = (factor: number): boolean => Math.abs(factor - 1) > near

/** Whether they were multiplied as no corporate action does it. */
export const isErrorFactor = (factor: number): boolean => factor >= up || factor <= down
