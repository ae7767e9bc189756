import type { Candle } from '../model/candle.js'
import { thresholds } from './never-worse.js'

const { minChange, restDays } = thresholds.prices
const DAY_SECONDS = 86_400

/** Why a candle is impossible; undefined if it is possible. */
export const findCandleFault = ([, open, high, low, close, volume]: Candle): string | undefined => {
  const prices = `open ${open}, high ${high}, low ${low}, close ${close}`
  if (![open, high, low, close, volume].every(Number.isFinite)) return `a value that is not a number: ${prices}, volume ${volume}`
  if (low <= 0) return `a price that is not above zero: ${prices}`
  if (low > Math.min(open, close) || high < Math.max(open, close)) return `open or close outside of low and high: ${prices}`
  return volume < 0 ? `volume ${volume}` : undefined
}

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
  const close = before[4]
  if (close <= 0 || (candle[0] - before[0]) / DAY_SECONDS >= restDays) return undefined
  const isLeap = (price: number): boolean => (price >= close * rise || price <= close * fall) && Math.abs(price - close) >= minChange
  const price = [candle[4], candle[1], candle[2], candle[3]].find(isLeap)
  return price === undefined ? undefined : `from a close of ${close} to ${price}`
}
