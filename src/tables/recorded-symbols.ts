import type { DuckDBConnection } from '@duckdb/node-api'
import type { Table } from '../model/table.js'
import { quoteList, quoteText } from '../storage/duckdb.js'
import type { History, Warn } from '../storage/history/record.js'
import { listHistoryTables, readAllDays } from './history/as-of.js'
import { FORMER_VIEW } from './views/symbols.js'
import type { View } from './views/view.js'

export interface SymbolIsin {
  readonly symbol: string
  readonly isin: string
}

/** The symbols that a recorded master list has had, also those after the day as of which tables are read. */
export const readRecordedSymbols = async (
  connection: DuckDBConnection,
  views: readonly View[],
  { history, tables, warn }: { readonly history: History; readonly tables: readonly Table[]; readonly warn: Warn },
): Promise<readonly SymbolIsin[]> => {
  const [master] = listHistoryTables(tables.filter(({ name }) => name === 'master'))
  if (master === undefined || !views.some(({ name }) => name === FORMER_VIEW)) return []
  const { files } = await readAllDays(history, master, { warn })
  if (files.length === 0) return []
  const rows = `SELECT symbol, max_by(isin, known_at) FROM read_parquet(${quoteList(files)}, union_by_name = true) WHERE isin <> '' GROUP BY symbol`
  return (await connection.runAndReadAll(rows)).getRows().map(([symbol, isin]) => ({ symbol: String(symbol), isin: String(isin) }))
}

/** The SQL of symbols with their ISINs. */
export const toFormerSql = (symbols: readonly SymbolIsin[]): string =>
  `CAST([${symbols.map(({ symbol, isin }) => `{'symbol': ${quoteText(symbol)}, 'isin': ${quoteText(isin)}}`).join(', ')}] AS STRUCT(symbol VARCHAR, isin VARCHAR)[])`
