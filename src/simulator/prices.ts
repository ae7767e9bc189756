import type { Random, SampleStock } from '../model/market.js'
import { createRandom, drawBell } from './random.js'

/**
 * Daily candles from a first session on. Prices are in paise: integers are exact. A split of the stock
 * changes nothing here.
 */
export interface PriceHistory {
  /** Index of the first session in the calendar. */
  readonly first: number
  readonly length: number
  readonly open: Int32Array
  readonly high: Int32Array
  readonly low: Int32Array
  readonly close: Int32Array
  readonly volume: Float64Array
}

export const createHistory = (first: number, length: number): PriceHistory => {
  const column = () => new Int32Array(length)
  return {
    first,
    length,
    open: column(),
    high: column(),
    low: column(),
    close: column(),
    volume: new Float64Array(length),
  }
}

/** Stores a candle whose high and low are so far above and below its open and close. */
export const writeCandle = (
  history: PriceHistory,
  i: number,
  open: number,
  close: number,
  range: number,
): void => {
  history.open[i] = Math.round(open)
  history.close[i] = Math.round(close)
  history.high[i] = Math.round(Math.max(open, close) + range)
  history.low[i] = Math.round(Math.min(open, close) - range)
}

const VIX_PAISE = 1_450

/**
 * What all stocks have in common in each session of the calendar: the share by which the market moves, and
 * its volatility index.
 */
export const simulateMarket = (seed: number, sessions: number) => {
  const random = createRandom(seed, 'market')
  const moves = new Float64Array(sessions)
  const vix = createHistory(0, sessions)
  let heat = 1
  for (let i = 0; i < sessions; i++) {
    const before = heat
    const move = 0.0003 + drawBell(random) * 0.0075 * heat
    heat = clamp(heat + 0.04 * (1 - heat) - 7 * move + drawBell(random) * 0.03, 0.68, 2.6)
    moves[i] = move
    writeCandle(vix, i, before * VIX_PAISE, heat * VIX_PAISE, random.next() * 50)
  }
  return { moves, vix }
}

const clamp = (value: number, low: number, high: number): number => Math.min(high, Math.max(low, value))

const NARROW_BAND = 5
/** So many sessions a band stays as it is. */
const BAND_SESSIONS = 20

/**
 * The band of a stock in each session, in percent. Wider bands are narrowed for some weeks; those before the
 * anchor are not known.
 */
export const createBands = (seed: number, { Sid, band, limitPlace }: SampleStock, anchor: number) => {
  let [known, isNarrow] = [-1, false]
  return (session: number) => {
    if (band === undefined || session <= anchor) return band
    // In each session one of these stocks has another band than before: the list of changes is never empty.
    if (limitPlace !== undefined) return (session + limitPlace) % 16 < 8 ? 2 : band
    const span = Math.floor((session + Number(Sid)) / BAND_SESSIONS)
    if (span !== known) isNarrow = createRandom(seed, 'band', Sid, span).chance(0.2)
    known = span
    return isNarrow ? NARROW_BAND : band
  }
}

/** The lowest price of a session after a close, in paise. Like the highest one, it is within the band. */
export const findLowest = (close: number, band = FREE_BAND): number => Math.ceil((close * (100 - band)) / 100)
export const findHighest = (close: number, band = FREE_BAND): number =>
  Math.floor((close * (100 + band)) / 100)

/** A stock without a band has derivatives, and moves by less than this. */
const FREE_BAND = 9.5
const MIN_PAISE = 50
/** The usual price doubles in about a third of these sessions. */
const GROWTH_SESSIONS = 12_000

interface WalkOptions {
  readonly seed: number
  readonly stock: SampleStock
  readonly anchor: number
  /** Indices of the first and the last session. */
  readonly first: number
  readonly last: number
  readonly moves: Float64Array
}

/**
 * The candles of a stock, from its listing to the session `last`. They close at its price in the session
 * `anchor`, or open at it if it is listed later. More sessions change no earlier one.
 */
export const simulatePrices = ({ seed, stock, anchor, first, last, moves }: WalkOptions): PriceHistory => {
  const { Sid, Ltp, band, limitPlace } = stock
  const history = createHistory(first, last - first + 1)
  const { close } = history
  const start = Math.max(anchor, first)
  close[start - first] = Math.round(Ltp * 100)
  const character = createRandom(seed, 'character', Sid)
  const isWild = band !== undefined && band <= NARROW_BAND
  const beta = 0.5 + character.next()
  const volatility = isWild ? 0.03 + character.next() * 0.02 : 0.008 + character.next() * 0.012
  /** With the market, by itself, back to the usual price, and seldom by a jump. */
  const drawMove = (session: number, price: number, random: Random) => {
    const age = session - anchor
    const usual = (Ltp * 100 * (GROWTH_SESSIONS + age)) / (GROWTH_SESSIONS - age)
    const own =
      band !== undefined && random.chance(0.001) ? random.next() - 0.5 : drawBell(random) * volatility
    return (
      beta * (moves[session] ?? 0) +
      own +
      ((session > start ? 0.01 : -0.01) * (usual - price)) / (usual + price)
    )
  }
  const bandIn = createBands(seed, stock, anchor)
  const ahead = createRandom(seed, 'closes', Sid)
  for (let session = start + 1; session <= last; session++) {
    const before = close[session - first - 1] ?? 0
    const today = bandIn(session)
    const lowest = findLowest(before, today)
    const highest = findHighest(before, today)
    const isUp = (moves[session] ?? 0) > 0 === (Number(limitPlace) % 2 === 0)
    const wanted =
      limitPlace === undefined ? before * (1 + drawMove(session, before, ahead)) : isUp ? highest : lowest
    close[session - first] = Math.max(MIN_PAISE, clamp(Math.round(wanted), lowest, highest))
  }
  const back = createRandom(seed, 'earlier closes', Sid)
  const most = band ?? FREE_BAND
  for (let session = start; session > first; session--) {
    const after = close[session - first] ?? 0
    const wanted = Math.round(after / (1 + drawMove(session, after, back)))
    const before = clamp(
      wanted,
      Math.ceil((after * 100) / (100 + most)),
      Math.floor((after * 100) / (100 - most)),
    )
    close[session - first - 1] = Math.max(MIN_PAISE, before)
  }
  drawCandles(history, stock, bandIn, createRandom(seed, 'shape', Sid))
  return history
}

/** Opens, highs, lows and volumes around the closes. A high or low is within the band. */
const drawCandles = (
  history: PriceHistory,
  stock: SampleStock,
  bandIn: ReturnType<typeof createBands>,
  shape: Random,
): void => {
  const { first, length, open, high, low, close, volume } = history
  // A day trades 0.02 to 0.3 % of a company.
  const usualVolume = ((stock.Mcap * 1e7) / stock.Ltp) * (0.0002 + 0.0028 * shape.next() * shape.next())
  for (let i = 0; i < length; i++) {
    const now = close[i] as number
    const before = i > 0 ? (close[i - 1] as number) : now
    const band = bandIn(first + i)
    const lowest = findLowest(before, band)
    const highest = findHighest(before, band)
    const luck = shape.next()
    const interest = shape.next()
    // Many a stock that closes at its limit has opened there, and did not leave it.
    const isLimit =
      now !== before && (now === lowest || now === highest) && (luck < 0.6 || stock.limitPlace !== undefined)
    const opened = isLimit ? now : clamp(Math.round(before * (1 + (luck - 0.5) * 0.012)), lowest, highest)
    open[i] = opened
    high[i] = Math.min(highest, Math.round(Math.max(opened, now) * (1 + shape.next() * 0.012)))
    low[i] = Math.max(lowest, Math.round(Math.min(opened, now) * (1 - shape.next() * 0.012)))
    volume[i] = Math.max(
      1,
      Math.round(usualVolume * (0.4 + 1.4 * interest * interest + (20 * Math.abs(now - before)) / before)),
    )
  }
}
