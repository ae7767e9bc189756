import { map, type Observable, of, switchMap } from 'rxjs'
import type { createCandleEndpoint } from '../market/candle-answer.js'
import { candleAt, findFileFault, readCandleFile } from '../market/candle-file.js'
import type { Candle, Candles } from '../model/candle.js'
import { isRow, readText } from '../model/row.js'
import { type Day, toDay } from '../model/trading-day.js'
import { catchItemFailure } from '../operators/catch-item-failure.js'
import type { Tools } from './define-stream.js'
import { REPORT_FILE } from './storage.js'

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

/** A stored candle file to which later candles can be appended. */
export interface StoredCandles {
  readonly fault?: undefined
  readonly last: Candle
  readonly before: Candle | undefined
  /** Whether a truncated line follows the last candle. */
  readonly isTruncated: boolean
  /** The instant as of which it was written, epoch milliseconds. */
  readonly asOf: number
}

/** A candle file that only the full history can repair. */
export interface DamagedCandles {
  readonly fault: string
}

/**
 * Reads the state of a candle file; `undefined` if it has no candle yet. A file with the instant of the last run is as that run wrote it:
 * reading its end is enough. Any other file is read completely: an editor, a copy or an older tool may have changed it.
 */
export const readStoredCandles = (
  file: string,
  tools: Pick<Tools, 'stored' | 'shared'>,
): Observable<StoredCandles | DamagedCandles | undefined> =>
  tools.stored.tail(file).pipe(
    switchMap((tail) => {
      if (tail === undefined) return of(undefined)
      return readLastRunInstant(tools).pipe(
        switchMap((lastRunAsOf) => {
          // A later time comes from an editor or a copy: no run has written the file since the last one.
          const asOf = Math.min(tail.asOf, lastRunAsOf)
          const end = toStoredCandles([tail.header, ...tail.lines, ''].join('\n'), asOf)
          const isIntact = end !== undefined && end.fault === undefined && !end.isTruncated
          if (isIntact && tail.asOf === lastRunAsOf) return of(end)
          return tools.stored.text(file).pipe(map((text = '') => toStoredCandles(text, asOf)))
        }),
      )
    }),
  )

/** The `asOf` of the last run in this output folder; infinity if unknown. */
const readLastRunInstant = ({ shared, stored }: Pick<Tools, 'stored' | 'shared'>): Observable<number> =>
  shared('last run', () =>
    stored.document(REPORT_FILE).pipe(
      map((report) => (isRow(report) ? Date.parse(readText(report.asOf)) : Number.NaN)),
      catchItemFailure(() => of(Number.NaN)),
      map((asOf) => (Number.isNaN(asOf) ? Number.POSITIVE_INFINITY : asOf)),
    ),
  )

const toStoredCandles = (text: string, asOf: number): StoredCandles | DamagedCandles | undefined => {
  const file = readCandleFile(Buffer.from(text))
  const fault = findFileFault(file)
  if (fault !== undefined) return { fault }
  const [last, before] = [1, 2].map((place) => candleAt(file.candles, file.candles.length - place))
  const isTruncated = file.isTruncated || file.badLine !== undefined
  if (last !== undefined) return { last, before, isTruncated, asOf }
  return isTruncated ? { fault: 'truncated only line' } : undefined
}
