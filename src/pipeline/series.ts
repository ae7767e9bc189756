import { map, type Observable } from 'rxjs'
import type { createCandleEndpoint } from '../market/candles.js'
import type { Candle, Candles } from '../model/candle.js'
import { type Day, toDay } from '../model/trading-day.js'
import type { Tools } from './define-stream.js'

/** The start, in epoch seconds, that requests the full history (interface document, Limits). */
export const FIRST_CANDLE = 215_634_600

/** The fields that identify an instrument in a candle request. */
export interface Instrument {
  readonly EXCH: string
  readonly SYM: string
  readonly SEG: string
  readonly INST: string
  readonly SEC_ID: string
}

/** The candles of one stock or index: how to request them, and their file. */
export interface Series {
  readonly endpoint: ReturnType<typeof createCandleEndpoint>
  readonly instrument: Instrument
  readonly file: string
  /** An index: some have only a close, so a new candle may lack what the previous one lacks. */
  readonly isIndex?: boolean
  /** The corporate action between a day and now that changed all candles before it, or `undefined`. */
  readonly findAdjustment?: (day: Day) => Observable<string | undefined>
  /** The corporate action of any kind between a day and now that moved the price, or `undefined`. */
  readonly findPriceAction?: (day: Day) => Observable<string | undefined>
}

export const toCandleDay = (candle: Candle): Day => toDay(candle[0] * 1_000)

/** Fetches the candles from a timestamp to the run's "now". */
export const fetchCandles = (START: number, { endpoint, instrument }: Series, { ask, asOf }: Tools): Observable<Candles> => {
  const END = Math.floor(asOf / 1_000)
  return ask(endpoint, { ...instrument, EXPCODE: 0, INTERVAL: 'D', START, END }).pipe(
    map((candles) => selectRequested(candles, START, END)),
  )
}

/** Drops candles outside the requested range: they must not replace stored ones. */
const selectRequested = (candles: Candles, start: number, end: number): Candles => {
  const isAsked = ([time]: Candle): boolean => time >= start && time <= end
  return [candles.at(0), candles.at(-1)].every((candle) => candle === undefined || isAsked(candle)) ? candles : [...candles].filter(isAsked)
}
