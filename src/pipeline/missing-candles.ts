import { map, type Observable, of, switchMap } from 'rxjs'
import { isTurn } from '../market/calendar.js'
import { describeRewriting, findImpossibleMove, isDifferentPrice } from '../market/candle-checks.js'
import { candleAt, formatCandleFile, readCandleFile } from '../market/candle-file.js'
import { createRescaleDetector, type RescaleDetector, thresholds } from '../market/refusal-policy.js'
import type { Candle, Candles } from '../model/candle.js'
import { createResult, type ItemResult, skippedResult } from '../model/outcome.js'
import { addDays, SESSION_END, toDay, toInstant } from '../model/trading-day.js'
import type { Tools } from './define-stream.js'
import {
  acceptHistory,
  checkHistory,
  checkNewCandles,
  fetchFullHistory,
  type NewCandle,
  pairWithPrevious,
  type RefetchReason,
} from './full-history.js'
import { refuse } from './refuse.js'
import {
  type DamagedCandles,
  FIRST_CANDLE,
  fetchCandles,
  readStoredCandles,
  type Series,
  type StoredCandles,
  toCandleDay,
} from './stored-candles.js'

const SESSION_OPENS = '09:00'

/**
 * Fetches the candles that a stored file lacks: all, those of later days, or none. The request for later days begins with the last complete
 * stored candle, which the answer must repeat (the join). If it does not, if a split or bonus is known, or if the file is damaged, the full
 * history is fetched again and replaces the file, unless it is refused.
 */
export const fetchMissingCandles = (series: Series, tools: Tools): Observable<ItemResult<Candle>> =>
  // One watch for all items of the stream in this process.
  tools
    .shared(`rescale ${series.endpoint.name}`, () => of(createRescaleDetector()))
    .pipe(
      switchMap((watch) =>
        watch.track(
          readStoredCandles(series.file, tools).pipe(
            switchMap((stored) => fetchLacking(stored, { series, tools, watch }).pipe(map((result) => addNewest(result, stored)))),
          ),
        ),
      ),
    )

interface CandleContext {
  readonly series: Series
  readonly tools: Tools
  readonly watch: RescaleDetector
}

type StoredState = StoredCandles | DamagedCandles | undefined

const fetchLacking = (stored: StoredState, continuing: CandleContext): Observable<ItemResult<Candle>> => {
  const { series, tools } = continuing
  if (stored === undefined) return fetchCandles(FIRST_CANDLE, series, tools).pipe(map((rows) => createResult(checkHistory(rows, tools))))
  const whole = (reason: RefetchReason): Observable<ItemResult<Candle>> => fetchFullHistory(reason, continuing)
  if (stored.fault !== undefined) return whole({ remark: `repaired: ${stored.fault}` })
  if (isUpToDate(stored, tools.asOf)) return of(skippedResult)
  const adjusted$ = series.findAdjustment?.(toCandleDay(stored.last)) ?? of(undefined)
  return adjusted$.pipe(
    switchMap((adjustment) =>
      adjustment === undefined
        ? fetchLaterCandles(stored, continuing)
        : whole({ remark: `history fetched again: ${adjustment}`, isAdjusted: true }),
    ),
  )
}

const addNewest = (result: ItemResult<Candle>, stored: StoredState): ItemResult<Candle> => {
  const last = (result.rows as Candles).at(-1) ?? (stored?.fault === undefined ? stored?.last : undefined)
  return last === undefined ? result : { ...result, newest: toCandleDay(last) }
}

/** Whether no day can be missing. Weekends and holidays get no special treatment: some of them have a session. */
const isUpToDate = (stored: StoredCandles, now: number): boolean => {
  if (stored.last[0] * 1_000 > now) return true
  return !stored.isTruncated && isComplete(stored) && now < toInstant(addDays(toCandleDay(stored.last), 1), SESSION_OPENS)
}

/** Whether a stored file has all candles, so that its item needs no request. */
export const hasAllCandles = (file: string, tools: Pick<Tools, 'stored' | 'shared' | 'asOf'>): Observable<boolean> =>
  readStoredCandles(file, tools).pipe(map((stored) => stored !== undefined && stored.fault === undefined && isUpToDate(stored, tools.asOf)))

/** Whether the last candle was stored after its session. */
const isComplete = ({ last, asOf }: StoredCandles): boolean => asOf >= toInstant(toCandleDay(last), SESSION_END)

/** The stored candle that an answer must repeat: that of an unfinished session changes anyway, so only the one before it shows a change. */
const findJoin = (stored: StoredCandles): Candle => (isComplete(stored) ? stored.last : (stored.before ?? stored.last))

const fetchLaterCandles = (stored: StoredCandles, continuing: CandleContext): Observable<ItemResult<Candle>> => {
  const { series, tools } = continuing
  return isTurn(series.file, toCandleDay(stored.last), toDay(tools.asOf))
    ? fetchCandles(FIRST_CANDLE, series, tools).pipe(switchMap((rows) => compareHistory(rows, stored, continuing)))
    : fetchCandles(findJoin(stored)[0], series, tools).pipe(switchMap((rows) => addLaterCandles(rows, stored, continuing)))
}

/** Replaces the stored history if only candles before the join differ; else adds the later candles, if the answer repeats the join. */
const compareHistory = (rows: Candles, stored: StoredCandles, continuing: CandleContext): Observable<ItemResult<Candle>> => {
  const { series, tools, watch } = continuing
  const join = findJoin(stored)
  // As columns: reading lines one by one takes five times as long.
  const { candles } = readCandleFile(Buffer.concat(formatCandleFile(rows).map((chunk) => Buffer.from(chunk as Uint8Array))))
  const from = candles.time.findIndex((time) => time >= join[0])
  const later = Array.from({ length: from < 0 ? 0 : candles.length - from }, (_, place) => candleAt(candles, from + place) as Candle)
  if (later[0] === undefined || describeJoinChange(join, later[0], true) !== undefined) return addLaterCandles(later, stored, continuing)
  return tools.stored.text(series.file).pipe(
    switchMap((text = '') => {
      const change = describeRewriting(readCandleFile(Buffer.from(text)).candles, candles, from)
      const reason = { remark: `history fetched again: ${change}`, change }
      if (change !== undefined) return acceptHistory({ rows, text, reason }, { series, tools, watch: watch.histories })
      watch.histories.countUsual()
      return addLaterCandles(later, stored, continuing)
    }),
  )
}

const addLaterCandles = (rows: Candles, stored: StoredCandles, continuing: CandleContext): Observable<ItemResult<Candle>> => {
  const { series, tools, watch } = continuing
  const { before, isTruncated } = stored
  const [isFinal, join, first] = [isComplete(stored), findJoin(stored), rows.at(0)]
  if (first === undefined) return of(createResult(rows, `the answer has neither the stored candle of ${toCandleDay(join)} nor a later one`))
  const isRepeated = isFinal || before !== undefined
  const change = describeJoinChange(join, first, isRepeated)
  if (change !== undefined)
    return fetchFullHistory({ remark: `history fetched again: the stored candle of ${toCandleDay(join)} ${change}` }, continuing)
  if (isFinal && !isTruncated && rows.length === 1 && isSameCandle(join, first)) {
    watch.countUsual()
    return of(skippedResult)
  }
  const added = pairWithPrevious([...rows].slice(isRepeated ? 1 : 0), join)
  return checkNewCandles(added, series, tools).pipe(
    switchMap(() => checkMoves(added, continuing)),
    map(() => (isTruncated ? { ...createResult(rows), remark: 'repaired: truncated last line' } : createResult(rows))),
  )
}

/** Refuses unusual moves of many series at once; single ones may be the market. */
const checkMoves = (added: readonly NewCandle[], { series, tools, watch }: CandleContext): Observable<unknown> => {
  const moves = added.map(([before, candle]) => before && findImpossibleMove(before, candle, thresholds.prices.unusual))
  const first = added[moves.findIndex((move) => move !== undefined)]
  const since = first && addDays(toCandleDay(first[1]), -thresholds.prices.actionDays)
  const action$ = since === undefined ? of('no move') : (series.findPriceAction?.(since) ?? of(undefined))
  return action$.pipe(
    switchMap((action) => {
      if (action !== undefined) watch.countUsual()
      else watch.countSuspect()
      return action !== undefined || tools.accepts('prices') ? of(false) : watch.whenDecided()
    }),
    map((areMany) => {
      if (areMany) refuse(tools, 'prices', `the prices of many series jump at once (${moves.find((move) => move !== undefined)})`)
    }),
  )
}

const isSameCandle = (one: Candle, other: Candle): boolean => one.every((cell, place) => cell === other[place])

const PRICES = ['open', 'high', 'low', 'close'] as const

/** How a fetched candle differs from the stored one. Volume does not count: it is revised late. */
const describeJoinChange = (stored: Candle, answered: Candle, isFinal: boolean): string | undefined => {
  if (stored[0] !== answered[0]) return 'is missing from the answer'
  const wrong = PRICES.findIndex((_, place) => isDifferentPrice(stored[place + 1] as number, answered[place + 1] as number))
  return isFinal && wrong >= 0 ? `differs (${PRICES[wrong]} ${stored[wrong + 1]}, now ${answered[wrong + 1]})` : undefined
}
