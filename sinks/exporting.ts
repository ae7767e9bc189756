import { Observable } from 'rxjs'
import { messageOf, StorageError, UsageError } from '../src/model/errors.js'
import { catalogue } from '../src/tables/catalogue.js'
import { type Duck, openDuck } from '../src/tables/duckdb.js'
import { type Folder, folderAt } from '../src/tables/folder.js'
import { errorOf } from '../src/tables/query.js'
import type { Reading } from '../src/tables/records.js'
import { named } from '../src/tables/sql.js'
import type { Table } from '../src/tables/table.js'
import { selectOf } from '../src/tables/view.js'
import type { Export, Loaded } from './export.js'

/** An export under way: DuckDB with a view for each table. */
export interface Exporting {
  readonly connection: Duck['connection']
  /** The tables of which files are there. */
  readonly tables: readonly Table[]
  readonly isStopped: () => boolean
}

export const exportTo = (name: string, load: (exporting: Exporting) => Promise<readonly Loaded[]>): Export => ({
  name,
  write: (out) =>
    new Observable((subscriber) => {
      let duck: Duck | undefined
      const isStopped = (): boolean => subscriber.closed
      const attempt = async (folder: Folder, reading: Reading): Promise<readonly Loaded[]> => {
        duck = await openDuck()
        try {
          const tables = await viewsIn(duck, folder, reading)
          if (tables.length === 0) throw new UsageError(`${out} holds no output to load: make some with "scripstream run --out ${out}"`)
          return await load({ connection: duck.connection, tables, isStopped })
        } finally {
          duck.close()
          duck = undefined
        }
      }
      const all = async (): Promise<readonly Loaded[]> => {
        const folder = await folderAt(out)
        // Candle files as a run writes them are read fast; where one is not, all is taken back and read again, more patiently.
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

/** Makes a view of each table of which files are there, and tells which these are. */
const viewsIn = async ({ connection }: Duck, folder: Folder, reading: Reading): Promise<readonly Table[]> => {
  const tables: Table[] = []
  for (const table of catalogue) {
    if ((await folder.filesOf(table)).every(({ found }) => found.length === 0)) continue
    await connection.run(`CREATE VIEW ${named(table.name)} AS ${await selectOf(table, folder, reading)}`)
    tables.push(table)
  }
  return tables
}

/** Nobody typed the SQL of an export: what DuckDB finds wrong is not wrong usage. */
const asStorageError = (error: unknown, name: string): unknown => {
  const told = error instanceof Error && error.name === 'Error' ? errorOf(error) : error
  return told instanceof UsageError && told.cause !== undefined
    ? new StorageError(`${name} cannot be written: ${told.message.replace(/\s+/g, ' ')}`, { cause: told.cause })
    : told
}

/** Loads table by table, unless the export is stopped, and tells of all of the catalogue. */
export const loadedFrom = async (
  { tables, isStopped }: Exporting,
  load: (table: Table) => Promise<Pick<Loaded, 'rows' | 'leftOut'>>,
): Promise<readonly Loaded[]> => {
  const loaded: Loaded[] = []
  for (const table of catalogue) {
    if (isStopped()) throw new StorageError('the export was stopped')
    const from = performance.now()
    const isSkipped = !tables.includes(table)
    const { rows, leftOut } = isSkipped ? { rows: 0, leftOut: 0 } : await load(table)
    loaded.push({ table: table.name, rows, leftOut, ms: Math.round(performance.now() - from), isSkipped })
  }
  return loaded
}
