import { concatMap, defaultIfEmpty, from, ignoreElements, map, type Observable, of, switchMap } from 'rxjs'
import {
  compareSeries,
  findCandleFault,
  findHistoryFault,
  findImpossibleMove,
  findRepeatedDay,
  isErrorFactor,
  isMultiple,
  isOtherInstrument,
  type SeriesComparison,
  type StoredHistory,
  toStoredHistory,
} from '../market/candle-checks.js'
import { readCandleFile, toDayNumber } from '../market/candle-file.js'
import { type RescaleCounts, thresholds } from '../market/refusal-policy.js'
import type { Candle, Candles } from '../model/candle.js'
import { createResult, type ItemResult } from '../model/outcome.js'
import { addDays, toDay } from '../model/trading-day.js'
import type { Tools } from './define-stream.js'
import { refuse } from './refuse.js'
import { FIRST_CANDLE, fetchCandles, type Series, toCandleDay } from './stored-candles.js'

const { newest, actionDays } = thresholds.prices

/** A candle to store, and the one before it. */
export type NewCandle = readonly [before: Candle | undefined, candle: Candle]

/** The newest candles, each with the one before it; `before` precedes the first one. */
export const pairWithPrevious = (candles: readonly Candle[], before?: Candle): readonly NewCandle[] =>
  candles.map((candle, place): NewCandle => [candles[place - 1] ?? before, candle]).slice(-newest)

/**
 * Checks new candles: each must be possible by itself, and a jump from the close before it must have a corporate action that explains it.
 * Emits once; errors with a `RefusedError` (`prices`) otherwise, unless the run accepts such prices.
 */
export const checkNewCandles = (candles: readonly NewCandle[], series: Series, tools: Tools): Observable<undefined> =>
  from(candles).pipe(
    concatMap(([before, candle]) => {
      const fault = findCandleFault(candle)
      const repeated = findRepeatedDay(before, candle)
      if (repeated !== undefined) refuse(tools, 'prices', repeated)
      const isUsual = series.isIndex === true && before !== undefined && findCandleFault(before) !== undefined
      if (fault !== undefined && !isUsual) refuse(tools, 'prices', `a new candle is impossible (${toCandleDay(candle)}: ${fault})`)
      const leap = before && findImpossibleMove(before, candle)
      if (before === undefined || leap === undefined || fault !== undefined) return of(undefined)
      const action$ = series.findPriceAction?.(addDays(toCandleDay(before), -actionDays)) ?? of(undefined)
      return action$.pipe(
        map((action) => {
          if (action === undefined) refuse(tools, 'prices', `a new candle has an unexplained price jump (${toCandleDay(candle)}: ${leap})`)
        }),
      )
    }),
    ignoreElements(),
    defaultIfEmpty(undefined),
  )

/** Refuses a history that does not fit its table, unless the run accepts that. */
export const checkHistory = (rows: Candles, tools: Tools): Candles => {
  const fault = findHistoryFault(rows)
  if (fault !== undefined) refuse(tools, 'prices', `the history has ${fault}`)
  return rows
}

/** Why the full history is fetched again. */
export interface RefetchReason {
  readonly remark: string
  /** Whether a known corporate action divides all earlier prices. */
  readonly isAdjusted?: boolean
  /** How the history differs, if that was compared. */
  readonly change?: string | undefined
}

interface ReplaceContext {
  readonly series: Series
  readonly tools: Tools
  readonly watch: RescaleCounts
}

/**
 * Fetches the full history. It replaces the stored one if it belongs to the same instrument, is not much shorter, its new candles are
 * plausible, and its prices are not a multiple of the stored ones that only an error explains.
 */
export const fetchFullHistory = (reason: RefetchReason, replacing: ReplaceContext): Observable<ItemResult<Candle>> => {
  const { series, tools } = replacing
  return fetchCandles(FIRST_CANDLE, series, tools).pipe(
    switchMap((rows) =>
      tools.stored.text(series.file).pipe(switchMap((text) => acceptHistory({ rows, text: text ?? '', reason }, replacing))),
    ),
  )
}

/** The result that replaces the stored history, unless a rule refuses it. */
export const acceptHistory = (
  { rows, text, reason }: { readonly rows: Candles; readonly text: string; readonly reason: RefetchReason },
  { series, tools, watch }: ReplaceContext,
): Observable<ItemResult<Candle>> => {
  const { candles } = readCandleFile(Buffer.from(text))
  const stored = toStoredHistory(candles)
  const likeness = compareSeries(stored.closes, rows)
  const isOfAnother = isOtherInstrument(likeness)
  if (isOfAnother) {
    const shared = `${likeness.same} of ${likeness.moves} daily moves match the stored candles`
    refuse(tools, 'identity', `the full history belongs to another instrument (${shared})`)
  }
  checkLength(rows, stored, { tools, remark: reason.remark })
  // Days that are there twice already are no reason to keep prices from before a split.
  if (stored.count === candles.length) checkHistory(rows, tools)
  if (rows.length === 0) return of(createResult(rows))
  return checkNewCandles(findNewCandles(rows, stored, likeness), series, tools).pipe(
    // The factor means nothing for a history that was accepted although it belongs to another instrument.
    switchMap(() => (isOfAnother ? of(undefined) : checkLevel({ rows, stored, likeness, reason }, { series, tools, watch }))),
    map(() => ({ ...createResult(rows), whole: true, remark: reason.remark })),
  )
}

const checkLength = (
  rows: Candles,
  { count, newest }: StoredHistory,
  { tools, remark }: { readonly tools: Tools; readonly remark: string },
): void => {
  const end = rows.at(-1)?.[0] ?? 0
  if (rows.length < count * thresholds.minShare)
    refuse(tools, 'shrink', `the full history has ${rows.length} candles instead of ${count} (${remark})`)
  else if (end < newest) refuse(tools, 'shrink', `the full history ends on ${toDay(end * 1_000)}, before the stored one (${remark})`)
}

/** The candles that the stored history lacks, and recent ones that became impossible or differ from it by more than 25 %. */
const findNewCandles = (rows: Candles, { recent, newest }: StoredHistory, { factor }: SeriesComparison): readonly NewCandle[] => {
  const isChanged = (stored: number, now: number): boolean =>
    now !== stored && !(Math.abs(now / (stored * factor) - 1) <= thresholds.prices.changed)
  const isNew = ([, candle]: NewCandle): boolean => {
    const stored = recent.get(toDayNumber(candle[0]))
    if (stored === undefined) return candle[0] > newest
    if (findCandleFault(candle) !== undefined && findCandleFault(stored) === undefined) return true
    return PRICES.some((column) => isChanged(stored[column], candle[column]))
  }
  return newest === 0 ? [] : pairWithPrevious([...rows]).filter(isNew)
}

const PRICES = [1, 2, 3, 4] as const
const CLOSE = 4

interface Compared {
  readonly rows: Candles
  readonly stored: StoredHistory
  readonly likeness: SeriesComparison
  readonly reason: RefetchReason
}

/** How the price level of a new history differs from the stored one; `undefined` if a few corrections or a corporate action explain it. */
const describeLevelChange = ({ rows, stored: { recent }, likeness: { factor }, reason }: Compared): string | undefined => {
  if (isMultiple(factor)) return `${Number(factor.toPrecision(3))} times the stored prices`
  if (reason.isAdjusted) return undefined
  const changed = [...rows].slice(-2 * thresholds.prices.newest).find((candle) => {
    const stored = recent.get(toDayNumber(candle[0]))
    return stored !== undefined && stored[CLOSE] > 0 && Math.abs(candle[CLOSE] / stored[CLOSE] - 1) > thresholds.rescale.recentChange
  })
  return changed && `a close of ${changed[CLOSE]} on ${toCandleDay(changed)} instead of ${recent.get(toDayNumber(changed[0]))?.[CLOSE]}`
}

/**
 * Accepts a changed price level if a corporate action explains it, or if few series have one. Refuses it if no action can explain it, if it
 * is higher without any known action, or if many series change at once.
 */
const checkLevel = (compared: Compared, { series, tools, watch }: ReplaceContext): Observable<unknown> => {
  const { factor } = compared.likeness
  const change = compared.reason.change ?? describeLevelChange(compared)
  const { usualRise } = thresholds.rescale
  if (change === undefined) {
    watch.countUsual()
    return of(undefined)
  }
  if (compared.reason.isAdjusted && factor <= usualRise && !isErrorFactor(factor)) return of(undefined)
  watch.countSuspect()
  if (isErrorFactor(factor)) refuse(tools, 'rescale', `no corporate action explains the new price level (${change})`)
  if (tools.accepts('rescale')) return of(undefined)
  const since = addDays(toDay(compared.stored.newest * 1_000), -actionDays)
  const action$ = factor > usualRise ? (series.findPriceAction?.(since) ?? of(undefined)) : of('not needed')
  return action$.pipe(
    switchMap((action) => {
      if (action === undefined) refuse(tools, 'rescale', `no corporate action explains the higher prices (${change})`)
      return watch.whenDecided()
    }),
    map((areMany) => {
      if (areMany) refuse(tools, 'rescale', `the prices of many series changed in this run (${change})`)
    }),
  )
}
