import { Observable } from 'rxjs'
import { StorageError, UsageError } from '../src/model/errors.js'
import { catalogue } from '../src/tables/catalogue.js'
import { type Duck, openDuck } from '../src/tables/duckdb.js'
import { folderAt } from '../src/tables/folder.js'
import { errorOf } from '../src/tables/query.js'
import { named } from '../src/tables/sql.js'
import { selectOf } from '../src/tables/view.js'

/** A table as it was loaded. */
export interface Loaded {
  readonly table: string
  readonly rows: number
  /** Rows of the files that are not among them: a key that came again later, or no day that could be read. */
  readonly leftOut: number
  readonly ms: number
}

/**
 * Brings the outputs of a folder into a database or files for analysis. What is there afterwards is what the folder holds, however often
 * it is done; until all is in place, it is what was there before.
 */
export interface Export {
  /** Where it goes, without secrets. */
  readonly name: string
  /**
   * Loads all tables, upon subscription and in one step; emits each when all are in place. Unsubscribing takes it back. Errors:
   * `UsageError` where a package is missing or the place is none, `StorageError` where it cannot be written, `DamagedFile` for an output
   * that cannot be read.
   */
  write(folder: string): Observable<Loaded>
}

/** An export under way: DuckDB with a view for each table. */
export interface Exporting {
  readonly connection: Duck['connection']
  readonly isStopped: () => boolean
}

export const exportTo = (name: string, load: (exporting: Exporting) => Promise<readonly Loaded[]>): Export => ({
  name,
  write: (out) =>
    new Observable((subscriber) => {
      let duck: Duck | undefined
      const all = async (): Promise<readonly Loaded[]> => {
        const folder = await folderAt(out)
        duck = await openDuck()
        try {
          for (const table of catalogue) await duck.connection.run(`CREATE VIEW ${named(table.name)} AS ${await selectOf(table, folder)}`)
          return await load({ connection: duck.connection, isStopped: () => subscriber.closed })
        } finally {
          duck.close()
          duck = undefined
        }
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

/** Nobody typed the SQL of an export: what DuckDB finds wrong is not wrong usage. */
const asStorageError = (error: unknown, name: string): unknown => {
  const told = error instanceof Error && error.name === 'Error' ? errorOf(error) : error
  return told instanceof UsageError && told.cause !== undefined
    ? new StorageError(`${name} cannot be written: ${told.message.replace(/\s+/g, ' ')}`, { cause: told.cause })
    : told
}

/** Runs a part of an export, unless it was stopped, and tells how long it took. */
export const timed = async <T>({ isStopped }: Exporting, act: () => Promise<T>): Promise<T & { readonly ms: number }> => {
  if (isStopped()) throw new StorageError('the export was stopped')
  const from = performance.now()
  return { ...(await act()), ms: Math.round(performance.now() - from) }
}
