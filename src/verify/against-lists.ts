import { dayToNumber } from '../market/candle-file.js'
import { formatNumber, formatPrice, nameFirst } from '../model/format.js'
import { groupBy } from '../model/map.js'
import { type Row, readText } from '../model/row.js'
import { haveSameIssuer } from '../model/stock.js'
import { readDay, toDay } from '../model/trading-day.js'
import type { Finding } from './finding.js'
import { toImpossible } from './possible-values.js'
import type { KnownAction } from './price-moves.js'
import type { SeriesDays } from './sessions.js'

/**
 * Days around a deal in which a finding about its stock puts the candles in doubt. One about the market does
 * so on its own day.
 */
const DOUBT_DAYS = 60

interface Lists {
  readonly rows: ReadonlyMap<string, readonly Row[]>
  readonly stocks: readonly Pick<SeriesDays, 'symbol' | 'recent'>[]
  readonly actions: ReadonlyMap<string, readonly KnownAction[]>
  /** The "now" of the run, epoch milliseconds. */
  readonly asOf?: number
  /** What is wrong with candles: a deal that does not fit them may be right. */
  readonly doubts: readonly Finding[]
}

const DEALS = 'bulk_block_deals.json'
/** Deals of the block window may be outside of the range of the day. */
const PRICE_SHARE = 0.5
/** A deal may be of another exchange, with more volume than this one. */
const MAX_VOLUMES = 10

/** Finds deals that do not fit the candle of their day, and stocks in lists that exclude each other. */
export const findAgainstLists = (lists: Lists): readonly Finding[] => [
  ...findImpossibleDeals(lists),
  ...findInBothLists(lists.rows),
  ...findSharedNames(lists.rows),
]

const findImpossibleDeals = ({ rows, stocks, actions, doubts, asOf }: Lists): readonly Finding[] => {
  const today = asOf === undefined ? Number.POSITIVE_INFINITY : dayToNumber(toDay(asOf))
  const recent = new Map(stocks.map((stock) => [stock.symbol, stock.recent.candles]))
  return (rows.get(DEALS) ?? []).flatMap(({ sym, date, qty, avgprice }): readonly Finding[] => {
    const [symbol, day, price, quantity] = [readText(sym), readDay(date), Number(avgprice), Number(qty)]
    const candles = recent.get(symbol)
    if (candles === undefined || day === undefined) return []
    const at = candles.day.indexOf(dayToNumber(day))
    const [high = 0, low = 0, volume = 0] = [candles.high[at], candles.low[at], candles.volume[at]]
    const isDoubtful = (): boolean =>
      doubts.some((one) =>
        one.symbol === undefined
          ? one.day === day || one.check === 'shifted-series'
          : one.symbol === symbol &&
            Math.abs(Date.parse(one.day ?? day) - Date.parse(day)) < DOUBT_DAYS * 86_400_000,
      )
    // Candles are divided by later splits, but for those ahead, and deals are not.
    if (
      at < 0 ||
      volume === 0 ||
      actions.get(symbol)?.some((action) => action.day > dayToNumber(day) && action.day <= today) ||
      isDoubtful()
    )
      return []
    const found = (detail: string): Finding => ({ ...toImpossible(DEALS, detail, symbol), day })
    const isOutside = price > high * (1 + PRICE_SHARE) || price < low / (1 + PRICE_SHARE)
    return [
      ...(isOutside && price > 0
        ? [
            found(
              `a deal at ${formatPrice(price)}; the prices of the day are ${formatPrice(low)} to ${formatPrice(high)}`,
            ),
          ]
        : []),
      ...(quantity > volume * MAX_VOLUMES
        ? [
            found(
              `a deal of ${formatNumber(quantity)} shares; the volume of the day is ${formatNumber(volume)}`,
            ),
          ]
        : []),
    ]
  })
}

/** Additional and graded surveillance exclude each other. */
const EXCLUSIVE = ['asm', 'gsm'] as const

const findInBothLists = (rows: Lists['rows']): readonly Finding[] => {
  const [[one, additional] = ['', []], [other, graded] = ['', []]] = EXCLUSIVE.map((list) =>
    [...rows].find(([file]) => file.endsWith(`_${list}_list.json`)),
  )
  const symbols = new Set(additional.map(({ Symbol: symbol }) => readText(symbol)))
  return graded
    .map(({ Symbol: symbol }) => readText(symbol))
    .filter((symbol) => symbols.has(symbol))
    .map((symbol) =>
      toImpossible(other, `it is in ${one}, too: a stock is in one of the two at most`, symbol),
    )
}

const MASTER_FILE = 'master_data_response.json'

/** Finds stocks of two issuers with one name: one of them has that of the other. */
const findSharedNames = (rows: Lists['rows']): readonly Finding[] => {
  const byName = groupBy(rows.get(MASTER_FILE) ?? [], ({ DispSym }) => readText(DispSym).toLowerCase())
  return [...byName].flatMap(([name, own]): readonly Finding[] => {
    const isOther = ({ Isin }: Row): boolean => !haveSameIssuer(readText(Isin), readText(own[0]?.Isin))
    if (name === '' || !own.some(isOther)) return []
    const symbols = own.map(({ Sym }) => readText(Sym))
    const detail = `${nameFirst(symbols)} have one name, ${readText(own[0]?.DispSym)}, and other issuers`
    return [{ ...toImpossible(MASTER_FILE, detail, symbols.at(-1)), other: symbols[0] ?? '' }]
  })
}
