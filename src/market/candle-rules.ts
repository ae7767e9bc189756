import { map, type Observable, of } from 'rxjs'
import type { Candle, Candles } from '../model/candle.js'
import { formatNumber, formatQuantity, groupDigits } from '../model/format.js'
import { median } from '../model/map.js'
import { createResult, type ItemResult } from '../model/outcome.js'
import { addDays, toDay } from '../model/trading-day.js'
import { AS_BEFORE, SAME_PRICES } from './action-terms.js'
import {
  type CandleArrays,
  candleAt,
  DAY_SECONDS,
  isSameDay,
  readCandleFile,
  toCandleDay,
  toDayNumber,
} from './candle-file.js'
import { findAction, listLateFactors, type PriceAction } from './price-actions.js'
import { refuse, type SuspectCounts, thresholds } from './refusal-policy.js'
import type { Tools } from './tools.js'

const { newest, actionDays, lateGap } = thresholds.prices

/** A candle to store, and the one before it. */
export type NewCandle = readonly [before: Candle | undefined, candle: Candle]

/** The newest candles, each with the one before it; `before` precedes the first one. */
export const pairWithPrevious = (candles: readonly Candle[], before?: Candle): readonly NewCandle[] =>
  candles.map((candle, place): NewCandle => [candles[place - 1] ?? before, candle]).slice(-newest)

interface CheckContext {
  readonly series: { readonly isIndex?: boolean }
  readonly tools: Pick<Tools, 'accepts' | 'warn' | 'asOf' | 'pause'>
  readonly actions: readonly PriceAction[]
}

/** The corporate action that may explain a move from the candle of some day. */
const findExplanation = (
  from: string,
  { actions, tools }: Pick<CheckContext, 'actions' | 'tools'>,
): string | undefined => findAction(actions, { since: addDays(from, -actionDays), until: toDay(tools.asOf) })

/** Whether a price opens at the factor of an action that moved to this session. */
const isLateMove = (
  [before, [, open]]: NewCandle,
  { actions, tools }: Pick<CheckContext, 'actions' | 'tools'>,
): boolean =>
  before !== undefined &&
  listLateFactors(actions, { since: toCandleDay(before), until: toDay(tools.asOf) }).some(
    (factor) => Math.abs((open * factor) / before[CLOSE] - 1) <= lateGap,
  )

/**
 * Checks new candles: each must be possible by itself, and a jump from the close before it must have a
 * corporate action that explains it.
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
    if (fault !== undefined && !isUsual)
      refuse(tools, 'prices', `a new candle is impossible (${toCandleDay(candle)}: ${fault})`)
    const leap = before && findImpossibleMove(before, candle)
    if (
      before !== undefined &&
      leap !== undefined &&
      fault === undefined &&
      findExplanation(toCandleDay(before), context) === undefined &&
      !isLateMove([before, candle], context)
    )
      refuse(tools, 'prices', `a new candle has an unexplained price jump (${toCandleDay(candle)}: ${leap})`)
  }
}

/** Refuses unusual moves of many series at once; single ones may be the market. Emits once. */
export const checkMoves = (
  added: readonly NewCandle[],
  { watch, ...context }: Omit<CheckContext, 'series'> & { readonly watch: SuspectCounts },
): Observable<unknown> => {
  const { tools } = context
  const moves = added.map(
    ([before, candle]) => before && findImpossibleMove(before, candle, thresholds.prices.unusual),
  )
  const at = moves.findIndex((move) => move !== undefined)
  const first = added[at]
  if (
    first === undefined ||
    (findExplanation(toCandleDay(first[1]), context) ?? isLateMove(first, context))
  ) {
    watch.countUsual()
    return of(undefined)
  }
  watch.countSuspect()
  return refuseIfMany('prices', `the prices of many series jump at once (${moves[at]})`, tools, watch)
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
  /** Whether the stored candles are all of before it: then they show whether the provider divides by it. */
  readonly isOlder?: boolean
  /** How the history differs, if that was compared. */
  readonly change?: string | undefined
}

/**
 * The result that replaces the stored history, if it belongs to the same instrument, is not much shorter, its
 * new candles are plausible, and its prices are not a multiple of the stored ones that only an error
 * explains. Emits once.
 *
 * @throws RefusedError otherwise, unless the run accepts that
 */
export const acceptHistory = (
  { rows, text, reason }: { readonly rows: Candles; readonly text: string; readonly reason: RefetchReason },
  context: CheckContext,
  counts: SuspectCounts,
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
  const level$ = isOfAnother
    ? of(undefined)
    : checkLevel({ rows, stored, factor: likeness.factor, reason }, context, counts)
  const isSame = reason.isAdjusted && !isMultiple(likeness.factor)
  const remark = `${reason.remark}${isSame ? SAME_PRICES : ''}${isSame && reason.isOlder ? AS_BEFORE : ''}`
  return level$.pipe(map(() => ({ ...createResult(rows), whole: true, remark })))
}

const checkLength = (
  rows: Candles,
  { count, newest }: StoredHistory,
  { tools, remark }: { readonly tools: CheckContext['tools']; readonly remark: string },
): void => {
  const end = rows.at(-1)?.[0] ?? 0
  if (rows.length < count * thresholds.minShare)
    refuse(
      tools,
      'shrink',
      `the full history has ${formatQuantity(rows.length, 'candle')} instead of ${formatNumber(count)} (${remark})`,
    )
  else if (end < newest)
    refuse(
      tools,
      'shrink',
      `the full history ends on ${toDay(end * 1_000)}, before the stored one (${remark})`,
    )
}

/**
 * The candles that the stored history lacks, and recent ones that became impossible or differ from it by more
 * than 25 %.
 */
const findNewCandles = (
  rows: Candles,
  { recent, newest }: StoredHistory,
  { factor }: SeriesComparison,
): readonly NewCandle[] => {
  const isChanged = (stored: number, now: number) =>
    now !== stored && !(Math.abs(now / (stored * factor) - 1) <= thresholds.prices.changed)
  const isNew = ([, candle]: NewCandle) => {
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

/**
 * How the price level of a new history differs from the stored one; `undefined` if a few corrections or a
 * corporate action explain it.
 */
const describeLevelChange = ({ rows, stored: { recent }, factor, reason }: Compared): string | undefined => {
  if (reason.change !== undefined) return reason.change
  if (isMultiple(factor)) return `${Number(factor.toPrecision(3))} times the stored prices`
  if (reason.isAdjusted) return undefined
  const changed = [...rows].slice(-2 * newest).find((candle) => {
    const stored = recent.get(toDayNumber(candle[0]))
    return stored !== undefined && isOtherClose(stored, candle)
  })
  return (
    changed &&
    `a close of ${changed[CLOSE]} on ${toCandleDay(changed)} instead of ${recent.get(toDayNumber(changed[0]))?.[CLOSE]}`
  )
}

/**
 * Accepts a changed price level if a corporate action explains it, or if few series have one. Refuses it if
 * no action can explain it, if it is higher without any known action, or if many series change at once.
 */
const checkLevel = (
  compared: Compared,
  context: CheckContext,
  counts: SuspectCounts,
): Observable<unknown> => {
  const { tools } = context
  const { factor, reason, stored } = compared
  const isHigher = factor > thresholds.rescale.usualRise
  const [since, until] = [toDay(stored.newest * 1_000), toDay(tools.asOf)]
  const listed = listLateFactors(context.actions, { since, until })
  const change = listed.some((one) => !isMultiple(factor * one)) ? undefined : describeLevelChange(compared)
  if (change === undefined) counts.countUsual()
  if (change === undefined || (reason.isAdjusted && !isHigher && !isErrorFactor(factor))) return of(undefined)
  counts.countSuspect()
  if (isErrorFactor(factor))
    refuse(tools, 'rescale', `no corporate action explains the new price level (${change})`)
  if (tools.accepts('rescale')) return of(undefined)
  if (isHigher && findExplanation(since, context) === undefined)
    refuse(tools, 'rescale', `no corporate action explains the higher prices (${change})`)
  return refuseIfMany('rescale', describeMany(change), tools, counts)
}

const describeMany = (change: string): string => `the prices of many series changed in this run (${change})`

const refuseIfMany = (
  code: 'prices' | 'rescale',
  message: string,
  tools: CheckContext['tools'],
  counts: SuspectCounts,
): Observable<unknown> =>
  tools.accepts(code)
    ? of(undefined)
    : counts.whenDecided(tools.pause).pipe(
        map((areMany) => {
          if (areMany) refuse(tools, code, message)
        }),
      )

/**
 * Refuses a stored close that alone became another one, if that happens to many series at once. Emits once.
 */
export const checkChangedClose = (
  stored: Candle,
  now: Candle,
  tools: CheckContext['tools'],
  counts: SuspectCounts,
): Observable<unknown> => {
  if (!isOtherClose(stored, now)) return of(undefined)
  counts.countSuspect()
  const change = `a close of ${now[CLOSE]} on ${toCandleDay(now)} instead of ${stored[CLOSE]}`
  return refuseIfMany('rescale', describeMany(change), tools, counts)
}

const isOtherClose = (stored: Candle, now: Candle): boolean =>
  stored[CLOSE] > 0 && Math.abs(now[CLOSE] / stored[CLOSE] - 1) > thresholds.rescale.recentChange

export const findCandleFault = ([, open, high, low, close, volume]: Candle): string | undefined => {
  const prices = Object.entries({ open, high, low, close })
    .map(([name, price]) => `${name} ${groupDigits(price)}`)
    .join(', ')
  if (![open, high, low, close, volume].every(Number.isFinite))
    return `a value that is not a number: ${prices}, volume ${groupDigits(volume)}`
  if (low <= 0) return `a price that is not above zero: ${prices}`
  if (low > Math.min(open, close) || high < Math.max(open, close))
    return `open or close outside of low and high: ${prices}`
  return volume < 0 ? `volume ${groupDigits(volume)}` : undefined
}

/**
 * Why a whole history must not be stored, although older candles are stored as served: a volume that is no
 * number of shares, or a new day with two candles.
 */
const findHistoryFault = (candles: Candles): string | undefined => {
  const rows = [...candles]
  const negative = rows.find((candle) => candle[5] < 0)
  if (negative !== undefined) return `volume ${groupDigits(negative[5])} on ${toCandleDay(negative)}`
  return rows
    .slice(-thresholds.prices.newest)
    .map((candle, place, newest) => findRepeatedDay(newest[place - 1], candle))
    .find((fault) => fault !== undefined)
}

/** A text if two candles with different timestamps are of one day, else undefined. */
const findRepeatedDay = (before: Candle | undefined, candle: Candle): string | undefined =>
  before !== undefined && before[0] < candle[0] && isSameDay(before[0], candle[0])
    ? `two candles of ${toCandleDay(candle)}`
    : undefined

/** A move to this multiple of the previous close or more, or to this share of it or less. */
interface MoveLimits {
  readonly rise: number
  readonly fall: number
}

/**
 * A price move beyond the limits. By default one that the market cannot make: a provider error, unless a
 * corporate action explains it. Undefined for other moves.
 */
export const findImpossibleMove = (
  before: Candle,
  candle: Candle,
  { rise, fall }: MoveLimits = thresholds.prices,
): string | undefined => {
  const { minChange, restDays } = thresholds.prices
  const close = before[4]
  if (close <= 0 || (candle[0] - before[0]) / DAY_SECONDS >= restDays) return undefined
  const isBeyond = (price: number) =>
    (price >= close * rise || price <= close * fall) && Math.abs(price - close) >= minChange
  const price = [candle[4], candle[1], candle[2], candle[3]].find(isBeyond)
  return price === undefined ? undefined : `from a close of ${groupDigits(close)} to ${groupDigits(price)}`
}

type StoredHistory = ReturnType<typeof toStoredHistory>

/** The stored history of a series, as far as its file can be read. */
export const toStoredHistory = (candles: CandleArrays) => {
  /** By the number of their day. */
  const closes = new Map<number, number>()
  /** Its last candles, by the number of their day. */
  const recent = new Map<number, Candle>()
  /** Epoch seconds of its newest candle; 0 without one. */
  let newest = 0
  for (let index = 0; index < candles.length; index += 1) {
    closes.set(candles.day[index] as number, candles.close[index] as number)
    newest = Math.max(newest, candles.time[index] as number)
  }
  for (let index = Math.max(0, candles.length - thresholds.prices.newest); index < candles.length; index += 1)
    recent.set(candles.day[index] as number, candleAt(candles, index) as Candle)
  return { count: closes.size, newest, closes, recent }
}

type SeriesComparison = ReturnType<typeof compareSeries>

/** Rupees. Prices are rounded to paise before and after the multiplication. */
const ROUNDING_RUPEES = 0.006
/** Smaller moves may agree by chance. */
const MIN_MOVE = 0.003
const TOLERANCE = 0.001

/** Compares stored closes, by day number, with an answered history, which must ascend. */
export const compareSeries = (stored: ReadonlyMap<number, number>, answered: Iterable<Candle>) => {
  const factors: number[] = []
  let [moves, same, before, beforeNow] = [0, 0, 0, 0]
  for (const [time, , , , now] of answered) {
    const close = stored.get(toDayNumber(time))
    if (close === undefined || close <= 0) continue
    factors.push(now / close)
    const noise = ROUNDING_RUPEES * (1 / before + 1 / beforeNow + 1 / close + 1 / now)
    const move = close / before
    // A price of zero makes the noise infinite, so its moves never count.
    if (Math.abs(move - 1) > Math.max(MIN_MOVE, 3 * noise)) {
      moves += 1
      if (Math.abs(now / beforeNow / move - 1) <= TOLERANCE + noise) same += 1
    }
    before = close
    beforeNow = now
  }
  // The median ratio of answered to stored closes (1 if no day is in both), the close-to-close moves that are
  // in both series, and how many of these are equal. A factor does not change them, not even one that applies
  // up to some day only.
  return { factor: median(factors), moves, same }
}

/** Whether two histories are of different instruments; false if there are too few moves to decide. */
export const isOtherInstrument = ({ moves, same }: SeriesComparison): boolean =>
  moves >= thresholds.identity.minMoves && same < moves * thresholds.identity.share

export const isMultiple = (factor: number): boolean => Math.abs(factor - 1) > thresholds.rescale.tolerance

/** Whether no corporate action can explain the factor. */
export const isErrorFactor = (factor: number): boolean =>
  factor >= thresholds.rescale.impossibleRise || factor <= thresholds.rescale.impossibleFall
