import { Observable } from 'rxjs'
import { messageOf, StorageError, UsageError } from '../src/model/errors.js'
import type { Table } from '../src/model/table.js'
import { tablesOf } from '../src/pipeline/tables.js'
import { type Duck, openDuck } from '../src/tables/duckdb.js'
import { type Folder, folderAt } from '../src/tables/folder.js'
import { errorOf } from '../src/tables/query.js'
import type { Reading } from '../src/tables/records.js'
import { named } from '../src/tables/sql.js'
import { selectOf } from '../src/tables/view.js'
import type { Export, ExportOptions, Loaded } from './export.js'

/** A running export: DuckDB with a view for each table. */
export interface Exporting {
  readonly connection: Duck['connection']
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

export const exportTo = ({ name, streams }: ExportTarget, load: (exporting: Exporting) => Promise<readonly Loaded[]>): Export => ({
  name,
  write: (out) =>
    new Observable((subscriber) => {
      let duck: Duck | undefined
      const isStopped = (): boolean => subscriber.closed
      const attempt = async (folder: Folder, reading: Reading): Promise<readonly Loaded[]> => {
        duck = await openDuck()
        try {
          const all = tablesOf(streams)
          const tables = await createViews(duck, all, { folder, reading })
          if (tables.length === 0) throw new UsageError(`${out} has no outputs to load; create them with "scripstream run --out ${out}"`)
          return await load({ connection: duck.connection, all, tables, isStopped })
        } finally {
          duck.close()
          duck = undefined
        }
      }
      const all = async (): Promise<readonly Loaded[]> => {
        const folder = await folderAt(out)
        // The fast reader expects candle files as a run writes them. If one differs, roll back and load again with the tolerant reader.
        return await attempt(folder, 'sound').catch((error: unknown) => {
          if (isStopped() || !/CSV Error|Conversion Error/i.test(messageOf(error))) throw error
          return attempt(folder, 'any')
        })
      }
      all().then(
        (tables) => {
          for (const table of tables) subscriber.next(table)
          subscriber.complete()
        },
        (error: unknown) => subscriber.error(asStorageError(error, name)),
      )
      return () => duck?.connection.interrupt()
    }),
})

/** Creates a view for each table that has files, and returns these tables. */
const createViews = async (
  { connection }: Duck,
  all: readonly Table[],
  { folder, reading }: { readonly folder: Folder; readonly reading: Reading },
): Promise<readonly Table[]> => {
  const tables: Table[] = []
  for (const table of all) {
    if ((await folder.filesOf(table)).every(({ found }) => found.length === 0)) continue
    await connection.run(`CREATE VIEW ${named(table.name)} AS ${await selectOf(table, folder, reading)}`)
    tables.push(table)
  }
  return tables
}

/** Users do not write the SQL of an export: an SQL error is a storage error, not wrong usage. */
const asStorageError = (error: unknown, name: string): unknown => {
  const known = error instanceof Error && error.name === 'Error' ? errorOf(error) : error
  return known instanceof UsageError && known.cause !== undefined
    ? new StorageError(`${name} cannot be written: ${known.message.replace(/\s+/g, ' ')}`, { cause: known.cause })
    : known
}

/** Loads one table after another until the export is stopped. Returns a result for every table. */
export const loadedFrom = async (
  { all, tables, isStopped }: Exporting,
  load: (table: Table) => Promise<Pick<Loaded, 'rows' | 'leftOut'>>,
): Promise<readonly Loaded[]> => {
  const loaded: Loaded[] = []
  for (const table of all) {
    if (isStopped()) throw new StorageError('the export was stopped')
    const startedAt = performance.now()
    const isSkipped = !tables.includes(table)
    const { rows, leftOut } = isSkipped ? { rows: 0, leftOut: 0 } : await load(table)
    loaded.push({ table: table.name, rows, leftOut, ms: Math.round(performance.now() - startedAt), isSkipped })
  }
  return loaded
}
