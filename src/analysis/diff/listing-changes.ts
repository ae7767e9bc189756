import type { Stock } from '../../model/stock.js'
import type { Change } from './change.js'

/** Stocks that are new or gone, and stocks with another symbol for their ISIN or another ISIN for their symbol. */
export const findListingChanges = (before: readonly Stock[], after: readonly Stock[]): readonly Change[] => {
  const [old, now] = [groupStocks(before), groupStocks(after)]
  const changes = after.flatMap((stock): Change[] => {
    const { Symbol: symbol, ISIN, Name } = stock
    const sameIsin = old.byIsin.get(ISIN)
    if (sameIsin?.some((earlier) => earlier.Symbol === symbol)) return []
    const [renamed] = sameIsin?.filter((earlier) => !isStillThere(earlier, now)) ?? []
    if (renamed) {
      return [
        { section: 'renames', change: 'changed', symbol, from: renamed.Symbol, to: symbol, detail: `was ${renamed.Symbol} (${ISIN})` },
      ]
    }
    const [other] = old.bySymbol.get(symbol)?.filter((earlier) => !now.byIsin.has(earlier.ISIN)) ?? []
    if (other)
      return [
        {
          section: 'renames',
          change: 'changed',
          symbol,
          from: other.ISIN,
          to: ISIN,
          detail: `has the ISIN ${ISIN}, which was ${other.ISIN}`,
        },
      ]
    return [{ section: 'listings', change: 'new', symbol, to: ISIN, detail: `${Name} (${ISIN}) is new` }]
  })
  const gone = before.filter(({ Symbol: symbol, ISIN }) => !now.byIsin.has(ISIN) && !now.bySymbol.has(symbol))
  return [
    ...changes,
    ...gone.map(
      ({ Symbol: symbol, ISIN, Name }): Change => ({
        section: 'listings',
        change: 'gone',
        symbol,
        from: ISIN,
        detail: `${Name} (${ISIN}) is gone`,
      }),
    ),
  ]
}

interface StockGroups {
  readonly byIsin: ReadonlyMap<string, readonly Stock[]>
  readonly bySymbol: ReadonlyMap<string, readonly Stock[]>
}

const groupStocks = (stocks: readonly Stock[]): StockGroups => ({
  byIsin: groupBy(stocks, ({ ISIN }) => ISIN),
  bySymbol: groupBy(stocks, ({ Symbol: symbol }) => symbol),
})

const groupBy = (stocks: readonly Stock[], keyOf: (stock: Stock) => string): ReadonlyMap<string, readonly Stock[]> => {
  const groups = new Map<string, Stock[]>()
  for (const stock of stocks) {
    const group = groups.get(keyOf(stock))
    if (group) group.push(stock)
    else groups.set(keyOf(stock), [stock])
  }
  return groups
}

const isStillThere = ({ Symbol: symbol, ISIN }: Stock, { byIsin }: StockGroups): boolean =>
  byIsin.get(ISIN)?.some((stock) => stock.Symbol === symbol) ?? false
