import { map, type Observable, of, switchMap } from 'rxjs'
import { type Found, found, skipped } from '../model/outcome.js'
import { addDays, dayAt, instantOf } from '../model/trading-day.js'
import type { candlesOf } from '../provider/candles.js'
import type { Tools } from './define-stream.js'
import type { Tail } from './storage.js'

export const CANDLE_COLUMNS = ['Timestamp', 'Open', 'High', 'Low', 'Close', 'Volume'] as const

const HEADER = CANDLE_COLUMNS.join(',')

/** Epoch seconds that ask for all history (interface document, Limits). */
const FIRST_CANDLE = 215_634_600
const SESSION_OPENS = '09:00'
const SESSION_IS_OVER = '15:30'

/** What the candle call names an instrument by. */
export interface Instrument {
  readonly EXCH: string
  readonly SYM: string
  readonly SEG: string
  readonly INST: string
  readonly SEC_ID: string
}

/** Asks for the candles that a stored file lacks: all of them, those of later days, or none at all. */
export const missingCandles = (
  endpoint: ReturnType<typeof candlesOf>,
  instrument: Instrument,
  { ask, stored, asOf }: Tools,
  file: string,
): Observable<Found> =>
  stored.tail(file).pipe(
    switchMap((tail) => {
      const START = startAfter(tail, asOf)
      if (START === undefined) return of(skipped)
      const END = Math.floor(asOf / 1_000)
      return ask(endpoint, { ...instrument, EXPCODE: 0, INTERVAL: 'D', START, END }).pipe(
        // What was not asked for must not replace what is stored.
        map((rows) => found(rows.filter(([time]) => time >= START && time <= END))),
      )
    }),
  )

/**
 * Where to go on behind a stored file; nothing if no day can be missing. A candle stored before its session was over is asked again, and
 * all history where the file is not one of ours (another header).
 */
export const startAfter = (tail: Tail | undefined, asOf: number): number | undefined => {
  const last = tail?.header === HEADER ? lastTimestamp(tail) : undefined
  if (tail === undefined || last === undefined) return FIRST_CANDLE
  const day = dayAt(last * 1_000)
  if (last * 1_000 > asOf) return undefined
  if (tail.asOf < instantOf(day, SESSION_IS_OVER)) return last
  return asOf < instantOf(addDays(day, 1), SESSION_OPENS) ? undefined : last + 1
}

const lastTimestamp = (tail: Tail | undefined): number | undefined => {
  const cells = tail?.line.split(',') ?? []
  const last = Number(cells[0])
  return cells.length === CANDLE_COLUMNS.length && Number.isInteger(last) && last > 0 ? last : undefined
}
