import { z } from 'zod'
import { NothingAnsweredError } from './errors.js'
import { createFileNames } from './file-name.js'
import type { Item } from './outcome.js'
import { type Row, readText } from './row.js'
import { type BuiltRowOf, column, row } from './row-schema.js'

const ownFields = () => ({
  Symbol: column(z.string(), { about: 'trading symbol', sql: 'symbol' }),
  ISIN: column(z.string(), { about: 'ISIN of the stock', sql: 'isin' }),
})

/** An element of `master_isin_map.json`: exactly these fields, in this order. */
export const Stock = row({
  ...ownFields(),
  Name: column(z.string(), { about: 'name of the company', sql: 'name' }),
  /** Always text; requests for candles and indicators use it. */
  Sid: column(z.string(), { about: "the provider's id of the security", sql: 'sid' }),
  FnoFlag: column(z.int(), { about: '1 where futures and options are traded on it', sql: 'fno' }),
})
export interface Stock extends BuiltRowOf<typeof Stock> {}

/** The stocks of the master list's rows, in their order. Rows without symbol or ISIN, and duplicates, are skipped. */
export const toStocks = (rows: readonly Row[]): readonly Stock[] => {
  const seen = new Set<string>()
  return rows.flatMap((row) => {
    const stock = toStock(row)
    const key = `${stock.Symbol}\n${stock.ISIN}`
    if (stock.Symbol === '' || stock.ISIN === '' || seen.has(key)) return []
    seen.add(key)
    return [stock]
  })
}

const toStock = (row: Row): Stock => ({
  Symbol: readText(row.Sym),
  ISIN: readText(row.Isin),
  Name: readText(row.DispSym),
  Sid: readText(row.Sid),
  FnoFlag: Number(readText(row.FnoFlag)) || 0,
})

/** The stocks as work items, each with its file name. */
export const toStockItems = (stocks: readonly Stock[]): readonly Item<Stock>[] => {
  const names = createFileNames(stocks.map((stock) => ({ key: stock.Symbol, id: stock.ISIN })))
  return stocks.map((stock, rank) => ({ key: stock.Symbol, rank, fileName: names[rank] as string, value: stock }))
}

/** The security id of a stock, which requests for indicators and candles need. @throws NothingAnsweredError if the master list has none */
export const requireSid = ({ Sid }: Stock): string => {
  if (Sid === '') throw new NothingAnsweredError('the master list has no Sid for this stock')
  return Sid
}

/** The fields that every record starts with in a file over many stocks. */
export const StockRecord = row(ownFields())
export interface StockRecord extends BuiltRowOf<typeof StockRecord> {}

/**
 * A record for a file over many stocks: symbol and ISIN first, then the record as answered. `R` lists fields that such records have; they
 * are not checked.
 */
export const toStockRecord = <R extends Row = Row>(stock: Stock, record: Row): R & StockRecord => {
  const own: Record<string, unknown> = { Symbol: stock.Symbol, ISIN: stock.ISIN, ...record }
  own.Symbol = stock.Symbol
  own.ISIN = stock.ISIN
  return own as R & StockRecord
}
