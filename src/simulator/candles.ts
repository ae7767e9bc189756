import type { CandleColumns } from '../model/market.js'
import { SESSION_END, SESSION_START, toInstant } from '../model/trading-day.js'
import { lowerBound, type TradingCalendar } from './calendar.js'
import { createRandom } from './random.js'

interface CandleOptions {
  readonly seed: number
  readonly calendar: TradingCalendar
  /** The index of the day on which every price walk passes through its listing's price. */
  readonly anchor: number
  /** The instrument as of the session with index `last`. */
  readonly listingOf: (sid: string, last: number, asOf: number) => PriceListing | undefined
}

/** At 20 bytes a candle the cache takes up to 200 MB; histories beyond that are computed on each request. */
const MAX_CACHED_CANDLES = 10_000_000
const FURTHER_DAYS = 250

/**
 * Reads the candles of one instrument from `start` to `end` (epoch seconds, both included) as of `asOf` (epoch milliseconds). The candle of
 * the current day changes until the close; a day that has not opened has none.
 */
export const createCandleReader = ({ seed, calendar, anchor, listingOf }: CandleOptions) => {
  const historyOf = createHistoryCache((sid, listing, last) => simulatePrices(seed, sid, listing, anchor, Math.max(anchor, last)))
  return (sid: string, start: number, end: number, asOf: number): CandleColumns => {
    const last = calendar.lastOpened(asOf)
    const listing = listingOf(sid, last, asOf)
    const from = Math.max(lowerBound(calendar.times, start), listing?.first ?? 0)
    const to = Math.min(lowerBound(calendar.times, end + 1) - 1, last)
    if (listing === undefined || from > to) return { Time: [], o: [], h: [], l: [], c: [], v: [] }
    const columns = sliceHistory(historyOf(sid, listing, last), { times: calendar.times, from, to, scales: listing.scales ?? [] })
    const done = to === last ? computeElapsedShare(calendar, last, asOf) : 1
    return done < 1 ? applyOpenSession(columns, done) : columns
  }
}

const createHistoryCache = (make: (sid: string, listing: PriceListing, last: number) => PriceHistory) => {
  const cache = new Map<string, PriceHistory>()
  let candles = 0
  return (sid: string, listing: PriceListing, last: number): PriceHistory => {
    const cached = cache.get(sid)
    if (cached !== undefined && cached.first + cached.length > last) return cached
    // Further days on demand come many at a time: each one would compute the whole history again.
    const history = make(sid, listing, cached === undefined ? last : last + FURTHER_DAYS)
    const growth = history.length - (cached?.length ?? 0)
    if (candles + growth <= MAX_CACHED_CANDLES) {
      cache.set(sid, history)
      candles += growth
    }
    return history
  }
}

interface HistorySlice {
  readonly times: readonly number[]
  readonly from: number
  readonly to: number
  readonly scales: readonly Scale[]
}

const sliceHistory = (history: PriceHistory, { times, from, to, scales }: HistorySlice): CandleColumns => {
  const part = (column: Int32Array) => column.subarray(from - history.first, to - history.first + 1)
  const factors = (of: 'divisor' | 'shares') => {
    if (scales.length === 0) return undefined
    const values = new Float64Array(to - from + 1).fill(1)
    for (const scale of scales)
      for (let i = Math.max(from, scale.from); i <= Math.min(to, scale.to); i++) values[i - from] = (values[i - from] ?? 1) * scale[of]
    return values
  }
  const [divisors, shares] = [factors('divisor'), factors('shares')]
  const prices = (column: Int32Array) => Array.from(part(column), (paise, i) => Math.round(paise / (divisors?.[i] ?? 1)) / 100)
  return {
    Time: times.slice(from, to + 1),
    o: prices(history.open),
    h: prices(history.high),
    l: prices(history.low),
    c: prices(history.close),
    v: Array.from(part(history.volume), (volume, i) => volume * (shares?.[i] ?? 1)),
  }
}

/** The share of a day's session (09:15 to 15:30 in India) that has passed at an instant. */
const computeElapsedShare = (calendar: TradingCalendar, index: number, asOf: number) => {
  const day = calendar.days[index] ?? ''
  const [start, end] = [toInstant(day, SESSION_START), toInstant(day, SESSION_END)]
  return (asOf - start) / (end - start)
}

const applyOpenSession = (columns: CandleColumns, done: number): CandleColumns => {
  const { o, h, l, c, v } = columns
  const index = o.length - 1
  const [open = 0, high = 0, low = 0, close = 0, volume = 0] = [o[index], h[index], l[index], c[index], v[index]]
  const reached = (goal: number) => Math.round((open + (goal - open) * done) * 100) / 100
  // The price swings within the range that the day has reached so far; the swing fades out towards the close.
  const swing = (Math.sin(done * 40) * (1 - done) * (reached(high) - reached(low))) / 2
  const now = Math.min(reached(high), Math.max(reached(low), reached(close) + swing))
  h[index] = Math.max(open, reached(high))
  l[index] = Math.min(open, reached(low))
  c[index] = Math.round(now * 100) / 100
  v[index] = Math.floor(volume * done)
  return columns
}

/** The start of an instrument's price walk, and the price that it passes through. */
export interface PriceListing {
  /** Index of the first day in the calendar. */
  readonly first: number
  /** Rupees on the market's anchor day. */
  readonly price: number
  readonly scales?: readonly Scale[]
}

/** A change of all candles between two indices of the calendar, both included. */
export interface Scale {
  readonly from: number
  readonly to: number
  readonly divisor: number
  readonly shares: number
}

/** One instrument's daily candles from its listing on. Prices are in paise: integers are exact. */
interface PriceHistory {
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
const simulatePrices = (seed: number, sid: string, listing: PriceListing, anchor: number, last: number): PriceHistory => {
  const length = last - listing.first + 1
  const logs = simulateLogCloses(seed, sid, length)
  const base = listing.price * 100 * Math.exp(-(logs[anchor - listing.first] ?? 0))
  const column = () => new Int32Array(length)
  const history = { first: listing.first, length, open: column(), high: column(), low: column(), close: column(), volume: column() }
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

const toPaise = (value: number) => Math.min(MAX_PAISE, Math.max(MIN_PAISE, Math.round(value)))
