import { map, type Observable, of, switchMap } from 'rxjs'
import { leapOf } from '../market/candle-faults.js'
import { thresholds } from '../market/never-worse.js'
import type { Candle, Candles } from '../model/candle.js'
import { type Found, found, skipped } from '../model/outcome.js'
import { addDays, instantOf, SESSION_IS_OVER } from '../model/trading-day.js'
import type { Tools } from './define-stream.js'
import { checkNew, inPairs, type NewCandle } from './new-candles.js'
import { refuse } from './refuse.js'
import { createRescaleWatch, type RescaleWatch } from './rescale-watch.js'
import { candlesFrom, dayOf, FIRST_CANDLE, type Series } from './series.js'
import { type DamagedCandles, type StoredCandles, storedCandles } from './stored-candles.js'
import { type Reason, wholeHistory } from './whole-history.js'

const SESSION_OPENS = '09:00'

/**
 * Fetches the candles that a stored file lacks: all, those of later days, or none. The request for later days begins with the last complete
 * stored candle, which the answer must repeat (the join). If it does not, if a split or bonus is known, or if the file is damaged, the full
 * history is fetched again and replaces the file, unless it is refused.
 */
export const missingCandles = (series: Series, tools: Tools): Observable<Found<Candle>> =>
  // One watch for all items of the stream in this process.
  tools
    .shared(`rescale ${series.endpoint.name}`, () => of(createRescaleWatch()))
    .pipe(
      switchMap((watch) =>
        watch.working(
          storedCandles(series.file, tools).pipe(
            switchMap((stored) => lacking(stored, { series, tools, watch }).pipe(map((result) => withNewest(result, stored)))),
          ),
        ),
      ),
    )

interface Continuing {
  readonly series: Series
  readonly tools: Tools
  readonly watch: RescaleWatch
}

type Stored = StoredCandles | DamagedCandles | undefined

const lacking = (stored: Stored, continuing: Continuing): Observable<Found<Candle>> => {
  const { series, tools } = continuing
  if (stored === undefined) return candlesFrom(FIRST_CANDLE, series, tools).pipe(map((rows) => found(rows)))
  const whole = (reason: Reason): Observable<Found<Candle>> => wholeHistory(reason, continuing)
  if (stored.fault !== undefined) return whole({ remark: `repaired: ${stored.fault}` })
  if (isUpToDate(stored, tools.asOf)) return of(skipped)
  const adjusted$ = series.adjustedSince?.(dayOf(stored.last)) ?? of(undefined)
  return adjusted$.pipe(
    switchMap((adjustment) =>
      adjustment === undefined
        ? laterCandles(stored, continuing)
        : whole({ remark: `history fetched again: ${adjustment}`, isAdjusted: true }),
    ),
  )
}

const withNewest = (result: Found<Candle>, stored: Stored): Found<Candle> => {
  const last = (result.rows as Candles).at(-1) ?? (stored?.fault === undefined ? stored?.last : undefined)
  return last === undefined ? result : { ...result, newest: dayOf(last) }
}

/** Whether no day can be missing. Weekends and holidays get no special treatment: some of them have a session. */
const isUpToDate = (stored: StoredCandles, now: number): boolean => {
  if (stored.last[0] * 1_000 > now) return true
  return !stored.isTorn && isComplete(stored) && now < instantOf(addDays(dayOf(stored.last), 1), SESSION_OPENS)
}

/** Whether the last candle was stored after its session. */
const isComplete = ({ last, asOf }: StoredCandles): boolean => asOf >= instantOf(dayOf(last), SESSION_IS_OVER)

const laterCandles = (stored: StoredCandles, continuing: Continuing): Observable<Found<Candle>> => {
  const { series, tools, watch } = continuing
  const { last, before, isTorn } = stored
  const isSettled = isComplete(stored)
  // The candle of an unfinished session changes anyway, so only the one before it can show that the history has changed.
  const join = isSettled ? last : (before ?? last)
  return candlesFrom(join[0], series, tools).pipe(
    switchMap((rows) => {
      const first = rows.at(0)
      if (first === undefined) return of(found(rows, `the answer has neither the stored candle of ${dayOf(join)} nor a later one`))
      const isRepeated = isSettled || before !== undefined
      const change = changeOf(join, first, isRepeated)
      if (change !== undefined)
        return wholeHistory({ remark: `history fetched again: the stored candle of ${dayOf(join)} ${change}` }, continuing)
      if (isSettled && !isTorn && rows.length === 1 && isSame(join, first)) {
        watch.agrees()
        return of(skipped)
      }
      const added = inPairs([...rows].slice(isRepeated ? 1 : 0), join)
      return checkNew(added, series, tools).pipe(
        switchMap(() => checkMoves(added, continuing)),
        map(() => (isTorn ? { ...found(rows), remark: 'repaired: truncated last line' } : found(rows))),
      )
    }),
  )
}

/** Refuses unusual moves of many series at once; single ones may be the market. */
const checkMoves = (added: readonly NewCandle[], { series, tools, watch }: Continuing): Observable<unknown> => {
  const moves = added.map(([before, candle]) => before && leapOf(before, candle, thresholds.prices.unusual))
  const first = added[moves.findIndex((move) => move !== undefined)]
  const since = first && addDays(dayOf(first[1]), -thresholds.prices.actionDays)
  const action$ = since === undefined ? of('no move') : (series.movedSince?.(since) ?? of(undefined))
  return action$.pipe(
    switchMap((action) => {
      if (action !== undefined) watch.agrees()
      else watch.disagrees()
      return action !== undefined || tools.accepts('prices') ? of(false) : watch.areMany()
    }),
    map((areMany) => {
      if (areMany) refuse(tools, 'prices', `the prices of many series jump at once (${moves.find((move) => move !== undefined)})`)
    }),
  )
}

const isSame = (one: Candle, other: Candle): boolean => one.every((cell, place) => cell === other[place])

const PRICES = ['open', 'high', 'low', 'close'] as const

/** How a fetched candle differs from the stored one. Volume does not count: it is revised late. */
const changeOf = (stored: Candle, answered: Candle, isSettled: boolean): string | undefined => {
  if (stored[0] !== answered[0]) return 'is missing from the answer'
  const wrong = PRICES.findIndex((_, place) => isOther(stored[place + 1] as number, answered[place + 1] as number))
  return isSettled && wrong >= 0 ? `differs (${PRICES[wrong]} ${stored[wrong + 1]}, now ${answered[wrong + 1]})` : undefined
}

/** Whether two prices differ by more than rounding to paise (up to 2 % of a low price) or to four digits explains. */
const isOther = (one: number, other: number): boolean =>
  Math.abs(one - other) > Math.max(Math.min(0.011, Math.abs(one) * 0.02), Math.abs(one) * 1e-4)
