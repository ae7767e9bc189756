import { type CandleArrays, numberToDay } from '../../market/candle-file.js'
import type { CandleSeries } from './candle-series.js'
import type { Finding } from './finding.js'
import type { KnownAction } from './stock-facts.js'

const LARGE_MOVE = 0.3
/** Rupees. Changes of up to two ticks of 5 paise do not count: a tick may exceed 30 % of a price of a few paise. */
const MIN_CHANGE = 0.1 + 1e-9
/** An action moves the price on its ex-date, or a session or a weekend away from it. */
const NEAR_DAYS = 4
/** How far the opening price may be from an action's factor. */
const NEAR_FACTOR = 0.15
/** After a gap of this length a symbol may belong to another company. */
const LONG_GAP_DAYS = 90

/** Facts about a stock that may explain a move. */
export interface StockFacts {
  readonly actions: readonly KnownAction[]
  /** The day number of its listing. */
  readonly listedOn?: number | undefined
}

/** A close far from the previous one. */
interface Jump {
  readonly index: number
  /** Close to close. */
  readonly ratio: number
}

/**
 * Finds closes more than 30 % from the previous one and classifies them: an action without adjustment, another stock's series, or just a
 * large move.
 */
export const findPriceMoves = (series: CandleSeries, known: StockFacts): readonly Finding[] => {
  const jumps = findJumps(series.candles)
  if (jumps.length === 0) return []
  const swings = findSwings(jumps)
  return [
    ...createSwingFinding(series, swings),
    ...jumps.filter((jump) => !swings.includes(jump)).map((jump) => createJumpFinding(series, jump, known)),
  ]
}

const findJumps = ({ close, length }: CandleArrays): readonly Jump[] => {
  const jumps: Jump[] = []
  for (let index = 1; index < length; index += 1) {
    const [before, now] = [close[index - 1] as number, close[index] as number]
    const change = Math.abs(now - before)
    if (change > LARGE_MOVE * before && change > MIN_CHANGE && before > 0 && now > 0) jumps.push({ index, ratio: now / before })
  }
  return jumps
}

/** Closes that jump back and forth between two levels this often, each time within this many candles, are of two series. */
const SWING_CANDLES = 10
const MIN_SWINGS = 4

const findSwings = (jumps: readonly Jump[]): readonly Jump[] => {
  const chains: Jump[][] = []
  for (const jump of jumps) {
    const chain = chains.at(-1)
    const last = chain?.at(-1)
    const isReversal =
      last !== undefined &&
      jump.index - last.index <= SWING_CANDLES &&
      Math.abs(Math.log(jump.ratio * last.ratio)) < Math.log(1 + LARGE_MOVE)
    if (chain && isReversal) chain.push(jump)
    else chains.push([jump])
  }
  return chains.filter(({ length }) => length >= MIN_SWINGS).flat()
}

const createSwingFinding = ({ symbol, file, candles }: CandleSeries, swings: readonly Jump[]): readonly Finding[] => {
  const [first] = swings
  if (first === undefined) return []
  const [from, to] = [candles.close[first.index - 1], candles.close[first.index]]
  const day = numberToDay(candles.day[first.index] as number)
  const detail = `its closes swing ${swings.length} times between two levels, at first from ${from} to ${to}`
  return [{ check: 'spliced-series', severity: 'error', symbol, day, file, detail }]
}

const createJumpFinding = ({ symbol, file, candles }: CandleSeries, { index, ratio }: Jump, { actions, listedOn }: StockFacts): Finding => {
  const { open, close, day } = candles
  const [before, today] = [day[index - 1] as number, day[index] as number]
  const of = { symbol, day: numberToDay(today), file }
  const detail = `the close goes from ${close[index - 1]} to ${close[index]} (${formatPercent(ratio)})`
  const near = actions.filter((action) => action.day > before - NEAR_DAYS && action.day < today + NEAR_DAYS)
  const opening = (open[index] as number) / (close[index - 1] as number)
  const unadjusted = near.find(({ factors }) => factors.some((factor) => [ratio, opening].some((move) => isNear(move * factor, 1))))
  if (unadjusted) {
    const { kind, day: on } = unadjusted
    return { check: 'unadjusted-actions', severity: 'error', ...of, detail: `${detail} with the ${kind} of ${numberToDay(on)}` }
  }
  const rest = today - before
  if (rest >= LONG_GAP_DAYS && looksLikeAnother(candles, index, ratio))
    return { check: 'spliced-series', severity: 'warning', ...of, detail: `${detail} after ${rest} days without a candle` }
  const listing = listedOn !== undefined && listedOn > before && listedOn <= today ? [`at its listing of ${numberToDay(listedOn)}`] : []
  if (listing.length > 0 && isOtherPrice(ratio))
    return { check: 'spliced-series', severity: 'warning', ...of, detail: [detail, ...listing].join(', ') }
  const [action] = near
  const notes = [
    ...listing,
    ...(action === undefined ? describeFactor(opening) : [`near the ${action.kind} of ${numberToDay(action.day)}`]),
    ...(rest > 7 ? [`after ${rest} days without a candle`] : []),
  ]
  return { check: 'large-moves', severity: 'warning', ...of, detail: [detail, ...notes].join(', ') }
}

const isNear = (value: number, goal: number, by = NEAR_FACTOR): boolean => Math.abs(value / goal - 1) <= by

const formatPercent = (ratio: number): string => `${ratio < 1 ? '-' : '+'}${Math.abs((ratio - 1) * 100).toFixed(0)} %`

const FACTORS = [2, 3, 4, 5, 10] as const

/** A hint if the price opened at a round fraction: lists of actions do not reach back far. */
const describeFactor = (opening: number): readonly string[] => {
  const factor = FACTORS.find((one) => isNear(opening * one, 1, 0.03))
  return factor === undefined ? [] : [`like a split of 1 into ${factor} that was not adjusted`]
}

const isOtherPrice = (ratio: number): boolean => Math.max(ratio, 1 / ratio) >= OTHER_PRICE

const VOLUME_CANDLES = 5
const OTHER_PRICE = 3
const OTHER_VOLUME = 10

/** Whether price or volume start at another level. After a mere trading gap a stock returns at about its old level. */
const looksLikeAnother = ({ volume, length }: CandleArrays, index: number, ratio: number): boolean => {
  if (isOtherPrice(ratio)) return true
  const before = median(volume.subarray(Math.max(0, index - VOLUME_CANDLES), index))
  const after = median(volume.subarray(index, Math.min(length, index + VOLUME_CANDLES)))
  return Math.max((before + 1) / (after + 1), (after + 1) / (before + 1)) >= OTHER_VOLUME
}

export const median = (values: Float64Array): number => values.slice().sort()[values.length >> 1] ?? 0
