import { identity, map, type Observable, of, switchMap } from 'rxjs'
import type { Candle, Candles } from '../model/candle.js'
import { createResult, type ItemResult, skippedResult } from '../model/outcome.js'
import {
  addDays,
  type Day,
  findSessionEnd,
  type SpecialSessions,
  toDay,
  toInstant,
} from '../model/trading-day.js'
import { isTurn } from './calendar.js'
import { type createCandleEndpoint, describeLeftOut } from './candle-answer.js'
import {
  candleAt,
  describeRewriting,
  findFileFault,
  formatCandleFile,
  isDifferentPrice,
  readCandleFile,
  toCandleDay,
} from './candle-file.js'
import {
  acceptHistory,
  checkChangedClose,
  checkHistory,
  checkMoves,
  checkNewCandles,
  pairWithPrevious,
  type RefetchReason,
} from './candle-rules.js'
import { readLastRunInstant } from './former-stocks.js'
import { findAction, type PriceAction } from './price-actions.js'
import { createSuspectDetector, type SuspectDetector } from './refusal-policy.js'
import type { Tools } from './tools.js'
import { checkWitness, isSamePrice, WITNESSED_EXCHANGE } from './witness.js'

/** The start, in epoch seconds, that requests the full history (interface document, Limits). */
const FIRST_CANDLE = 215_634_600

const SESSION_OPENS = '09:00'

/** The candles of one stock or index: how to request them, and their file. */
export interface CandleSeries {
  readonly endpoint: ReturnType<typeof createCandleEndpoint>
  /** The fields that identify the instrument in a request. */
  readonly instrument: Readonly<Record<'EXCH' | 'SYM' | 'SEG' | 'INST' | 'SEC_ID', string>>
  readonly file: string
  /** An index: some have only a close, so a new candle may lack what the previous one lacks. */
  readonly isIndex?: boolean
  /** Reads the corporate actions that move its price; emits once. Without it, there are none. */
  readonly readActions?: () => Observable<readonly PriceAction[]>
}

interface Update {
  readonly series: CandleSeries
  readonly tools: Tools
  /** One for all series of the stream in this process. */
  readonly watch: SuspectDetector
  readonly stored: StoredEnd
  readonly actions: readonly PriceAction[]
}

/**
 * Fetches the candles that a stored file lacks: all, those of later days, or none. The request for later days
 * begins with the last complete stored candle, which the answer must repeat (the join). If it has another
 * close, as an official one may be, it alone is replaced. If it has another price, the candle before is
 * requested too, and only the end is replaced if that one is the same. If not, if
 * a split, bonus or rights issue is known, if the file is damaged, or in its turn, the full history is
 * fetched again and replaces the file, unless it is refused. An answer without candles changes nothing.
 */
export const updateCandles = (series: CandleSeries, tools: Tools): Observable<ItemResult<Candle>> =>
  tools
    .shared(`rescale ${series.endpoint.name}`, () => of(createSuspectDetector()))
    .pipe(
      switchMap((watch) =>
        watch.track(
          readStoredEnd(series.file, tools).pipe(
            switchMap((stored) =>
              stored === undefined
                ? fetchFirst(series, tools)
                : updateStored(stored, { series, tools, watch }),
            ),
            isWitnessed(series, tools)
              ? switchMap(checkWitness(series.instrument.SYM, tools, watch))
              : identity,
          ),
        ),
      ),
    )

/**
 * Looks with one request whether the provider has later candles than a stored file, or another last one:
 * `skipped` if not. The result is empty if that cannot be told.
 */
export const lookForCandles = (series: CandleSeries, tools: Tools): Observable<ItemResult<Candle>> =>
  readStoredEnd(series.file, tools).pipe(
    switchMap((stored) => {
      const { last } = stored ?? {}
      if (last === undefined) return of(createResult<Candle>([]))
      return fetchCandles(last[0], series, tools).pipe(
        map((rows) => {
          const [first, ...later] = rows
          const isSame =
            first !== undefined && describeJoinChange(last, first, true) === undefined && later.length === 0
          return isSame ? skippedResult : addNewest(createResult(rows))
        }),
      )
    }),
  )

/** The exchange's file has stocks alone. */
const isWitnessed = ({ isIndex }: CandleSeries, { settings }: Tools): boolean =>
  isIndex !== true && settings.exchange === WITNESSED_EXCHANGE && settings.with.includes('exchange-daily')

const fetchFirst = (series: CandleSeries, tools: Tools): Observable<ItemResult<Candle>> =>
  fetchCandles(FIRST_CANDLE, series, tools).pipe(
    map((rows) => {
      // Lines of CSV were checked when they were decoded.
      if (rows.csv === undefined) checkHistory(rows, tools)
      return addNewest(createResult(rows))
    }),
  )

const addNewest = (result: ItemResult<Candle>, stored?: Candle): ItemResult<Candle> => {
  const last = (result.rows as Candles).at(-1) ?? stored
  return last === undefined ? result : { ...result, newest: toCandleDay(last) }
}

const updateStored = (
  stored: StoredEnd | DamagedFile,
  { series, tools, watch }: Pick<Update, 'series' | 'tools' | 'watch'>,
): Observable<ItemResult<Candle>> => {
  if (stored.fault === undefined && isUpToDate(stored, tools.asOf))
    return of(addNewest(skippedResult, stored.last))
  const actions$ = series.readActions?.() ?? of([])
  return actions$.pipe(
    switchMap((actions) => {
      const context = { series, tools, watch, actions }
      if (stored.fault !== undefined) return fetchHistory({ remark: `repaired: ${stored.fault}` }, context)
      return fetchLacking({ ...context, stored })
    }),
    map((result) => addNewest(result, stored.last)),
  )
}

const fetchLacking = (update: Update): Observable<ItemResult<Candle>> => {
  const { series, tools, stored, actions } = update
  const { join } = stored
  const lastDay = toCandleDay(stored.last)
  const findDividing = (since: Day) =>
    findAction(actions, { since, until: toDay(tools.asOf), dividing: true })
  const adjustment = findDividing(lastDay)
  if (adjustment !== undefined) {
    const isOlder = findDividing(addDays(lastDay, 1)) === adjustment
    return fetchHistory({ remark: `history fetched again: ${adjustment}`, isAdjusted: true, isOlder }, update)
  }
  return isTurn(series.file, lastDay, toDay(tools.asOf))
    ? fetchCandles(FIRST_CANDLE, series, tools, join).pipe(switchMap((rows) => compareHistory(rows, update)))
    : fetchCandles(join[0], series, tools, join).pipe(switchMap((rows) => addLater(rows, update)))
}

/**
 * Fetches the candles from a timestamp to the run's "now". The stored candle `join` stays if the answer has
 * no prices of its day.
 */
const fetchCandles = (
  START: number,
  { endpoint, instrument }: CandleSeries,
  { ask, asOf, warn }: Tools,
  join?: Candle,
): Observable<Candles> => {
  const END = Math.floor(asOf / 1_000)
  return ask(endpoint, { ...instrument, EXPCODE: 0, INTERVAL: 'D', START, END }).pipe(
    map((answer) => {
      const { leftOut } = answer
      if (leftOut) for (const text of describeLeftOut(instrument.SYM, leftOut)) warn(text)
      const candles =
        join !== undefined && leftOut?.has(join[0])
          ? [...answer, join].sort(([one], [other]) => one - other)
          : answer
      const [first = START, last = START] = [candles.at(0)?.[0], candles.at(-1)?.[0]]
      // Candles outside of the requested range must not replace stored ones.
      return first >= START && last <= END
        ? candles
        : [...candles].filter(([time]) => time >= START && time <= END)
    }),
  )
}

/** Fetches the full history, which replaces the stored one unless a rule refuses it. */
const fetchHistory = (
  reason: RefetchReason,
  context: Omit<Update, 'stored'>,
): Observable<ItemResult<Candle>> => {
  const { series, tools, watch } = context
  return fetchCandles(FIRST_CANDLE, series, tools).pipe(
    switchMap((rows) =>
      tools.stored
        .text(series.file)
        .pipe(switchMap((text = '') => acceptHistory({ rows, text, reason }, context, watch))),
    ),
  )
}

/**
 * Replaces the stored history if only candles before the join differ; else adds the later candles, if the
 * answer repeats the join.
 */
const compareHistory = (rows: Candles, update: Update): Observable<ItemResult<Candle>> => {
  const { series, tools, watch, stored } = update
  // As columns: reading lines one by one takes five times as long.
  const { candles } = readCandleFile(
    Buffer.concat(formatCandleFile(rows).map((chunk) => Buffer.from(chunk as Uint8Array))),
  )
  const from = candles.time.findIndex((time) => time >= stored.join[0])
  const later = Array.from(
    { length: from < 0 ? 0 : candles.length - from },
    (_, place) => candleAt(candles, from + place) as Candle,
  )
  if (later[0] === undefined || describeJoinChange(stored.join, later[0], true) !== undefined)
    return addLater(later, update)
  return tools.stored.text(series.file).pipe(
    switchMap((text = '') => {
      const change = describeRewriting(readCandleFile(Buffer.from(text)).candles, candles, from)
      const reason = { remark: `history fetched again: ${change}`, change }
      if (change !== undefined) return acceptHistory({ rows, text, reason }, update, watch.histories)
      watch.histories.countUsual()
      return addLater(later, update)
    }),
  )
}

const addLater = (rows: Candles, update: Update): Observable<ItemResult<Candle>> => {
  const { tools, watch, stored, actions, series } = update
  const { join, before, isComplete, isTruncated } = stored
  const [first, ...others] = rows
  if (first === undefined)
    return of(
      createResult(rows, `the answer has neither the stored candle of ${toCandleDay(join)} nor a later one`),
    )
  const isRepeated = isComplete || before !== undefined
  const change = describeJoinChange(join, first, isRepeated)
  if (change !== undefined) {
    const reason = { remark: `history fetched again: the stored candle of ${toCandleDay(join)} ${change}` }
    if (!isComplete || before === undefined || first[0] !== join[0]) return fetchHistory(reason, update)
    const unfinished = { ...stored, isComplete: false, join: before }
    const replaceEnd = (end: Candles): Observable<ItemResult<Candle>> =>
      addLater(end, { ...update, stored: unfinished }).pipe(
        map((result) => ({
          ...result,
          remark: `replaced alone: the candle of ${toCandleDay(join)} (${change})`,
          onlyDay: toCandleDay(join),
        })),
      )
    if (isOfficialClose(join, first)) return replaceEnd([before, ...rows])
    // Only the last candle may have changed: then the one before it is as stored, and nothing else is
    // replaced.
    return fetchCandles(before[0], series, tools, before).pipe(
      switchMap((again) => {
        const [one] = again
        return one === undefined || describeJoinChange(before, one, true) !== undefined
          ? fetchHistory(reason, update)
          : checkChangedClose(join, first, tools, watch).pipe(switchMap(() => replaceEnd(again)))
      }),
    )
  }
  if (
    isComplete &&
    !isTruncated &&
    others.length === 0 &&
    first.every((cell, place) => cell === join[place])
  ) {
    watch.countUsual()
    return of(skippedResult)
  }
  const added = pairWithPrevious(isRepeated ? others : [first, ...others], join)
  checkNewCandles(added, { series, tools, actions })
  return checkMoves(added, { tools, actions, watch }).pipe(
    map(() =>
      isTruncated ? { ...createResult(rows), remark: 'repaired: truncated last line' } : createResult(rows),
    ),
  )
}

const PRICE_NAMES = ['open', 'high', 'low', 'close'] as const

/** How a fetched candle differs from the stored one. Volume does not count: it is revised late. */
const describeJoinChange = (stored: Candle, answered: Candle, isFinal: boolean): string | undefined => {
  if (stored[0] !== answered[0]) return 'is missing from the answer'
  const wrong = PRICE_NAMES.findIndex((_, place) =>
    isDifferentPrice(stored[place + 1] as number, answered[place + 1] as number),
  )
  return isFinal && wrong >= 0
    ? `differs (${PRICE_NAMES[wrong]} ${stored[wrong + 1]}, now ${answered[wrong + 1]})`
    : undefined
}

/**
 * Whether an answered candle may be the stored one with its official close, which comes some time after the
 * session: the open is the same, and the other prices differ by no more than two ways to close a day do.
 */
const isOfficialClose = (stored: Candle, [, open, high, low, close]: Candle): boolean =>
  !isDifferentPrice(stored[1], open) &&
  [high, low, close].every((price, place) => isSamePrice(stored[place + 2] as number, price))

/** The end of a stored candle file to which later candles can be appended. */
interface StoredEnd {
  readonly fault?: undefined
  readonly last: Candle
  readonly before: Candle | undefined
  /** Whether a truncated line follows the last candle. */
  readonly isTruncated: boolean
  /** Whether the last candle was stored after its session. */
  readonly isComplete: boolean
  /**
   * The candle that an answer must repeat: that of an unfinished session changes anyway, so only the one
   * before it shows a change.
   */
  readonly join: Candle
}

/** A candle file that only the full history can repair. */
interface DamagedFile {
  readonly fault: string
  readonly last?: undefined
}

/**
 * Reads the end of a candle file; `undefined` if it has no candle yet. A file with the instant of the last
 * run is as that run wrote it: reading its end is enough. Any other file is read completely: an editor, a
 * copy or an older tool may have changed it.
 */
const readStoredEnd = (
  file: string,
  tools: Pick<Tools, 'stored' | 'shared' | 'settings'>,
): Observable<StoredEnd | DamagedFile | undefined> =>
  tools.stored.tail(file).pipe(
    switchMap((tail) => {
      if (tail === undefined) return of(undefined)
      return tools
        .shared('last run', () => readLastRunInstant(tools.stored))
        .pipe(
          switchMap((lastRunAsOf) => {
            // A later time comes from an editor, a copy, or a run that was killed: its last candle is
            // requested again.
            const asOf = Math.min(tail.asOf, lastRunAsOf)
            const { sessions } = tools.settings
            const end = toStoredEnd([tail.header, ...tail.lines, ''].join('\n'), asOf, sessions)
            const isIntact = end !== undefined && end.fault === undefined && !end.isTruncated
            if (isIntact && tail.asOf === lastRunAsOf) return of(end)
            return tools.stored.text(file).pipe(map((text = '') => toStoredEnd(text, asOf, sessions)))
          }),
        )
    }),
  )

const toStoredEnd = (
  text: string,
  asOf: number,
  sessions: SpecialSessions,
): StoredEnd | DamagedFile | undefined => {
  const file = readCandleFile(Buffer.from(text))
  const fault = findFileFault(file)
  if (fault !== undefined) return { fault }
  const [last, before] = [1, 2].map((place) => candleAt(file.candles, file.candles.length - place))
  const isTruncated = file.isTruncated || file.badLine !== undefined
  if (last === undefined) return isTruncated ? { fault: 'truncated only line' } : undefined
  const isComplete = asOf >= toInstant(toCandleDay(last), findSessionEnd(toCandleDay(last), sessions))
  return { last, before, isTruncated, isComplete, join: isComplete ? last : (before ?? last) }
}

/**
 * Whether no day can be missing. Weekends and holidays get no special treatment: some of them have a session.
 */
const isUpToDate = ({ last, isTruncated, isComplete }: StoredEnd, now: number): boolean =>
  last[0] * 1_000 > now ||
  (!isTruncated && isComplete && now < toInstant(addDays(toCandleDay(last), 1), SESSION_OPENS))
