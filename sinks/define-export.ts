import type { DuckDBConnection } from '@duckdb/node-api'
import { Observable } from 'rxjs'
import { formatError, StorageError, UsageError } from '../src/model/errors.js'
import { listColumns, type Table } from '../src/model/table.js'
import { listTables } from '../src/pipeline/define-stream.js'
import { type DuckDb, openDuckDb, quoteName, quoteText, toQueryError } from '../src/storage/duckdb.js'
import { openFolder, type TableFolder } from '../src/storage/table-folder.js'
import { buildSelect, type CsvMode } from '../src/storage/table-views.js'
import type { Export, ExportOptions, LoadedTable } from './export.js'

/** How many rows of a table were loaded, and how many were not. */
export type RowCounts = Pick<LoadedTable, 'rows' | 'leftOut'>

/** A running export: DuckDB with a view for each table. */
export interface ExportContext {
  readonly connection: DuckDBConnection
  /** All tables, in their order. */
  readonly all: readonly Table[]
  /** The tables that have files. */
  readonly tables: readonly Table[]
  readonly isStopped: () => boolean
}

interface ExportTarget extends ExportOptions {
  /** Without secrets. */
  readonly name: string
}

export const defineExport = (
  { name, streams }: ExportTarget,
  load: (exporting: ExportContext) => Promise<readonly LoadedTable[]>,
): Export => ({
  name,
  write: (out) =>
    loadWithDuckDb((run, isStopped) => {
      const attempt = (folder: TableFolder, reading: CsvMode): Promise<readonly LoadedTable[]> =>
        run(async (duck) => {
          const all = listTables(streams)
          const tables = await createViews(duck, all, { folder, reading })
          if (tables.length === 0) throw new UsageError(`${out} has no outputs to load`, { code: 'no-outputs' })
          return await load({ connection: duck.connection, all, tables, isStopped })
        })
      const all = async (): Promise<readonly LoadedTable[]> => {
        const folder = await openFolder(out)
        // The fast reader expects candle files as a run writes them. If one differs, roll back and load again with the tolerant reader.
        return await attempt(folder, 'sound').catch((error: unknown) => {
          if (isStopped() || !/CSV Error|Conversion Error/i.test(formatError(error))) throw error
          return attempt(folder, 'any')
        })
      }
      return all().catch((error: unknown) => {
        throw toExportError(error, name)
      })
    }),
})

/** Emits the tables that `load` has loaded with databases that its first argument opens and closes. Unsubscribing interrupts them. */
export const loadWithDuckDb = (
  load: (run: <T>(act: (duck: DuckDb) => Promise<T>) => Promise<T>, isStopped: () => boolean) => Promise<readonly LoadedTable[]>,
): Observable<LoadedTable> =>
  new Observable((subscriber) => {
    let duck: DuckDb | undefined
    const run = async <T>(act: (duck: DuckDb) => Promise<T>): Promise<T> => {
      duck = await openDuckDb()
      try {
        return await act(duck)
      } finally {
        duck.close()
        duck = undefined
      }
    }
    load(run, () => subscriber.closed).then(
      (tables) => {
        for (const table of tables) subscriber.next(table)
        subscriber.complete()
      },
      (error: unknown) => subscriber.error(error),
    )
    return () => duck?.connection.interrupt()
  })

/** Creates a view for each table that has files, and returns these tables. */
const createViews = async (
  { connection }: DuckDb,
  all: readonly Table[],
  { folder, reading }: { readonly folder: TableFolder; readonly reading: CsvMode },
): Promise<readonly Table[]> => {
  const tables: Table[] = []
  for (const table of all) {
    if ((await folder.listFiles(table)).every(({ paths }) => paths.length === 0)) continue
    await connection.run(`CREATE VIEW ${quoteName(table.name)} AS ${await buildSelect(table, folder, { reading })}`)
    tables.push(table)
  }
  return tables
}

/** Users do not write the SQL of an export: an SQL error is a storage error, not wrong usage. */
const toExportError = (error: unknown, name: string): unknown => {
  const known = error instanceof Error && error.name === 'Error' ? toQueryError(error) : error
  return known instanceof UsageError && known.cause !== undefined ? createWriteError(name, known.message, known.cause) : known
}

/** The error of a target that cannot be written. Exports are atomic, so its earlier data stays. */
export const createWriteError = (name: string, reason: string, cause?: unknown): StorageError =>
  new StorageError(`${name} cannot be written: ${reason.replace(/\s+/g, ' ')}; the earlier data stays; correct this and export again`, {
    cause,
  })

/** Loads one table after another until the export is stopped. Returns a result for every table. */
export const loadTables = async (
  { all, tables, isStopped }: ExportContext,
  load: (table: Table) => Promise<RowCounts>,
): Promise<readonly LoadedTable[]> => {
  const loaded: LoadedTable[] = []
  for (const table of all) {
    if (isStopped()) throw new StorageError('the export was stopped')
    const startedAt = performance.now()
    const isSkipped = !tables.includes(table)
    const { rows, leftOut } = isSkipped ? { rows: 0, leftOut: 0 } : await load(table)
    loaded.push({ table: table.name, rows, leftOut, ms: Math.round(performance.now() - startedAt), isSkipped })
  }
  return loaded
}

/** Loads the rows of a table's view, each key once. `load` receives the SELECT and returns how many rows it has. */
export const loadUnique = async (
  { connection }: ExportContext,
  table: Table,
  load: (select: string) => Promise<number>,
): Promise<RowCounts> => {
  const view = quoteName(table.name)
  const duplicates = await duplicateKeys(connection, table, view)
  const rows = await load(selectUnique(table, duplicates))
  return { rows, leftOut: duplicates === undefined ? 0 : (await countRows(connection, view)) - rows }
}

export const countRows = async (connection: DuckDBConnection, source: string): Promise<number> =>
  Number((await connection.runAndReadAll(`SELECT count(*) FROM ${source}`)).getRows()[0]?.[0])

/** Finds the items of a candle table in `source` with a duplicate or unreadable day, as an SQL condition; `undefined` if there are none. */
export const duplicateKeys = async (connection: DuckDBConnection, table: Table, source: string): Promise<string | undefined> => {
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
const selectUnique = (table: Table, duplicates: string | undefined): string => {
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
