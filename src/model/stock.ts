import { NothingAnswered } from './errors.js'
import { fileNamesOf } from './file-name.js'
import type { Item } from './outcome.js'
import { type Row, textOf } from './row.js'

/** An element of `master_isin_map.json`: exactly these fields, in this order. */
export interface Stock {
  readonly Symbol: string
  readonly ISIN: string
  readonly Name: string
  /** The provider's security id, always text; candles and indicators are asked by it. */
  readonly Sid: string
  readonly FnoFlag: number
}

/** The stocks of the master list's rows, in their order. A row without symbol or ISIN, or that repeats another, is left out. */
export const stocksOf = (rows: readonly Row[]): readonly Stock[] => {
  const seen = new Set<string>()
  return rows.flatMap((row) => {
    const stock = stockOf(row)
    const key = `${stock.Symbol}\n${stock.ISIN}`
    if (stock.Symbol === '' || stock.ISIN === '' || seen.has(key)) return []
    seen.add(key)
    return [stock]
  })
}

const stockOf = (row: Row): Stock => ({
  Symbol: textOf(row.Sym),
  ISIN: textOf(row.Isin),
  Name: textOf(row.DispSym),
  Sid: textOf(row.Sid),
  FnoFlag: Number(textOf(row.FnoFlag)) || 0,
})

/** The stocks as work to do, each with its file name. */
export const stockItems = (stocks: readonly Stock[]): readonly Item<Stock>[] => {
  const names = fileNamesOf(stocks.map((stock) => ({ key: stock.Symbol, id: stock.ISIN })))
  return stocks.map((stock, rank) => ({ key: stock.Symbol, rank, fileName: names[rank] as string, value: stock }))
}

/** The security id of a stock, without which neither its indicators nor its candles can be asked. */
export const sidOf = ({ Sid }: Stock): string => {
  if (Sid === '') throw new NothingAnswered('the master list gives no Sid for it')
  return Sid
}

/** Whose record it is: what every record in a file of many stocks begins with. */
export interface Owned {
  readonly Symbol: string
  readonly ISIN: string
}

/**
 * A record of a stock as it lies in a file of many stocks: whose it is first, then the record as answered. `R` says which fields were seen
 * in such records; they are not checked.
 */
export const ofStock = <R extends Row = Row>(stock: Stock, record: Row): R & Owned => {
  const own: Record<string, unknown> = { Symbol: stock.Symbol, ISIN: stock.ISIN, ...record }
  own.Symbol = stock.Symbol
  own.ISIN = stock.ISIN
  return own as R & Owned
}
