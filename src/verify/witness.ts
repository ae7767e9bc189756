import { dayToNumber } from '../market/candle-file.js'
import { type ExchangeTrade, isSamePrice, type TradesByDay } from '../market/witness.js'
import { formatPart, groupDigits, nameFirst } from '../model/format.js'
import { groupBy } from '../model/map.js'
import type { Day } from '../model/trading-day.js'
import { type Finding, isMany, MAX_NAMED } from './finding.js'
import { findConstantFactor, formatFactor, type KnownAction } from './price-moves.js'
import type { SeriesDays } from './sessions.js'

interface Witnessed {
  readonly stocks: readonly Pick<SeriesDays, 'symbol' | 'file' | 'recent' | 'days'>[]
  readonly actions: ReadonlyMap<string, readonly KnownAction[]>
  readonly trades: TradesByDay
}

/** Volumes are revised for days: a larger difference than this share counts. */
const VOLUME_SHARE = 0.05
const RANGE_SHARE = 0.01
/** Prices are rounded before and after a division. */
const FACTOR_SHARE = 0.01

const WHAT = {
  close: 'closes differ from those of the exchange',
  range: 'highs or lows differ from those of the exchange',
  volume: 'volumes differ from those of the exchange',
  missing: 'stocks lack a candle, though the exchange has their trades',
  surplus: 'stocks have a candle, though the exchange has no trade of them',
} as const

interface DifferenceOfDay {
  readonly kind: keyof typeof WHAT
  readonly detail: string
  /** The value of the candle as a multiple of that of the exchange. */
  readonly factor?: number
}

interface Contradiction extends DifferenceOfDay {
  readonly day: Day
  readonly symbol: string
  readonly file: string
}

/** So many days of one stock with one kind of difference have one cause. */
const MIN_DAYS_OF_CAUSE = 3

/**
 * Compares the newest candles with the exchange's own files. Candles are divided by later splits and bonuses,
 * and the exchange's prices are not, so that a known factor explains a difference. One finding for each
 * cause: for a stock that differs on several days, and for the stocks that differ on the same days.
 */
export const findContradictions = (compared: Witnessed): readonly Finding[] => {
  const causes = [
    ...groupBy(listDifferences(compared), ({ symbol, kind }) => `${symbol} ${kind}`).values(),
  ].flatMap((own) => {
    if (own.length >= MIN_DAYS_OF_CAUSE) return [own]
    // Single trades may be outside of the range, by another account.
    return own.flatMap((one) => (one.kind === 'range' ? [] : [[one]]))
  })
  const spans = groupBy(
    causes,
    (own) => `${own[0]?.kind} ${own[0]?.day} ${own.length >= MIN_DAYS_OF_CAUSE ? own.at(-1)?.day : ''}`,
  )
  return [...spans.values()].flatMap((alike): readonly Finding[] => {
    const [own = []] = alike
    const [first] = own
    if (first === undefined || !isMany(alike.length, compared.stocks.length))
      return alike.flatMap((one) => describeContradictions(one, compared))
    const counts = formatPart(alike.length, compared.stocks.length, 'stock')
    const names = nameFirst(
      alike.flatMap(([one]) => one?.symbol ?? []),
      MAX_NAMED,
    )
    return [
      {
        check: 'witness',
        severity: 'error',
        day: first.day,
        ...(own.length >= MIN_DAYS_OF_CAUSE && { lasting: first.kind }),
        detail: `${WHAT[first.kind]}${describeSpan(own)}: ${counts}, ${names}; ${first.symbol}: ${first.detail}`,
      },
    ]
  })
}

const describeSpan = (own: readonly Contradiction[]): string =>
  own.length < MIN_DAYS_OF_CAUSE ? '' : ` on ${own.length} days from ${own[0]?.day} to ${own.at(-1)?.day}`

const describeContradictions = (own: readonly Contradiction[], { trades }: Witnessed): readonly Finding[] => {
  const [first] = own
  if (first === undefined) return []
  const { kind, factor: _, ...about } = first
  const single: Finding = { check: 'witness', severity: 'warning', ...about }
  if (own.length < MIN_DAYS_OF_CAUSE) return [single]
  const finding = { ...single, lasting: kind }
  const factor = findConstantFactor(
    own.map((one) => one.factor ?? Number.NaN),
    FACTOR_SHARE,
  )
  if (factor === undefined)
    return [{ ...finding, detail: `${WHAT[kind]}${describeSpan(own)}; on ${first.day}, ${first.detail}` }]
  const detail = `its ${kind}s${describeSpan(own)} are ${formatFactor(factor)} times those of the exchange`
  const isFormer =
    [...trades.keys()].slice(0, own.length).at(-1) === own.at(-1)?.day && own.length < trades.size
  return kind === 'close' && isFormer && isActionFactor(1 / factor)
    ? [{ ...finding, severity: 'info', detail: `${detail}, as by a split or bonus that no list has` }]
    : [{ ...finding, detail }]
}

const ACTION_FACTORS = [2, 3, 4, 5, 10, 1.2, 1.25, 1.5, 2.5]
/** Whether prices are divided as by a common split or bonus. */
const isActionFactor = (factor: number): boolean =>
  ACTION_FACTORS.some((one) => Math.abs(factor / one - 1) <= FACTOR_SHARE / 2)

const listDifferences = ({ stocks, actions, trades }: Witnessed): readonly Contradiction[] => {
  const traded = new Set<string>()
  const found: Contradiction[] = []
  for (const [day, own] of trades) {
    const number = dayToNumber(day)
    for (const stock of stocks) {
      const { symbol, file, recent } = stock
      const trade = own.get(symbol)
      const at = recent.candles.day.indexOf(number)
      const candle =
        at < 0
          ? undefined
          : {
              close: recent.candles.close[at] ?? 0,
              high: recent.candles.high[at] ?? 0,
              low: recent.candles.low[at] ?? 0,
              volume: recent.candles.volume[at] ?? 0,
            }
      const later = (actions.get(symbol) ?? []).filter((action) => action.day > number)
      const difference = compareDay(candle, trade, {
        later,
        isCovered: number >= (recent.candles.day[0] ?? 0),
        hasTraded: traded.has(symbol),
      })
      if (difference !== undefined) found.push({ ...difference, day, symbol, file })
    }
    for (const symbol of own.keys()) traded.add(symbol)
  }
  return found
}

interface Circumstances {
  readonly later: readonly KnownAction[]
  /** Whether the candles that were read reach back to the day. */
  readonly isCovered: boolean
  /** Whether an earlier file names the stock by this symbol: before a change of its symbol none does. */
  readonly hasTraded: boolean
}

const compareDay = (
  candle: Omit<ExchangeTrade, 'last'> | undefined,
  trade: ExchangeTrade | undefined,
  { later, isCovered, hasTraded }: Circumstances,
): DifferenceOfDay | undefined => {
  if (candle === undefined) {
    if (trade === undefined || !isCovered) return undefined
    return {
      kind: 'missing',
      detail: `no candle; the exchange has a close of ${groupDigits(trade.close)} and a volume of ${groupDigits(trade.volume)}`,
    }
  }
  if (trade === undefined)
    return hasTraded && candle.volume > 0
      ? { kind: 'surplus', detail: `a volume of ${groupDigits(candle.volume)}; the exchange has no trade` }
      : undefined
  const isExplained = (ratio: number): boolean =>
    later.some(
      ({ factors }) =>
        factors.length === 0 || factors.some((factor) => Math.abs(ratio / factor - 1) <= FACTOR_SHARE),
    )
  if (!isSamePrice(candle.close, trade.close) && !isExplained(trade.close / candle.close))
    return {
      kind: 'close',
      factor: candle.close / trade.close,
      detail: `the close is ${groupDigits(candle.close)}; the exchange has ${groupDigits(trade.close)}`,
    }
  const isSameVolume = Math.abs(candle.volume - trade.volume) <= VOLUME_SHARE * trade.volume
  if (isSameVolume || isExplained(candle.volume / trade.volume)) {
    const isSameRange = [candle.high / trade.high, candle.low / trade.low].every(
      (factor) => !(Math.abs(factor - 1) > RANGE_SHARE) || isExplained(1 / factor),
    )
    if (isSameRange) return undefined
    return {
      kind: 'range',
      detail: `the candle reaches from ${groupDigits(candle.low)} to ${groupDigits(candle.high)}; the exchange has ${groupDigits(trade.low)} to ${groupDigits(trade.high)}`,
    }
  }
  return {
    kind: 'volume',
    factor: candle.volume / trade.volume,
    detail: `the volume is ${groupDigits(candle.volume)}; the exchange has ${groupDigits(trade.volume)}`,
  }
}
