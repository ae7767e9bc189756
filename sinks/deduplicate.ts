import { listColumns, type Table } from '../src/model/table.js'
import type { DuckDb } from '../src/storage/duckdb.js'
import { quoteName, quoteText } from '../src/storage/duckdb.js'

type Connection = DuckDb['connection']

/** Finds the items of a candle table in `source` with a duplicate or unreadable day, as an SQL condition; `undefined` if there are none. */
export const duplicateKeys = async (connection: Connection, table: Table, source: string): Promise<string | undefined> => {
  if (table.key === undefined) return undefined
  const item = table.key.filter((name) => name !== 'date').map(quoteName)
  // A bit per day costs a tenth of a set of days. Days out of range share a bit, which only means that their items are deduplicated.
  const days = "bit_count(bitstring_agg(greatest(0, least(99999, date - DATE '1900-01-01')), 0, 99999))"
  const reader = await connection.runAndReadAll(
    `SELECT ${item.join(', ')} FROM ${source} GROUP BY ALL HAVING count(*) <> coalesce(${days}, 0)`,
  )
  const rows = reader.getRows()
  if (rows.length === 0) return undefined
  return `(${item.join(', ')}) IN (${rows.map((row) => `(${row.map((value) => quoteText(String(value))).join(', ')})`).join(', ')})`
}

/** Selects the rows of a table's view, each key once. `duplicates` are the items to deduplicate, as of `duplicateKeys`. */
export const selectUnique = (table: Table, duplicates: string | undefined): string => {
  const names = listColumns(table).map((column) => quoteName(column.name))
  const all = `SELECT ${names.join(', ')} FROM ${quoteName(table.name)}`
  return duplicates === undefined ? all : `${all} WHERE NOT (${duplicates}) UNION ALL ${deduplicate(table, duplicates)}`
}

/** Selects the rows of the given items, each key once: the last one in file order. Drops rows without a day. */
export const deduplicate = (table: Table, duplicates: string): string => {
  const names = listColumns(table).map((column) => quoteName(column.name))
  const key = (table.key ?? []).map(quoteName)
  return `SELECT ${names.join(', ')} FROM (SELECT *, row_number() OVER () AS place FROM ${quoteName(table.name)} WHERE ${duplicates}) WHERE date IS NOT NULL QUALIFY row_number() OVER (PARTITION BY ${key.join(', ')} ORDER BY place DESC) = 1 ORDER BY ${key.join(', ')}`
}
