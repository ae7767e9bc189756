import { columnsOf } from '../src/tables/catalogue.js'
import type { Duck } from '../src/tables/duckdb.js'
import { named, quoted } from '../src/tables/sql.js'
import type { Table } from '../src/tables/table.js'

type Connection = Duck['connection']

/** The items of a table of candles in `source` of which a day is there twice, or cannot be read, as a condition; nothing where there are none. */
export const doubledIn = async (connection: Connection, table: Table, source: string): Promise<string | undefined> => {
  if (table.key === undefined) return undefined
  const item = table.key.filter((name) => name !== 'date').map(named)
  // A bit for each day costs a tenth of a set of days. Days beyond the ends share a bit, which only means a second look.
  const days = "bit_count(bitstring_agg(greatest(0, least(99999, date - DATE '1900-01-01')), 0, 99999))"
  const reader = await connection.runAndReadAll(
    `SELECT ${item.join(', ')} FROM ${source} GROUP BY ALL HAVING count(*) <> coalesce(${days}, 0)`,
  )
  const rows = reader.getRows()
  if (rows.length === 0) return undefined
  return `(${item.join(', ')}) IN (${rows.map((row) => `(${row.map((value) => quoted(String(value))).join(', ')})`).join(', ')})`
}

/** The rows of a table's view, each key once: of several the last in the file's order; none without a day. `doubled` says where to look. */
export const uniqueOf = (table: Table, doubled: string | undefined): string => {
  const names = columnsOf(table).map((column) => named(column.name))
  const all = `SELECT ${names.join(', ')} FROM ${named(table.name)}`
  return doubled === undefined ? all : `${all} WHERE NOT (${doubled}) UNION ALL ${lastOf(table, doubled)}`
}

/** The rows of the items that `doubled` names, each key once. */
export const lastOf = (table: Table, doubled: string): string => {
  const names = columnsOf(table).map((column) => named(column.name))
  const key = (table.key ?? []).map(named)
  return `SELECT ${names.join(', ')} FROM (SELECT *, row_number() OVER () AS place FROM ${named(table.name)} WHERE ${doubled}) WHERE date IS NOT NULL QUALIFY row_number() OVER (PARTITION BY ${key.join(', ')} ORDER BY place DESC) = 1 ORDER BY ${key.join(', ')}`
}
