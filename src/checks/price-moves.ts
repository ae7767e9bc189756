import { type CandleColumns, dayOfNumber, type Series } from './candle-columns.js'
import type { Finding } from './finding.js'
import type { KnownAction } from './known-actions.js'

const LARGE = 0.3
/** A price of a few paise moves by more than that with a single tick; two ticks of 5 paise are no news. */
const TICKS = 0.1 + 1e-9
/** An action shows in the price on its ex-date, or a session or a weekend beside it. */
const NEAR_DAYS = 4
/** How far from an action's factor the price may open. */
const NEAR_FACTOR = 0.15
/** After so long a rest a symbol may well be another company's. */
const LONG_REST_DAYS = 90

/** What is known of a stock that may account for a move. */
export interface KnownOfStock {
  readonly actions: readonly KnownAction[]
  /** The day number of the day since which it is listed. */
  readonly listedOn?: number | undefined
}

/** A close that lies far from the one before. */
interface Jump {
  readonly place: number
  /** Close to close. */
  readonly ratio: number
}

/**
 * Finds closes more than 30 % away from the one before, and says what they may be: an action that was not adjusted, another stock's
 * series, or just a large move, of which markets know some.
 */
export const priceMoves = (series: Series, known: KnownOfStock): readonly Finding[] => {
  const jumps = jumpsIn(series.candles)
  if (jumps.length === 0) return []
  const swings = swingsIn(jumps)
  return [...swingFinding(series, swings), ...jumps.filter((jump) => !swings.includes(jump)).map((jump) => findingOf(series, jump, known))]
}

const jumpsIn = ({ close, length }: CandleColumns): readonly Jump[] => {
  const jumps: Jump[] = []
  for (let place = 1; place < length; place += 1) {
    const [before, now] = [close[place - 1] as number, close[place] as number]
    const change = Math.abs(now - before)
    if (change > LARGE * before && change > TICKS && before > 0 && now > 0) jumps.push({ place, ratio: now / before })
  }
  return jumps
}

/** Closes that jump to and fro between two levels within so many candles, so often, are of two series. */
const SWING_CANDLES = 10
const FEWEST_SWINGS = 4

const swingsIn = (jumps: readonly Jump[]): readonly Jump[] => {
  const chains: Jump[][] = []
  for (const jump of jumps) {
    const chain = chains.at(-1)
    const last = chain?.at(-1)
    const goesBack =
      last !== undefined && jump.place - last.place <= SWING_CANDLES && Math.abs(Math.log(jump.ratio * last.ratio)) < Math.log(1 + LARGE)
    if (chain && goesBack) chain.push(jump)
    else chains.push([jump])
  }
  return chains.filter(({ length }) => length >= FEWEST_SWINGS).flat()
}

const swingFinding = ({ symbol, file, candles }: Series, swings: readonly Jump[]): readonly Finding[] => {
  const [first] = swings
  if (first === undefined) return []
  const [from, to] = [candles.close[first.place - 1], candles.close[first.place]]
  const day = dayOfNumber(candles.day[first.place] as number)
  const detail = `its closes swing ${swings.length} times between two levels, at first from ${from} to ${to}`
  return [{ check: 'spliced-series', severity: 'error', symbol, day, file, detail }]
}

const findingOf = ({ symbol, file, candles }: Series, { place, ratio }: Jump, { actions, listedOn }: KnownOfStock): Finding => {
  const { open, close, day } = candles
  const [before, today] = [day[place - 1] as number, day[place] as number]
  const of = { symbol, day: dayOfNumber(today), file }
  const detail = `the close goes from ${close[place - 1]} to ${close[place]} (${percent(ratio)})`
  const near = actions.filter((action) => action.day > before - NEAR_DAYS && action.day < today + NEAR_DAYS)
  const opening = (open[place] as number) / (close[place - 1] as number)
  const unadjusted = near.find(({ factors }) => factors.some((factor) => [ratio, opening].some((move) => isNear(move * factor, 1))))
  if (unadjusted) {
    const { kind, day: on } = unadjusted
    return { check: 'unadjusted-actions', severity: 'error', ...of, detail: `${detail} with the ${kind} of ${dayOfNumber(on)}` }
  }
  const rest = today - before
  if (rest >= LONG_REST_DAYS && looksLikeAnother(candles, place, ratio))
    return { check: 'spliced-series', severity: 'warning', ...of, detail: `${detail} after ${rest} days without a candle` }
  const listing = listedOn !== undefined && listedOn > before && listedOn <= today ? [`at its listing of ${dayOfNumber(listedOn)}`] : []
  if (listing.length > 0 && isOtherPrice(ratio))
    return { check: 'spliced-series', severity: 'warning', ...of, detail: [detail, ...listing].join(', ') }
  const [action] = near
  const notes = [
    ...listing,
    ...(action === undefined ? plainFactor(opening) : [`near the ${action.kind} of ${dayOfNumber(action.day)}`]),
    ...(rest > 7 ? [`after ${rest} days without a candle`] : []),
  ]
  return { check: 'large-moves', severity: 'warning', ...of, detail: [detail, ...notes].join(', ') }
}

const isNear = (value: number, goal: number, by = NEAR_FACTOR): boolean => Math.abs(value / goal - 1) <= by

const percent = (ratio: number): string => `${ratio < 1 ? '-' : '+'}${Math.abs((ratio - 1) * 100).toFixed(0)} %`

const FACTORS = [2, 3, 4, 5, 10] as const

/** What an overnight fall to a plain part of the price is like, where no list of actions reaches back. */
const plainFactor = (opening: number): readonly string[] => {
  const factor = FACTORS.find((one) => isNear(opening * one, 1, 0.03))
  return factor === undefined ? [] : [`like a split of 1 into ${factor} that was not adjusted`]
}

const isOtherPrice = (ratio: number): boolean => Math.max(ratio, 1 / ratio) >= OTHER_PRICE

const AROUND = 5
const OTHER_PRICE = 3
const OTHER_VOLUME = 10

/** Whether price or trade begin at a level of their own: a stock that merely rested comes back much as it went. */
const looksLikeAnother = ({ volume, length }: CandleColumns, place: number, ratio: number): boolean => {
  if (isOtherPrice(ratio)) return true
  const before = median(volume.subarray(Math.max(0, place - AROUND), place))
  const after = median(volume.subarray(place, Math.min(length, place + AROUND)))
  return Math.max((before + 1) / (after + 1), (after + 1) / (before + 1)) >= OTHER_VOLUME
}

export const median = (values: Float64Array): number => values.slice().sort()[values.length >> 1] ?? 0
