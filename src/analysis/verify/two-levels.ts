import { numberToDay } from '../../market/candle-file.js'
import type { CandleSeries } from './candle-series.js'
import { findConstantFactor, formatFactor } from './constant-factor.js'
import type { Finding } from './finding.js'

export const LARGE_MOVE = 0.3

/** A close far from the previous one. */
export interface Jump {
  readonly index: number
  /** Close to close. */
  readonly ratio: number
  /** Rupees. */
  readonly change: number
  /** Days since the previous candle. */
  readonly rest: number
}

const toFactor = ({ ratio }: Jump): number => Math.max(ratio, 1 / ratio)

/** The price also moves on the day of a jump. */
const SAME_FACTOR = 0.1

/** The factor of jumps between two levels; undefined if it varies, or without jumps. */
export const findFactor = (jumps: readonly Jump[]): number | undefined =>
  jumps.length === 0 ? undefined : findConstantFactor(jumps.map(toFactor), SAME_FACTOR)

/** Closes that jump back and forth between two levels this often, each time within this many candles, are of two series. */
const SWING_CANDLES = 10
const MIN_SWINGS = 4
/** Rupees. The closes of a stock that trades at a few paise swing by ticks. */
const MIN_SWING = 0.5

export const findSwings = (jumps: readonly Jump[]): readonly Jump[] => {
  const chains: Jump[][] = []
  for (const jump of jumps.filter(({ change }) => change > MIN_SWING)) {
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

/** Levels at a constant factor are of one stock, before and after an action; the factor of two stocks varies. */
export const createSwingFinding = ({ symbol, file, candles }: CandleSeries, swings: readonly Jump[]): readonly Finding[] => {
  const [first] = swings
  if (first === undefined) return []
  const [from, to] = [candles.close[first.index - 1], candles.close[first.index]]
  const of = { severity: 'error', symbol, day: numberToDay(candles.day[first.index] as number), file } as const
  const factors = swings.map(toFactor)
  const factor = findFactor(swings)
  const text = `its closes swing ${swings.length} times between two levels, at first from ${from} to ${to}`
  if (factor !== undefined)
    return [{ check: 'unadjusted-actions', ...of, detail: `${text}, at a constant factor of ${formatFactor(factor)}` }]
  const [least, most] = [Math.min(...factors), Math.max(...factors)].map(formatFactor)
  return [{ check: 'spliced-series', ...of, detail: `${text}, at factors from ${least} to ${most}` }]
}

/** Closes at another level, from one jump to the opposite one. */
interface Block {
  readonly start: Jump
  readonly end: Jump
}

/** A stock does not move by more in one session, and back again within a year. */
const MIN_BLOCK_FACTOR = 1.5
const MAX_BLOCK_CANDLES = 250
/** After more days without a candle, any price may be real. */
const MAX_REST_DAYS = 7

/** Separates pairs of opposite jumps at one factor from other jumps. Jumps at the factor of swings belong to those. */
export const separateBlocks = (jumps: readonly Jump[], swingFactor: number | undefined) => {
  const blocks: Block[] = []
  const rest: Jump[] = []
  for (const jump of jumps) {
    const start = rest.at(-1)
    if (swingFactor !== undefined && Math.abs(toFactor(jump) / swingFactor - 1) <= SAME_FACTOR) continue
    if (start !== undefined && isBlock(start, jump)) {
      blocks.push({ start, end: jump })
      rest.pop()
    } else rest.push(jump)
  }
  return { blocks, rest }
}

const isBlock = (start: Jump, end: Jump): boolean =>
  [start, end].every((jump) => toFactor(jump) >= MIN_BLOCK_FACTOR && jump.change > MIN_SWING && jump.rest <= MAX_REST_DAYS) &&
  end.index - start.index <= MAX_BLOCK_CANDLES &&
  Math.abs(start.ratio * end.ratio - 1) <= SAME_FACTOR

export const createBlockFinding = ({ symbol, file, candles: { day, close } }: CandleSeries, { start, end }: Block): Finding => {
  const [from, to] = [numberToDay(day[start.index] as number), numberToDay(day[end.index - 1] as number)]
  const factor = formatFactor(Math.sqrt(toFactor(start) * toFactor(end)))
  const closes = `${close[start.index - 1]} to ${close[start.index]}, and back from ${close[end.index - 1]} to ${close[end.index]}`
  const detail = `${end.index - start.index} candles from ${from} to ${to} are at a constant factor of ${factor}: the close goes from ${closes}`
  return { check: 'unadjusted-actions', severity: 'error', symbol, day: from, file, detail }
}
