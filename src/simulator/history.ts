import type { SampleSplit } from '../model/market.js'
import { createRandom } from './random.js'

/** The start of an instrument's price walk, and the price that it passes through. */
export interface PriceListing {
  /** Index of the first day in the calendar. */
  readonly first: number
  /** Rupees on the market's anchor day. */
  readonly price: number
  readonly split?: SampleSplit | undefined
}

/** One instrument's daily candles from its listing on. Prices are in paise: integers are exact. */
export interface PriceHistory {
  readonly first: number
  readonly length: number
  readonly open: Int32Array
  readonly high: Int32Array
  readonly low: Int32Array
  readonly close: Int32Array
  readonly volume: Int32Array
}

const MIN_PAISE = 5
const MAX_PAISE = 1_000_000_000

/**
 * Computes the price walk from the listing to the day with index `last`. A longer walk starts like a shorter one, so a new day changes no
 * earlier candle. `last` must not be before `anchor`, where the walk passes through the listing's price.
 */
export const simulatePrices = (seed: number, sid: string, listing: PriceListing, anchor: number, last: number): PriceHistory => {
  const length = last - listing.first + 1
  const logs = simulateLogCloses(seed, sid, length)
  const base = listing.price * 100 * Math.exp(-(logs[anchor - listing.first] ?? 0))
  const history = createEmptyHistory(listing.first, length)
  const shape = createRandom(seed, 'shape', sid)
  const usualVolume = 10 ** (3 + 3.5 * shape.next())
  let before = toPaise(base)
  for (let i = 0; i < length; i++) {
    const close = toPaise(base * Math.exp(logs[i] ?? 0))
    const open = toPaise(before * (1 + (shape.next() - 0.5) * 0.02))
    history.open[i] = open
    history.close[i] = close
    history.high[i] = Math.max(open, close) + Math.round(Math.max(open, close) * shape.next() * 0.015)
    history.low[i] = Math.max(MIN_PAISE, Math.min(open, close) - Math.round(Math.min(open, close) * shape.next() * 0.015))
    history.volume[i] = Math.round(usualVolume * (0.2 + 2 * shape.next() ** 3))
    before = close
  }
  return history
}

// Mean reversion (0.9995 a day) keeps thirty years of daily steps within plausible share prices.
const simulateLogCloses = (seed: number, sid: string, length: number) => {
  const random = createRandom(seed, 'closes', sid)
  const volatility = 0.01 + random.next() * 0.02
  const logs = new Float64Array(length)
  let log = 0
  for (let i = 0; i < length; i++) {
    const bell = (random.next() + random.next() + random.next() - 1.5) * 2
    log = log * 0.9995 + bell * volatility
    logs[i] = log
  }
  return logs
}

const createEmptyHistory = (first: number, length: number): PriceHistory => ({
  first,
  length,
  open: new Int32Array(length),
  high: new Int32Array(length),
  low: new Int32Array(length),
  close: new Int32Array(length),
  volume: new Int32Array(length),
})

const toPaise = (value: number) => Math.min(MAX_PAISE, Math.max(MIN_PAISE, Math.round(value)))
