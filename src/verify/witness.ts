import { dayToNumber } from '../market/candle-file.js'
import { type ExchangeTrade, isSamePrice, type TradesByDay } from '../market/witness.js'
import { formatPart, groupDigits } from '../model/format.js'
import { groupBy } from '../model/map.js'
import type { Day } from '../model/trading-day.js'
import { type Finding, isMany } from './finding.js'
import type { KnownAction } from './price-moves.js'
import type { SeriesDays } from './sessions.js'

interface Witnessed {
  readonly stocks: readonly Pick<SeriesDays, 'symbol' | 'file' | 'recent' | 'days'>[]
  readonly actions: ReadonlyMap<string, readonly KnownAction[]>
  readonly trades: TradesByDay
}

/** Volumes are revised for days: a larger difference than this share counts. */
const VOLUME_SHARE = 0.05
/** Prices are rounded before and after a division. */
const FACTOR_SHARE = 0.01

const WHAT = {
  close: 'closes differ from those of the exchange',
  volume: 'volumes differ from those of the exchange',
  missing: 'stocks lack a candle, though the exchange has their trades',
  surplus: 'stocks have a candle, though the exchange has no trade of them',
} as const

interface Contradiction {
  readonly kind: keyof typeof WHAT
  readonly day: Day
  readonly symbol: string
  readonly file: string
  readonly detail: string
}

/**
 * Compares the newest candles with the exchange's own files. Candles are divided by later splits and bonuses,
 * and the exchange's prices are not, so that a known factor explains a difference. What concerns many stocks
 * on a day is one finding.
 */
export const findContradictions = (compared: Witnessed): readonly Finding[] =>
  [...groupBy(listDifferences(compared), ({ day, kind }) => `${day} ${kind}`).values()].flatMap(
    (own): readonly Finding[] => {
      const [first] = own
      if (first === undefined || !isMany(own.length, compared.stocks.length))
        return own.map(({ kind: _, ...one }): Finding => ({ check: 'witness', severity: 'warning', ...one }))
      const counts = formatPart(own.length, compared.stocks.length, 'stock')
      return [
        {
          check: 'witness',
          severity: 'error',
          day: first.day,
          detail: `${WHAT[first.kind]}: ${counts}, such as ${first.symbol}: ${first.detail}`,
        },
      ]
    },
  )

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
        at < 0 ? undefined : { close: recent.candles.close[at] ?? 0, volume: recent.candles.volume[at] ?? 0 }
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
  candle: Pick<ExchangeTrade, 'close' | 'volume'> | undefined,
  trade: ExchangeTrade | undefined,
  { later, isCovered, hasTraded }: Circumstances,
): Pick<Contradiction, 'kind' | 'detail'> | undefined => {
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
      detail: `the close is ${groupDigits(candle.close)}; the exchange has ${groupDigits(trade.close)}`,
    }
  const isSameVolume = Math.abs(candle.volume - trade.volume) <= VOLUME_SHARE * trade.volume
  if (isSameVolume || isExplained(candle.volume / trade.volume)) return undefined
  return {
    kind: 'volume',
    detail: `the volume is ${groupDigits(candle.volume)}; the exchange has ${groupDigits(trade.volume)}`,
  }
}
