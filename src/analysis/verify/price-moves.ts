import { type CandleArrays, numberToDay } from '../../market/candle-file.js'
import type { CandleSeries } from './candle-series.js'
import type { Finding } from './finding.js'
import type { KnownAction } from './stock-facts.js'
import { createBlockFinding, createSwingFinding, findFactor, findSwings, type Jump, LARGE_MOVE, separateBlocks } from './two-levels.js'

/** Rupees. Changes of up to two ticks of 5 paise do not count: a tick may exceed 30 % of a price of a few paise. */
const MIN_CHANGE = 0.1 + 1e-9
/** An action moves the price on its ex-date, or a session or a weekend away from it. */
const NEAR_DAYS = 4
/** How far the opening price may be from an action's factor. */
const NEAR_FACTOR = 0.15
/** Prices that are further apart at a listing are of two stocks. */
const OTHER_PRICE = 3
/** A move mentions a longer gap before it. */
export const NOTED_REST_DAYS = 7

/** Facts about a stock that may explain a move. */
export interface StockFacts {
  readonly actions: readonly KnownAction[]
  /** The day number of its listing. */
  readonly listedOn?: number | undefined
  /** Whether a price band limits its moves. */
  readonly hasBand?: boolean | undefined
  /** The day numbers of impossible candles. */
  readonly impossibleDays: ReadonlySet<number>
}

/**
 * Finds closes more than 30 % from the previous one and classifies them: a spike, an action without adjustment, another stock's series, or
 * just a large move. Skips the days of impossible candles: those have a finding of their own.
 */
export const findPriceMoves = (series: CandleSeries, known: StockFacts): readonly Finding[] => {
  const jumps = findJumps(series.candles, known.impossibleDays)
  const swings = findSwings(jumps.filter(isLarge))
  const { spikes, steps } = separateSpikes(
    jumps.filter((jump) => !swings.includes(jump)),
    series.candles,
  )
  const { blocks, rest } = separateBlocks(
    steps.filter((jump) => isLarge(jump) || (known.hasBand && jump.index > FIRST_CANDLES && jump.rest <= MAX_BAND_REST)),
    findFactor(swings),
  )
  return [
    ...createSwingFinding(series, swings),
    ...blocks.map((block) => createBlockFinding(series, block)),
    ...spikes.map((spike) => createSpikeFinding(series, spike)),
    ...[...rest, ...findSmallActions(series, known, jumps)].map((jump) => createJumpFinding(series, jump, known)),
  ]
}

const isLarge = ({ ratio }: Jump): boolean => Math.abs(ratio - 1) > LARGE_MOVE

/** The widest price band of stocks is 20 %; its limits are rounded. A stock has none on its first day, and on the first one after a suspension. */
const WIDEST_BAND = 0.205
const FIRST_CANDLES = 10
const MAX_BAND_REST = 5
/** Which stocks had a band earlier than a year ago is not known. */
const RECENT_CANDLES = 250

const findJumps = ({ day, close, length }: CandleArrays, impossibleDays: ReadonlySet<number>): readonly Jump[] => {
  const jumps: Jump[] = []
  const recent = length - RECENT_CANDLES
  for (let index = 1; index < length; index += 1) {
    const [before, now] = [close[index - 1] as number, close[index] as number]
    const change = Math.abs(now - before)
    const limit = index < recent ? LARGE_MOVE : WIDEST_BAND
    if (!(change > limit * before && change > MIN_CHANGE && before > 0 && now > 0)) continue
    const [today, dayBefore] = [day[index] as number, day[index - 1] as number]
    if (!impossibleDays.has(today) && !impossibleDays.has(dayBefore))
      jumps.push({ index, ratio: now / before, change, rest: today - dayBefore })
  }
  return jumps
}

/** Prices that open lower by the factor of an action, too little for a jump, such as after a bonus of 1 for 5. */
const findSmallActions = ({ candles }: CandleSeries, { actions }: StockFacts, jumps: readonly Jump[]): readonly Jump[] => {
  const { day, open, close, length } = candles
  return actions.flatMap(({ day: on, factors }) => {
    const index = day.subarray(0, length).findIndex((one) => one >= on)
    const [before, now, opening] = [close[index - 1] ?? 0, close[index] ?? 0, open[index] ?? 0]
    const isUnadjusted = factors.some((factor) => factor > 1 && isNear((opening / before) * factor, 1, (factor - 1) / 4))
    if (index < 1 || jumps.some((jump) => jump.index === index) || !isUnadjusted) return []
    return [{ index, ratio: now / before, change: Math.abs(now - before), rest: (day[index] as number) - (day[index - 1] as number) }]
  })
}

/** A spike is undone within this many candles. */
const SPIKE_CANDLES = 3

/** Closes that leave their level and return to it. */
interface Spike {
  readonly index: number
  /** The first candle back at the level. */
  readonly backAt: number
}

/** Separates jumps into spikes, each with all jumps from its start to its return, and lasting steps. */
const separateSpikes = (jumps: readonly Jump[], candles: CandleArrays) => {
  const spikes: Spike[] = []
  const steps: Jump[] = []
  for (const jump of jumps) {
    const last = spikes.at(-1)
    if (last !== undefined && jump.index <= last.backAt) continue
    const backAt = findReturn(jump, candles)
    if (backAt === undefined) steps.push(jump)
    else spikes.push({ index: jump.index, backAt })
  }
  return { spikes, steps }
}

/** The first candle that is back at the close before the jump, but for a third of the jump and for less than a large move. */
const findReturn = ({ index, ratio }: Jump, { close, length }: CandleArrays): number | undefined => {
  const most = Math.min(Math.abs(Math.log(ratio)) / 3, Math.log(1 + LARGE_MOVE))
  for (let back = index + 1; back <= index + SPIKE_CANDLES && back < length; back += 1)
    if (Math.abs(Math.log((close[back] as number) / (close[index - 1] as number))) <= most) return back
  return undefined
}

const createSpikeFinding = ({ symbol, file, candles: { day, close } }: CandleSeries, { index, backAt }: Spike): Finding => {
  const [before, now] = [close[index - 1] as number, close[index] as number]
  const detail = `the close spikes from ${before} to ${now} (${formatPercent(now / before)}) and is back at ${close[backAt]} on ${numberToDay(day[backAt] as number)}`
  return { check: 'large-moves', severity: 'warning', symbol, day: numberToDay(day[index] as number), file, detail }
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
  const listing = listedOn !== undefined && listedOn > before && listedOn <= today ? [`at its listing of ${numberToDay(listedOn)}`] : []
  if (listing.length > 0 && Math.max(ratio, 1 / ratio) >= OTHER_PRICE)
    return { check: 'spliced-series', severity: 'warning', ...of, detail: [detail, ...listing].join(', ') }
  const [action] = near
  const notes = [
    ...listing,
    ...(action === undefined ? describeFactor(opening) : [`near the ${action.kind} of ${numberToDay(action.day)}`]),
    ...(rest > NOTED_REST_DAYS ? [`after ${rest} days without a candle`] : []),
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
