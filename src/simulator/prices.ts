import type { Random, SampleStock } from '../model/market.js'
import { createRandom, drawBell } from './random.js'

/** Daily candles from a first session on. Prices are in paise: integers are exact. A split of the stock changes nothing here. */
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
  return { first, length, open: column(), high: column(), low: column(), close: column(), volume: new Float64Array(length) }
}

/** What all stocks have in common in each session of the calendar: the share by which the market moves, and its volatility index in paise. */
export interface MarketMoves {
  readonly moves: Float64Array
  readonly vix: PriceHistory
}

const [MIN_HEAT, MAX_HEAT] = [0.66, 2.6]
const VIX_PAISE = 1_450

export const simulateMarket = (seed: number, sessions: number): MarketMoves => {
  const random = createRandom(seed, 'market')
  const moves = new Float64Array(sessions)
  const vix = createHistory(0, sessions)
  let heat = 1
  for (let i = 0; i < sessions; i++) {
    const before = heat
    const move = 0.0003 + drawBell(random) * 0.0075 * heat
    heat = clamp(heat + 0.04 * (1 - heat) - 7 * move + drawBell(random) * 0.03, MIN_HEAT, MAX_HEAT)
    moves[i] = move
    const [open, close] = [Math.round(before * VIX_PAISE), Math.round(heat * VIX_PAISE)]
    vix.open[i] = open
    vix.close[i] = close
    vix.high[i] = Math.max(open, close) + Math.round(random.next() * 60)
    vix.low[i] = Math.min(open, close) - Math.round(random.next() * 50)
  }
  return { moves, vix }
}

const clamp = (value: number, low: number, high: number): number => Math.min(high, Math.max(low, value))

/** A price band is narrower than usual in some of these spans of sessions, for a part of it. */
const BAND_BLOCK = 125
const NARROW_BAND = 5

/** The band of a stock in each session, in percent. Some bands are narrowed for some weeks; those before the anchor are not known. */
export const createBands = (seed: number, { Sid, band }: SampleStock, anchor: number) => {
  let [known, from, to] = [-1, 0, 0]
  // Not all stocks begin a span on the same day.
  const start = anchor - (Number(Sid) % BAND_BLOCK)
  return (session: number): number | undefined => {
    if (band === undefined || band <= NARROW_BAND || session <= anchor) return band
    const block = Math.floor((session - start) / BAND_BLOCK)
    if (block !== known) {
      const random = createRandom(seed, 'band', Sid, block)
      from = start + block * BAND_BLOCK + (random.chance(0.3) ? random.int(1, 80) : BAND_BLOCK)
      to = from + random.int(8, 40)
      known = block
    }
    return session >= from && session < to ? NARROW_BAND : band
  }
}

/** The lowest price of a session after a close, in paise. Like the highest one, it is within the band. */
export const findLowest = (close: number, band = FREE_BAND): number => Math.ceil((close * (100 - band)) / 100)
export const findHighest = (close: number, band = FREE_BAND): number => Math.floor((close * (100 + band)) / 100)

/** A stock without a band has derivatives, and moves by less than this. */
const FREE_BAND = 9.5
const MIN_PAISE = 50
/** Sessions in which the usual price grows by half of what it is at the anchor; before it, those in which it was half as high. */
const GROWTH_SESSIONS = 2_500

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
 * The candles of a stock, from its listing to the session `last`. They close at its price in the session `anchor`, or open at it if it is
 * listed later. More sessions change no earlier one.
 */
export const simulatePrices = (options: WalkOptions): PriceHistory => {
  const { first, last, anchor, stock } = options
  const history = createHistory(first, last - first + 1)
  const start = Math.max(anchor, first)
  const paise = Math.round(stock.Ltp * 100)
  history.close[start - first] = paise
  const [step, bandIn] = [createStep(options), createBands(options.seed, stock, anchor)]
  const ahead = createRandom(options.seed, 'closes', stock.Sid)
  for (let i = start + 1; i <= last; i++) {
    const before = history.close[i - first - 1] ?? 0
    const usual = paise * (1 + (i - anchor) / (2 * GROWTH_SESSIONS))
    const band = bandIn(i)
    const wanted = Math.round(before * (1 + step(i, ahead, (usual - before) / (usual + before))))
    const [lowest, highest] = [findLowest(before, band), findHighest(before, band)]
    const isUpper = stock.limitPlace === undefined ? undefined : isAtUpperLimit(options.seed, stock.limitPlace, i)
    const close = isUpper === undefined ? clamp(wanted, lowest, highest) : isUpper ? highest : lowest
    history.close[i - first] = Math.max(MIN_PAISE, close)
  }
  const back = createRandom(options.seed, 'earlier closes', stock.Sid)
  const most = (stock.band ?? FREE_BAND) / 100
  for (let i = start; i > first; i--) {
    const after = history.close[i - first] ?? 0
    const usual = (paise * GROWTH_SESSIONS) / (GROWTH_SESSIONS + anchor - i)
    const move = clamp(step(i, back, (after - usual) / (after + usual)), -most, most)
    history.close[i - first - 1] = Math.max(MIN_PAISE, Math.round(after / (1 + move)))
  }
  drawCandles(history, options)
  return history
}

/** Of each pair of stocks, one is at the upper limit and one at the lower. */
const isAtUpperLimit = (seed: number, place: number, session: number): boolean =>
  createRandom(seed, 'limit', place >> 1, session).chance(0.5) === (place % 2 === 0)

/** The share by which a stock moves: with the market, by itself, back to its usual price, and seldom by a jump. */
const createStep = ({ seed, stock, moves }: WalkOptions) => {
  const character = createRandom(seed, 'character', stock.Sid)
  const isWild = stock.band !== undefined && stock.band <= NARROW_BAND
  const [beta, volatility] = [0.5 + character.next(), isWild ? 0.03 + character.next() * 0.02 : 0.008 + character.next() * 0.012]
  const jumps = stock.band === undefined ? 0 : 0.003
  return (session: number, random: Random, distance: number): number => {
    const own = drawBell(random) * volatility
    const luck = random.next()
    const jump = luck < jumps ? (luck < jumps / 2 ? 0.25 : -0.25) : 0
    return beta * (moves[session] ?? 0) + own + 0.01 * distance + jump
  }
}

/** Opens, highs, lows and volumes around the closes. A high or low is within the band. */
const drawCandles = (history: PriceHistory, { seed, stock, anchor }: WalkOptions): void => {
  const { first, length, open, high, low, close, volume } = history
  const shape = createRandom(seed, 'shape', stock.Sid)
  const bandIn = createBands(seed, stock, anchor)
  // A day trades 0.02 to 0.3 % of a company.
  const usualVolume = ((stock.Mcap * 1e7) / stock.Ltp) * (0.0002 + 0.0028 * shape.next() * shape.next())
  for (let i = 0; i < length; i++) {
    const now = close[i] as number
    const before = i > 0 ? (close[i - 1] as number) : now
    const band = bandIn(first + i)
    const lowest = findLowest(before, band)
    const highest = findHighest(before, band)
    // Two numbers for the four things that vary: each candle counts.
    const luck = shape.next()
    const range = shape.next()
    // Many a stock that closes at its limit has opened there, and did not leave it.
    const isLimit = now !== before && (now === lowest || now === highest)
    const wanted = isLimit && (luck < 0.6 || stock.limitPlace !== undefined) ? now : Math.round(before * (1 + (luck - 0.5) * 0.012))
    const opened = clamp(wanted, Math.min(lowest, now), Math.max(highest, now))
    const least = Math.min(opened, now)
    const most = Math.max(opened, now)
    const interest = luck * 64 - Math.floor(luck * 64)
    const depth = range * 64 - Math.floor(range * 64)
    open[i] = opened
    high[i] = Math.max(most, Math.min(highest, most + Math.round(most * range * 0.012)))
    low[i] = Math.min(least, Math.max(lowest, least - Math.round(least * depth * 0.012)))
    volume[i] = Math.max(1, Math.round(usualVolume * (0.4 + 1.4 * interest * interest + (20 * Math.abs(now - before)) / before)))
  }
}
