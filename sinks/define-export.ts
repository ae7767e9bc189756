import { Observable } from 'rxjs'
import { formatError, StorageError, UsageError } from '../src/model/errors.js'
import type { Table } from '../src/model/table.js'
import { listTables } from '../src/pipeline/list-tables.js'
import { type DuckDb, openDuckDb, quoteName, toQueryError } from '../src/storage/duckdb.js'
import { openFolder, type TableFolder } from '../src/storage/table-folder.js'
import type { CsvMode } from '../src/storage/table-views.js'
import { buildSelect } from '../src/storage/table-views.js'
import type { Export, ExportOptions, LoadedTable } from './export.js'

/** A running export: DuckDB with a view for each table. */
export interface ExportContext {
  readonly connection: DuckDb['connection']
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
    new Observable((subscriber) => {
      let duck: DuckDb | undefined
      const isStopped = (): boolean => subscriber.closed
      const attempt = async (folder: TableFolder, reading: CsvMode): Promise<readonly LoadedTable[]> => {
        duck = await openDuckDb()
        try {
          const all = listTables(streams)
          const tables = await createViews(duck, all, { folder, reading })
          if (tables.length === 0) throw new UsageError(`${out} has no outputs to load; create them with "scripstream run --out ${out}"`)
          return await load({ connection: duck.connection, all, tables, isStopped })
        } finally {
          duck.close()
          duck = undefined
        }
      }
      const all = async (): Promise<readonly LoadedTable[]> => {
        const folder = await openFolder(out)
        // The fast reader expects candle files as a run writes them. If one differs, roll back and load again with the tolerant reader.
        return await attempt(folder, 'sound').catch((error: unknown) => {
          if (isStopped() || !/CSV Error|Conversion Error/i.test(formatError(error))) throw error
          return attempt(folder, 'any')
        })
      }
      all().then(
        (tables) => {
          for (const table of tables) subscriber.next(table)
          subscriber.complete()
        },
        (error: unknown) => subscriber.error(toExportError(error, name)),
      )
      return () => duck?.connection.interrupt()
    }),
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
    await connection.run(`CREATE VIEW ${quoteName(table.name)} AS ${await buildSelect(table, folder, reading)}`)
    tables.push(table)
  }
  return tables
}

/** Users do not write the SQL of an export: an SQL error is a storage error, not wrong usage. */
const toExportError = (error: unknown, name: string): unknown => {
  const known = error instanceof Error && error.name === 'Error' ? toQueryError(error) : error
  return known instanceof UsageError && known.cause !== undefined
    ? new StorageError(`${name} cannot be written: ${known.message.replace(/\s+/g, ' ')}`, { cause: known.cause })
    : known
}

/** Loads one table after another until the export is stopped. Returns a result for every table. */
export const loadTables = async (
  { all, tables, isStopped }: ExportContext,
  load: (table: Table) => Promise<Pick<LoadedTable, 'rows' | 'leftOut'>>,
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
