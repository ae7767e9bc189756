import { map, type Observable } from 'rxjs'
import type { Candle, Candles } from '../model/candle.js'
import { type Day, dayAt } from '../model/trading-day.js'
import type { candlesOf } from '../provider/candles.js'
import type { Tools } from './define-stream.js'

/** Epoch seconds that ask for all history (interface document, Limits). */
export const FIRST_CANDLE = 215_634_600

/** What the candle call names an instrument by. */
export interface Instrument {
  readonly EXCH: string
  readonly SYM: string
  readonly SEG: string
  readonly INST: string
  readonly SEC_ID: string
}

/** The candles of one stock or index: how they are asked for, and where they lie. */
export interface Series {
  readonly endpoint: ReturnType<typeof candlesOf>
  readonly instrument: Instrument
  readonly file: string
  /** An index: some have a close only, so what the candle before lacks, a new one may lack. */
  readonly isIndex?: boolean
  /** What has changed all candles before a day in the time from it to now; nothing if nothing has. */
  readonly adjustedSince?: (day: Day) => Observable<string | undefined>
  /** The corporate action of any kind that moved the price in the time from a day to now; nothing if there is none. */
  readonly movedSince?: (day: Day) => Observable<string | undefined>
}

export const dayOf = (candle: Candle): Day => dayAt(candle[0] * 1_000)

/** The candles from a timestamp to the run's "now". */
export const candlesFrom = (START: number, { endpoint, instrument }: Series, { ask, asOf }: Tools): Observable<Candles> => {
  const END = Math.floor(asOf / 1_000)
  return ask(endpoint, { ...instrument, EXPCODE: 0, INTERVAL: 'D', START, END }).pipe(map((candles) => within(candles, START, END)))
}

/** What was not asked for must not replace what is stored. */
const within = (candles: Candles, start: number, end: number): Candles => {
  const isAsked = ([time]: Candle): boolean => time >= start && time <= end
  return [candles.at(0), candles.at(-1)].every((candle) => candle === undefined || isAsked(candle)) ? candles : [...candles].filter(isAsked)
}
