import type { CandleColumns } from '../model/market.js'
import { SESSION_END, SESSION_START, toInstant } from '../model/trading-day.js'
import { lowerBound, type TradingCalendar } from './calendar.js'
import type { PriceHistory } from './prices.js'

/**
 * Reads the candles of one instrument from `start` to `end` (epoch seconds, both included) as of `asOf`
 * (epoch milliseconds), changed by `scales`. The candle of the current day changes until the close; a day
 * that has not opened has none.
 */
export const createCandleReader =
  (calendar: TradingCalendar, historyOf: (sid: string, last: number) => PriceHistory | undefined) =>
  (sid: string, start: number, end: number, asOf: number, scales: readonly Scale[] = []) => {
    const last = calendar.lastOpened(asOf)
    const history = historyOf(sid, last)
    const from = Math.max(lowerBound(calendar.times, start), history?.first ?? 0)
    const to = Math.min(lowerBound(calendar.times, end + 1) - 1, last)
    if (history === undefined || from > to) return { Time: [], o: [], h: [], l: [], c: [], v: [] }
    const columns = { Time: calendar.times.slice(from, to + 1), ...sliceHistory(history, from, to, scales) }
    const done = to === last ? computeElapsedShare(calendar, last, asOf) : 1
    return done < 1 ? applyOpenSession(columns, done) : columns
  }

/** At 24 bytes a candle the cache takes up to 240 MB; histories beyond that are computed on each request. */
const MAX_CACHED_CANDLES = 10_000_000
const FURTHER_DAYS = 250

/**
 * Keeps what `make` computes for a key, to the session `last` or further; a history that ends too early is
 * computed again, further than necessary.
 */
export const createHistoryCache = () => {
  const cache = new Map<string, PriceHistory>()
  let candles = 0
  return (key: string, last: number, make: (last: number) => PriceHistory) => {
    const cached = cache.get(key)
    if (cached !== undefined && cached.first + cached.length > last) return cached
    // Further days on demand come many at a time: each one would compute the whole history again.
    const history = make(cached === undefined ? last : last + FURTHER_DAYS)
    const growth = history.length - (cached?.length ?? 0)
    if (candles + growth <= MAX_CACHED_CANDLES) {
      cache.set(key, history)
      candles += growth
    }
    return history
  }
}

/** A change of all candles between two indices of the calendar, both included. */
export interface Scale {
  readonly from: number
  readonly to: number
  readonly divisor: number
  readonly shares: number
}

const sliceHistory = (
  history: PriceHistory,
  from: number,
  to: number,
  scales: readonly Scale[],
): Omit<CandleColumns, 'Time'> => {
  // Loops: a callback for each of a million candles takes longer than all the rest.
  const slice = (column: Int32Array | Float64Array, unit: number) => {
    const values: number[] = []
    for (let i = from - history.first; i <= to - history.first; i++) values.push((column[i] as number) / unit)
    return values
  }
  const { open, high, low, close, volume } = history
  const [o, h, l, c, v] = [
    slice(open, 100),
    slice(high, 100),
    slice(low, 100),
    slice(close, 100),
    slice(volume, 1),
  ]
  for (const scale of scales)
    for (let i = Math.max(from, scale.from) - from; i <= Math.min(to, scale.to) - from; i++) {
      for (const prices of [o, h, l, c])
        prices[i] = Math.round(Math.round((prices[i] as number) * 100) / scale.divisor) / 100
      v[i] = (v[i] as number) * scale.shares
    }
  return { o, h, l, c, v }
}

/** The share of a day's session (09:15 to 15:30 in India) that has passed at an instant. */
const computeElapsedShare = (calendar: TradingCalendar, index: number, asOf: number) => {
  const day = calendar.days[index] ?? ''
  const [start, end] = [toInstant(day, SESSION_START), toInstant(day, SESSION_END)]
  return (asOf - start) / (end - start)
}

/**
 * The last candle as far as the session has come. All instruments are at the same share of their way from the
 * open to the close, so that an index is that of its stocks at each minute.
 */
const applyOpenSession = (columns: CandleColumns, done: number): CandleColumns => {
  const { o, h, l, c, v } = columns
  const index = o.length - 1
  const [open = 0, high = 0, low = 0, close = 0, volume = 0] = [o, h, l, c, v].map((column) => column[index])
  const round = (price: number) => Math.round(price * 100) / 100
  const now = round(open + (close - open) * done)
  h[index] = Math.max(open, now, round(open + (high - open) * done))
  l[index] = Math.min(open, now, round(open + (low - open) * done))
  c[index] = now
  v[index] = Math.floor(volume * done)
  return columns
}
