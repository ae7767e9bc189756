import type { Change } from '../../model/change.js'
import { type Row, readText } from '../../model/row.js'
import { isSuccessor, type Stock } from '../../model/stock.js'
import { compareRows } from './compare-rows.js'

/**
 * Stocks that are new, back (the ISINs `returned`) or have left, and stocks with another symbol for their
 * ISIN or another ISIN for their symbol.
 */
export const compareStocks = (
  before: readonly Stock[],
  after: readonly Stock[],
  returned: ReadonlySet<string> = new Set(),
): readonly Change[] => {
  const [old, now] = [before, after].map(
    (stocks) => new Map(stocks.map((stock) => [`${stock.Symbol} ${stock.ISIN}`, stock])),
  ) as [Map<string, Stock>, Map<string, Stock>]
  const isins = new Set(after.map(({ ISIN }) => ISIN))
  const differences = compareRows(old, now, [])
  const gone = differences.filter(({ change }) => change === 'left').map(({ row }) => row)
  return differences.flatMap(({ change, row: stock }): readonly Change[] => {
    const { Symbol: symbol, ISIN, Name } = stock
    if (change === 'left') {
      if (isins.has(ISIN) || after.some((other) => isSuccessor(stock, other))) return []
      const detail = `${Name} (${ISIN}) is no longer listed`
      return [{ section: 'listings', change, symbol, from: ISIN, detail }]
    }
    const renamed = gone.find((earlier) => earlier.ISIN === ISIN)
    if (renamed) return [toRenaming(renamed, stock)]
    const other = gone.find((earlier) => !isins.has(earlier.ISIN) && isSuccessor(earlier, stock))
    if (other) {
      const detail = `has the ISIN ${ISIN}, which was ${other.ISIN}`
      const change: Change = {
        section: 'renames',
        change: 'changed',
        symbol,
        from: other.ISIN,
        to: ISIN,
        detail,
      }
      return other.Symbol === symbol ? [change] : [toRenaming(other, stock), change]
    }
    const how = returned.has(ISIN) ? 'back' : 'new'
    return [{ section: 'listings', change: how, symbol, to: ISIN, detail: `${Name} (${ISIN}) is ${how}` }]
  })
}

const toRenaming = ({ Symbol: from, ISIN }: Stock, { Symbol: symbol }: Stock): Change => ({
  section: 'renames',
  change: 'renamed',
  symbol,
  from,
  to: symbol,
  detail: `was ${from} (${ISIN})`,
})

const SYMBOL_FIELDS = ['Symbol', 'Sym', 'sym'] as const

/** The field of a record that has the symbol of its stock. */
export const findSymbolField = (record: Row): string =>
  SYMBOL_FIELDS.find((field) => record[field] !== undefined) ?? 'Symbol'

/**
 * Gives a record of an earlier list the present symbol and ISIN of its stock: a rename is a change of the
 * stock, not of its records.
 */
export const createRenaming = (changes: readonly Change[], after: readonly Stock[]): ((row: Row) => Row) => {
  const stocks = new Map(after.map((stock) => [stock.Symbol, stock]))
  const present = new Map(
    changes.flatMap(({ section, symbol, from = '' }) => {
      const now = section === 'renames' ? stocks.get(symbol) : undefined
      return now === undefined ? [] : [from, now.ISIN].map((name) => [name, now] as const)
    }),
  )
  if (present.size === 0) return (row) => row
  return (row) => {
    const field = findSymbolField(row)
    const now = present.get(readText(row.ISIN ?? row[field]))
    if (now === undefined) return row
    return { ...row, [field]: now.Symbol, ...(row.ISIN !== undefined && { ISIN: now.ISIN }) }
  }
}
