import { listTables, type StreamDefinition } from '../engine/define-stream.js'
import { UsageError } from '../model/errors.js'
import type { Row } from '../model/row.js'
import { quoteText } from '../storage/duckdb.js'
import { checkFolder, readStocks, selectFolderSymbols } from './output-folder.js'
import { queryRows } from './query.js'

/** Everything that the tables say about one stock; `renamed` if it was named otherwise: `OLD is now NEW`. */
export interface StockView {
  readonly facts: Row
  readonly events: readonly Row[]
  readonly renamed?: string
}

/**
 * Reads what a folder knows about one stock, by its symbol, ISIN, former symbol or name, and its newest
 * events up to the day of the run, newest first, and those ahead: `limit` of each kind.
 *
 * @throws UsageError for an unknown one
 */
export const readStockView = async (
  root: string,
  {
    stock,
    streams,
    limit,
  }: { readonly stock: string; readonly streams: readonly StreamDefinition[]; readonly limit: number },
): Promise<StockView> => {
  await checkFolder(root)
  const stocks = await readStocks(root)
  const { wanted, wrong } = await selectFolderSymbols(root, { symbols: [stock] }, { stocks })
  const [symbol = ''] = wanted ?? []
  const source = { out: root, tables: listTables(streams), symbol }
  const { ISIN: isin } = stocks.find((one) => one.Symbol === symbol) ?? {}
  // The database applies a condition on the ISIN before it joins the groups of the screener.
  const isOfStock = `isin = ${quoteText(isin ?? '')}`
  const [facts] = await queryRows(
    `FROM screener WHERE symbol = ${quoteText(symbol)} AND ${isOfStock}`,
    source,
  )
  if (facts === undefined) throw new UsageError(`${symbol} is not in the master list`)
  const events = await queryRows(
    `SELECT * FROM events WHERE ${isOfStock} QUALIFY row_number() OVER (PARTITION BY kind ORDER BY day DESC, happened_at DESC, title) <= ${limit}
     ORDER BY day DESC, happened_at DESC, title`,
    source,
  )
  const now = wrong.find((one) => one.now !== undefined)
  return { facts, events, ...(now && { renamed: `${now.given} is now ${now.now}` }) }
}
