import { map, type Observable, of, switchMap } from 'rxjs'
import { RefusedError, thresholds } from '../market/never-worse.js'
import type { Candle, Candles } from '../model/candle.js'
import { type Found, found, skipped } from '../model/outcome.js'
import { addDays, type Day, dayAt, instantOf, SESSION_IS_OVER } from '../model/trading-day.js'
import type { candlesOf } from '../provider/candles.js'
import { daysIn } from './candle-file.js'
import type { Tools } from './define-stream.js'
import { type StoredCandles, storedCandles } from './stored-candles.js'

/** Epoch seconds that ask for all history (interface document, Limits). */
const FIRST_CANDLE = 215_634_600
const SESSION_OPENS = '09:00'

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
  /** What has changed all candles before a day in the time from it to now; nothing if nothing has. */
  readonly adjustedSince?: (day: Day) => Observable<string | undefined>
}

/**
 * Asks for the candles that a stored file lacks: all of them, those of later days, or none at all. The request for later days begins with
 * the last stored candle that was complete, which the answer must repeat: that is the join. Where it does not, where an adjustment is
 * known, or where the file is damaged, the whole history is asked again and takes the file's place.
 */
export const missingCandles = (series: Series, tools: Tools): Observable<Found<Candle>> =>
  storedCandles(series.file, tools).pipe(
    switchMap((stored) => {
      if (stored === undefined) return candlesFrom(FIRST_CANDLE, series, tools).pipe(map((rows) => found(rows)))
      if (stored.fault !== undefined) return wholeHistory(`repaired: ${stored.fault}`, series, tools)
      if (isUpToDate(stored, tools.asOf)) return of(skipped)
      const adjusted$ = series.adjustedSince?.(dayOf(stored.last)) ?? of(undefined)
      return adjusted$.pipe(
        switchMap((adjustment) =>
          adjustment === undefined
            ? laterCandles(stored, series, tools)
            : wholeHistory(`history fetched again: ${adjustment}`, series, tools),
        ),
      )
    }),
  )

const dayOf = (candle: Candle): Day => dayAt(candle[0] * 1_000)

/** Whether no day can be missing. Weekends and holidays are not judged: sessions are held on some of them. */
const isUpToDate = (stored: StoredCandles, now: number): boolean => {
  if (stored.last[0] * 1_000 > now) return true
  return !stored.isTorn && isComplete(stored) && now < instantOf(addDays(dayOf(stored.last), 1), SESSION_OPENS)
}

/** Whether the last candle was stored when its session was over. */
const isComplete = ({ last, asOf }: StoredCandles): boolean => asOf >= instantOf(dayOf(last), SESSION_IS_OVER)

const candlesFrom = (START: number, { endpoint, instrument }: Series, { ask, asOf }: Tools): Observable<Candles> => {
  const END = Math.floor(asOf / 1_000)
  return ask(endpoint, { ...instrument, EXPCODE: 0, INTERVAL: 'D', START, END }).pipe(map((candles) => within(candles, START, END)))
}

/** What was not asked for must not replace what is stored. */
const within = (candles: Candles, start: number, end: number): Candles => {
  const isAsked = ([time]: Candle): boolean => time >= start && time <= end
  return [candles.at(0), candles.at(-1)].every((candle) => candle === undefined || isAsked(candle)) ? candles : [...candles].filter(isAsked)
}

const laterCandles = (stored: StoredCandles, series: Series, tools: Tools): Observable<Found<Candle>> => {
  const { last, before, isTorn } = stored
  const isSettled = isComplete(stored)
  // A candle that was under way says nothing about the history before it; the one before does.
  const join = isSettled ? last : (before ?? last)
  return candlesFrom(join[0], series, tools).pipe(
    switchMap((rows) => {
      const first = rows.at(0)
      if (first === undefined) return of(found(rows, `the stored candle of ${dayOf(join)} is not answered, nor any later one`))
      const change = changeOf(join, first, isSettled || before !== undefined)
      if (change !== undefined) return wholeHistory(`history fetched again: the stored candle of ${dayOf(join)} ${change}`, series, tools)
      if (isTorn) return of({ ...found(rows), remark: 'repaired: its last line was torn' })
      return of(isSettled && rows.length === 1 && isSame(join, first) ? skipped : found(rows))
    }),
  )
}

const isSame = (one: Candle, other: Candle): boolean => one.every((cell, place) => cell === other[place])

const PRICES = ['open', 'high', 'low', 'close'] as const

/** In which way an answered candle is not the stored one; volume does not count, it is revised late. */
const changeOf = (stored: Candle, answered: Candle, isSettled: boolean): string | undefined => {
  if (stored[0] !== answered[0]) return 'is no longer answered'
  const wrong = PRICES.findIndex((_, place) => isOther(stored[place + 1] as number, answered[place + 1] as number))
  return isSettled && wrong >= 0 ? `disagrees (${PRICES[wrong]} ${stored[wrong + 1]}, now ${answered[wrong + 1]})` : undefined
}

/** Beyond what rounding to paise, which are much of a low price, or to four digits can do. */
const isOther = (one: number, other: number): boolean =>
  Math.abs(one - other) > Math.max(Math.min(0.011, Math.abs(one) * 0.02), Math.abs(one) * 1e-4)

const wholeHistory = (remark: string, series: Series, tools: Tools): Observable<Found<Candle>> =>
  candlesFrom(FIRST_CANDLE, series, tools).pipe(
    switchMap((rows) => tools.stored.text(series.file).pipe(map((text) => replacing(text ?? '', rows, remark)))),
  )

const replacing = (text: string, rows: Candles, remark: string): Found<Candle> => {
  const { count, newest } = daysIn(text)
  const end = rows.at(-1)?.[0] ?? 0
  const stays = `so the stored file stays: move it away to take the new one (${remark})`
  if (rows.length < count * thresholds.leastShare)
    throw new RefusedError('shrink', `the whole history holds ${rows.length} candles instead of ${count}, ${stays}`)
  if (end < newest) throw new RefusedError('shrink', `the whole history ends on ${dayAt(end * 1_000)}, before the stored one, ${stays}`)
  return rows.length === 0 ? found(rows) : { ...found(rows), whole: true, remark }
}
