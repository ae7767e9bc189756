import { map, type Observable, of } from 'rxjs'
import type { Candle, Candles } from '../model/candle.js'
import { createResult, type ItemResult } from '../model/outcome.js'
import { addDays, toDay } from '../model/trading-day.js'
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
} from './candle-checks.js'
import { readCandleFile, toCandleDay, toDayNumber } from './candle-file.js'
import { findAction, type PriceAction } from './price-actions.js'
import { type RescaleCounts, thresholds } from './refusal-policy.js'
import { refuse } from './refuse.js'
import type { Tools } from './tools.js'

const { newest, actionDays } = thresholds.prices

/** A candle to store, and the one before it. */
export type NewCandle = readonly [before: Candle | undefined, candle: Candle]

/** The newest candles, each with the one before it; `before` precedes the first one. */
export const pairWithPrevious = (candles: readonly Candle[], before?: Candle): readonly NewCandle[] =>
  candles.map((candle, place): NewCandle => [candles[place - 1] ?? before, candle]).slice(-newest)

/** What the checks of a series use. */
interface CheckContext {
  readonly series: { readonly isIndex?: boolean }
  readonly tools: Pick<Tools, 'accepts' | 'warn' | 'asOf'>
  /** The corporate actions that move its price. */
  readonly actions: readonly PriceAction[]
}

/** The corporate action that may explain a move from the candle of some day. */
const findExplanation = (from: string, { actions, tools }: Pick<CheckContext, 'actions' | 'tools'>): string | undefined =>
  findAction(actions, { since: addDays(from, -actionDays), until: toDay(tools.asOf) })

/**
 * Checks new candles: each must be possible by itself, and a jump from the close before it must have a corporate action that explains it.
 *
 * @throws RefusedError (`prices`) otherwise, unless the run accepts such prices
 */
export const checkNewCandles = (candles: readonly NewCandle[], context: CheckContext): void => {
  const { series, tools } = context
  for (const [before, candle] of candles) {
    const fault = findCandleFault(candle)
    const repeated = findRepeatedDay(before, candle)
    if (repeated !== undefined) refuse(tools, 'prices', repeated)
    const isUsual = series.isIndex === true && before !== undefined && findCandleFault(before) !== undefined
    if (fault !== undefined && !isUsual) refuse(tools, 'prices', `a new candle is impossible (${toCandleDay(candle)}: ${fault})`)
    const leap = before && findImpossibleMove(before, candle)
    if (before !== undefined && leap !== undefined && fault === undefined && findExplanation(toCandleDay(before), context) === undefined)
      refuse(tools, 'prices', `a new candle has an unexplained price jump (${toCandleDay(candle)}: ${leap})`)
  }
}

/** Refuses unusual moves of many series at once; single ones may be the market. Emits once. */
export const checkMoves = (
  added: readonly NewCandle[],
  { watch, ...context }: Omit<CheckContext, 'series'> & { readonly watch: RescaleCounts },
): Observable<unknown> => {
  const { tools } = context
  const moves = added.map(([before, candle]) => before && findImpossibleMove(before, candle, thresholds.prices.unusual))
  const at = moves.findIndex((move) => move !== undefined)
  const first = added[at]
  if (first === undefined || findExplanation(toCandleDay(first[1]), context) !== undefined) {
    watch.countUsual()
    return of(undefined)
  }
  watch.countSuspect()
  if (tools.accepts('prices')) return of(undefined)
  return watch.whenDecided().pipe(
    map((areMany) => {
      if (areMany) refuse(tools, 'prices', `the prices of many series jump at once (${moves[at]})`)
    }),
  )
}

/** Refuses a history that does not fit its table, unless the run accepts that. */
export const checkHistory = (rows: Candles, tools: CheckContext['tools']): void => {
  const fault = findHistoryFault(rows)
  if (fault !== undefined) refuse(tools, 'prices', `the history has ${fault}`)
}

/** Why the full history is fetched again. */
export interface RefetchReason {
  readonly remark: string
  /** Whether a known corporate action divides all earlier prices. */
  readonly isAdjusted?: boolean
  /** How the history differs, if that was compared. */
  readonly change?: string | undefined
}

/**
 * The result that replaces the stored history, if it belongs to the same instrument, is not much shorter, its new candles are plausible, and
 * its prices are not a multiple of the stored ones that only an error explains. Emits once.
 *
 * @throws RefusedError otherwise, unless the run accepts that
 */
export const acceptHistory = (
  { rows, text, reason }: { readonly rows: Candles; readonly text: string; readonly reason: RefetchReason },
  context: CheckContext,
  counts: RescaleCounts,
): Observable<ItemResult<Candle>> => {
  const { tools } = context
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
  checkNewCandles(findNewCandles(rows, stored, likeness), context)
  // The factor means nothing for a history that was accepted although it belongs to another instrument.
  const level$ = isOfAnother ? of(undefined) : checkLevel({ rows, stored, factor: likeness.factor, reason }, context, counts)
  return level$.pipe(map(() => ({ ...createResult(rows), whole: true, remark: reason.remark })))
}

const checkLength = (
  rows: Candles,
  { count, newest }: StoredHistory,
  { tools, remark }: { readonly tools: CheckContext['tools']; readonly remark: string },
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
    return PRICE_COLUMNS.some((column) => isChanged(stored[column], candle[column]))
  }
  return newest === 0 ? [] : pairWithPrevious([...rows]).filter(isNew)
}

const PRICE_COLUMNS = [1, 2, 3, 4] as const
const CLOSE = 4

interface Compared {
  readonly rows: Candles
  readonly stored: StoredHistory
  readonly factor: number
  readonly reason: RefetchReason
}

/** How the price level of a new history differs from the stored one; `undefined` if a few corrections or a corporate action explain it. */
const describeLevelChange = ({ rows, stored: { recent }, factor, reason }: Compared): string | undefined => {
  if (reason.change !== undefined) return reason.change
  if (isMultiple(factor)) return `${Number(factor.toPrecision(3))} times the stored prices`
  if (reason.isAdjusted) return undefined
  const changed = [...rows].slice(-2 * newest).find((candle) => {
    const stored = recent.get(toDayNumber(candle[0]))
    return stored !== undefined && stored[CLOSE] > 0 && Math.abs(candle[CLOSE] / stored[CLOSE] - 1) > thresholds.rescale.recentChange
  })
  return changed && `a close of ${changed[CLOSE]} on ${toCandleDay(changed)} instead of ${recent.get(toDayNumber(changed[0]))?.[CLOSE]}`
}

/**
 * Accepts a changed price level if a corporate action explains it, or if few series have one. Refuses it if no action can explain it, if it
 * is higher without any known action, or if many series change at once.
 */
const checkLevel = (compared: Compared, context: CheckContext, counts: RescaleCounts): Observable<unknown> => {
  const { tools } = context
  const { factor, reason, stored } = compared
  const isHigher = factor > thresholds.rescale.usualRise
  const change = describeLevelChange(compared)
  if (change === undefined) counts.countUsual()
  if (change === undefined || (reason.isAdjusted && !isHigher && !isErrorFactor(factor))) return of(undefined)
  counts.countSuspect()
  if (isErrorFactor(factor)) refuse(tools, 'rescale', `no corporate action explains the new price level (${change})`)
  if (tools.accepts('rescale')) return of(undefined)
  if (isHigher && findExplanation(toDay(stored.newest * 1_000), context) === undefined)
    refuse(tools, 'rescale', `no corporate action explains the higher prices (${change})`)
  return counts.whenDecided().pipe(
    map((areMany) => {
      if (areMany) refuse(tools, 'rescale', `the prices of many series changed in this run (${change})`)
    }),
  )
}
