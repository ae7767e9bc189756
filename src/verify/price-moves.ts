import { type CandleArrays, dayToNumber, numberToDay } from '../market/candle-file.js'
import type { OwnerFinder } from '../market/former-stocks.js'
import {
  ACTION_FILES,
  combineFactors,
  nameKind,
  type PriceAction,
  readPriceActions,
} from '../market/price-actions.js'
import { formatNumber, formatQuantity, groupDigits } from '../model/format.js'
import { median } from '../model/map.js'
import type { CheckName, Finding, Severity } from './finding.js'

const LARGE_MOVE = 0.3
/**
 * Rupees. Changes of up to two ticks of 5 paise do not count: a tick may exceed 30 % of a price of a few
 * paise.
 */
const MIN_CHANGE = 0.1 + 1e-9
/** An action moves the price on its ex-date, or a session or a weekend away from it. */
const ACTION_NEAR_DAYS = 4
/** How far the opening price may be from an action's factor. */
const NEAR_FACTOR = 0.15
/** Prices that are further apart at a listing are of two stocks. */
const OTHER_PRICE = 3
/** After more days without a candle any price may be real, and a move mentions them. */
export const NOTED_REST_DAYS = 7

/** A corporate action that changes the price level. */
export interface KnownAction {
  readonly kind: string
  /** The ex-date, as a day number. */
  readonly day: number
  /** Possible factors that earlier prices are divided by. */
  readonly factors: readonly number[]
}

/** The price actions of each present symbol, from the lists of corporate actions among those of a folder. */
export const readKnownActions = (
  rows: ReadonlyMap<string, unknown>,
  owners: OwnerFinder,
): ReadonlyMap<string, readonly KnownAction[]> =>
  new Map(
    [
      ...readPriceActions(
        ACTION_FILES.map((file) => rows.get(file)),
        owners,
      ),
    ].map(([symbol, actions]) => [symbol, actions.map(toKnownAction)]),
  )

const toKnownAction = ({ kind, on, factors }: PriceAction): KnownAction => ({
  kind: nameKind(kind),
  day: dayToNumber(on),
  factors,
})

/** Facts about a stock that may explain a move. */
export interface MoveFacts {
  readonly actions: readonly KnownAction[]
  /** The day number of its listing. */
  readonly listedOn?: number | undefined
  readonly hasBand?: boolean | undefined
  /** The day numbers of impossible candles. */
  readonly impossibleDays: ReadonlySet<number>
}

type Jump = ReturnType<typeof createJump>

/**
 * A close far from the previous one: the ratio of both, the same as a factor above 1, the change in rupees,
 * and the days since the previous candle.
 */
const createJump = ({ day, close }: CandleArrays, index: number) => {
  const [before, now] = [close[index - 1] as number, close[index] as number]
  const ratio = now / before
  const rest = (day[index] as number) - (day[index - 1] as number)
  return { index, ratio, factor: Math.max(ratio, 1 / ratio), change: Math.abs(now - before), rest }
}

/**
 * Finds closes more than 30 % from the previous one and classifies them: a spike, an action without
 * adjustment, another stock's series, or just a large move. Skips the days of impossible candles: those have
 * a finding of their own.
 */
export const findPriceMoves = (candles: CandleArrays, known: MoveFacts): readonly Finding[] => {
  const jumps = findJumps(candles, known.impossibleDays)
  const swings = findSwings(jumps.filter(isLargeJump))
  const { spikes, steps } = separateSpikes(
    jumps.filter((jump) => !swings.includes(jump)),
    candles,
  )
  const { blocks, rest } = separateBlocks(
    steps.filter(
      (jump) =>
        isLargeJump(jump) || (known.hasBand && jump.index > FIRST_CANDLES && jump.rest <= MAX_BAND_REST),
    ),
    findFactor(swings),
  )
  return [
    ...describeSwings(candles, swings),
    ...blocks.map((block) => describeBlock(candles, block)),
    ...spikes.map((spike) => describeSpike(candles, spike)),
    ...[...rest, ...findSmallActions(candles, known, jumps)].map((jump) =>
      describeJump(candles, jump, known),
    ),
  ]
}

const isLargeJump = ({ ratio }: Jump): boolean => Math.abs(ratio - 1) > LARGE_MOVE

/**
 * The widest price band of stocks is 20 %; its limits are rounded. A stock has none on its first day, and on
 * the first one after a suspension.
 */
const WIDEST_BAND = 0.205
const FIRST_CANDLES = 10
const MAX_BAND_REST = 5
/** Which stocks had a band earlier than a year ago is not known. */
const CANDLES_OF_YEAR = 250

const findJumps = (candles: CandleArrays, impossibleDays: ReadonlySet<number>): readonly Jump[] => {
  const { day, close, length } = candles
  const jumps: Jump[] = []
  for (let index = 1; index < length; index += 1) {
    const [before, now] = [close[index - 1] as number, close[index] as number]
    const change = Math.abs(now - before)
    const limit = index < length - CANDLES_OF_YEAR ? LARGE_MOVE : WIDEST_BAND
    if (!(change > limit * before && change > MIN_CHANGE && before > 0 && now > 0)) continue
    if ([index - 1, index].every((one) => !impossibleDays.has(day[one] as number)))
      jumps.push(createJump(candles, index))
  }
  return jumps
}

/**
 * Prices that open at the factor of an action, or of those of one session together, too little for a jump,
 * such as after a bonus of 1 for 5.
 */
const findSmallActions = (
  candles: CandleArrays,
  { actions }: MoveFacts,
  jumps: readonly Jump[],
): readonly Jump[] => {
  const { day, open, close, length } = candles
  const days = day.subarray(0, length)
  const placed = actions.map((one) => ({ ...one, index: days.findIndex((session) => session >= one.day) }))
  return [...new Set(placed.map(({ index }) => index))].flatMap((index) => {
    const own = placed.filter((one) => one.index === index)
    const opening = (open[index] ?? 0) / (close[index - 1] ?? 0)
    const isUnadjusted = combineFactors(own).some(
      ({ factor }) => Math.abs(Math.log(opening * factor)) < Math.abs(Math.log(factor)) / 4,
    )
    return index < 1 || jumps.some((jump) => jump.index === index) || !isUnadjusted
      ? []
      : [createJump(candles, index)]
  })
}

/**
 * Of the factors of jumps between two levels, this share must be near their median; the price also moves on
 * the day of a jump.
 */
const MIN_NEAR = 0.9
const SAME_FACTOR = 0.1

/**
 * The median of factors between prices if they are about the same; undefined if they vary, or without any. An
 * action changes all prices of a stock by one factor; two stocks are at factors that vary.
 */
export const findConstantFactor = (factors: readonly number[], tolerance: number): number | undefined => {
  const middle = median(factors)
  const near = factors.filter((factor) => Math.abs(factor / middle - 1) <= tolerance)
  return factors.length > 0 && near.length >= MIN_NEAR * factors.length ? middle : undefined
}

const findFactor = (jumps: readonly Jump[]): number | undefined => {
  const factors = jumps.map(({ factor }) => factor)
  return findConstantFactor(factors, SAME_FACTOR)
}

export const formatFactor = (factor: number): string => String(Number(factor.toFixed(2)))

/**
 * Closes that jump back and forth between two levels this often, each time within this many candles, are of
 * two series.
 */
const SWING_CANDLES = 10
const MIN_SWINGS = 4
/** Rupees. The closes of a stock that trades at a few paise swing by ticks. */
const MIN_SWING = 0.5

const findSwings = (jumps: readonly Jump[]): readonly Jump[] => {
  const chains: Jump[][] = []
  for (const jump of jumps.filter(({ change }) => change > MIN_SWING)) {
    const last = chains.at(-1)?.at(-1)
    const isReversal =
      last !== undefined &&
      jump.index - last.index <= SWING_CANDLES &&
      Math.abs(Math.log(jump.ratio * last.ratio)) < Math.log(1 + LARGE_MOVE)
    if (isReversal) chains.at(-1)?.push(jump)
    else chains.push([jump])
  }
  return chains.filter(({ length }) => length >= MIN_SWINGS).flat()
}

/** A spike is undone within this many candles. */
const SPIKE_CANDLES = 3

/** Closes that leave their level with a jump and return to it. */
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
    if (jump.index <= (spikes.at(-1)?.backAt ?? 0)) continue
    const backAt = findReturn(jump, candles)
    if (backAt === undefined) steps.push(jump)
    else spikes.push({ index: jump.index, backAt })
  }
  return { spikes, steps }
}

/**
 * The first candle that is back at the close before the jump, but for a third of the jump and for less than a
 * large move.
 */
const findReturn = ({ index, ratio }: Jump, { close, length }: CandleArrays): number | undefined => {
  const most = Math.min(Math.abs(Math.log(ratio)) / 3, Math.log(1 + LARGE_MOVE))
  for (let back = index + 1; back <= index + SPIKE_CANDLES && back < length; back += 1)
    if (Math.abs(Math.log((close[back] as number) / (close[index - 1] as number))) <= most) return back
  return undefined
}

/** Closes at another level, from one jump to the opposite one. */
interface Block {
  readonly start: Jump
  readonly end: Jump
}

/** A stock does not move by more in one session, and back again within a year. */
const MIN_BLOCK_FACTOR = 1.5
const MAX_BLOCK_CANDLES = 250

/**
 * Separates pairs of opposite jumps at one factor from other jumps. Jumps at the factor of swings belong to
 * those.
 */
const separateBlocks = (jumps: readonly Jump[], swingFactor: number | undefined) => {
  const blocks: Block[] = []
  const rest: Jump[] = []
  for (const jump of jumps) {
    const start = rest.at(-1)
    if (swingFactor !== undefined && Math.abs(jump.factor / swingFactor - 1) <= SAME_FACTOR) continue
    if (start !== undefined && isBlock(start, jump)) blocks.push({ start: rest.pop() as Jump, end: jump })
    else rest.push(jump)
  }
  return { blocks, rest }
}

const isBlock = (start: Jump, end: Jump): boolean =>
  [start, end].every(
    ({ factor, change, rest }) => factor >= MIN_BLOCK_FACTOR && change > MIN_SWING && rest <= NOTED_REST_DAYS,
  ) &&
  end.index - start.index <= MAX_BLOCK_CANDLES &&
  Math.abs(start.ratio * end.ratio - 1) <= SAME_FACTOR

const dayAt = ({ day }: CandleArrays, index: number): string => numberToDay(day[index] as number)

/** `from 1,163.87 to 2,327`: the close before, and that of a candle. */
const describeCloses = ({ close }: CandleArrays, index: number): string =>
  `from ${groupDigits(close[index - 1] as number)} to ${groupDigits(close[index] as number)}`

/**
 * Levels at a constant factor are of one stock, before and after an action; the factor of two stocks varies.
 */
const describeSwings = (candles: CandleArrays, swings: readonly Jump[]): readonly Finding[] => {
  const [first] = swings
  if (first === undefined) return []
  const text = `its closes swing ${swings.length} times between two levels, at first ${describeCloses(candles, first.index)}`
  const of = { severity: 'error', day: dayAt(candles, first.index) } as const
  const factor = findFactor(swings)
  if (factor !== undefined)
    return [
      {
        check: 'unadjusted-actions',
        ...of,
        detail: `${text}, at a constant factor of ${formatFactor(factor)}`,
      },
    ]
  const factors = swings.map((jump) => jump.factor)
  const detail = `${text}, at factors from ${formatFactor(Math.min(...factors))} to ${formatFactor(Math.max(...factors))}`
  return [{ check: 'spliced-series', ...of, detail }]
}

const describeBlock = (candles: CandleArrays, { start, end }: Block): Finding => {
  const [day, to] = [dayAt(candles, start.index), dayAt(candles, end.index - 1)]
  const factor = formatFactor(Math.sqrt(start.factor * end.factor))
  const count = end.index - start.index
  const closes = `${describeCloses(candles, start.index)}, and back ${describeCloses(candles, end.index)}`
  const found = `${formatQuantity(count, 'candle')} from ${day} to ${to} ${count === 1 ? 'is' : 'are'} at a constant factor of ${factor}`
  const detail = `${found}: the close goes ${closes}`
  return { check: 'unadjusted-actions', severity: 'error', day, detail }
}

const describeSpike = (candles: CandleArrays, { index, backAt }: Spike): Finding => {
  const [before, now, back] = [index - 1, index, backAt].map((one) => candles.close[one] as number) as [
    number,
    number,
    number,
  ]
  const spike = `the close spikes ${describeCloses(candles, index)} (${formatMove(now / before)})`
  const detail = `${spike} and is back at ${groupDigits(back)} on ${dayAt(candles, backAt)}`
  return { check: 'large-moves', severity: 'warning', day: dayAt(candles, index), detail }
}

const describeJump = (
  candles: CandleArrays,
  { index, ratio, rest }: Jump,
  { actions, listedOn = -1 }: MoveFacts,
): Finding => {
  const { open, close, day } = candles
  const [before, today] = [day[index - 1] as number, day[index] as number]
  const near = actions.filter(
    (action) => action.day > before - ACTION_NEAR_DAYS && action.day < today + ACTION_NEAR_DAYS,
  )
  const opening = (open[index] as number) / (close[index - 1] as number)
  const distanceOf = ({ factor }: { readonly factor: number }): number =>
    Math.min(...[ratio, opening].map((move) => Math.abs(move * factor - 1)))
  const [unadjusted] = combineFactors(near)
    .filter((one) => distanceOf(one) <= NEAR_FACTOR)
    .sort((one, other) => distanceOf(one) - distanceOf(other))
  const create = (check: CheckName, severity: Severity, ...notes: readonly string[]): Finding => {
    const detail = `the close goes ${describeCloses(candles, index)} (${formatMove(ratio)})`
    return { check, severity, day: numberToDay(today), detail: [detail, ...notes].join(', ') }
  }
  if (unadjusted) {
    const finding = create('unadjusted-actions', 'error')
    return {
      ...finding,
      detail: `${finding.detail} with the ${unadjusted.parts.map((one) => `${one.kind} of ${numberToDay(one.day)}`).join(' and the ')}`,
    }
  }
  const listing = listedOn > before && listedOn <= today ? [`at its listing of ${numberToDay(listedOn)}`] : []
  if (listing.length > 0 && Math.max(ratio, 1 / ratio) >= OTHER_PRICE)
    return create('spliced-series', 'warning', ...listing)
  const [action] = near
  return create(
    'large-moves',
    'warning',
    ...listing,
    ...(action === undefined
      ? describeFactor(opening)
      : [`near the ${action.kind} of ${numberToDay(action.day)}`]),
    ...(rest > NOTED_REST_DAYS ? [`after ${formatNumber(rest)} days without a candle`] : []),
  )
}

const formatMove = (ratio: number): string =>
  `${ratio < 1 ? '-' : '+'}${Math.abs((ratio - 1) * 100).toFixed(0)} %`

const SPLIT_FACTORS = [2, 3, 4, 5, 10] as const

/** A hint if the price opened at a round fraction: lists of actions do not reach back far. */
const describeFactor = (opening: number): readonly string[] => {
  const factor = SPLIT_FACTORS.find((one) => Math.abs(opening * one - 1) <= 0.03)
  return factor === undefined ? [] : [`like a split of 1 into ${factor} that was not adjusted`]
}
