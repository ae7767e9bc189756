import type { DuckDBConnection } from '@duckdb/node-api'
import { Observable } from 'rxjs'
import { listTables } from '../../engine/define-stream.js'
import { DamagedFileError, StorageError, UsageError } from '../../model/errors.js'
import { type Columned, listColumns, type ShownColumn, type Table } from '../../model/table.js'
import { findClosest, suggest } from '../../model/text.js'
import {
  type DuckDb,
  openDuckDb,
  quoteName,
  quoteText,
  toQueryError,
  toSpillFolder,
} from '../../storage/duckdb.js'
import { openFolder } from '../../storage/table-folder.js'
import type { LakeUse } from '../lake/lake.js'
import { openRelations } from '../relations.js'
import { readRunDay, toMarketDay } from '../variables.js'
import { addNeeded, listViews } from '../views/index.js'
import type { Export, ExportOptions, LoadedTable } from './export.js'
import { createWriteError } from './replace-file.js'

export interface ExportedTable extends Pick<Table, 'name' | 'comment' | 'key'> {
  readonly shape: Columned['shape']
  /** With `as_of`, and the time zone in the comments. */
  readonly columns: readonly ShownColumn[]
  /** The SELECT of its columns: of rows with the same key the last. */
  readonly select: string
  /** Whether it has no files. */
  readonly isSkipped: boolean
  /** The same for the same rows; undefined if that is unknown. */
  readonly version?: string | undefined
  /** How long it took to write it to the lake. */
  readonly writingMs: number
}

/** A running export: DuckDB with a view for each table. */
export interface ExportContext {
  readonly connection: DuckDBConnection
  readonly root: string
  readonly tables: readonly ExportedTable[]
  readonly isStopped: () => boolean
}

interface ExportTarget extends ExportOptions {
  /** Without secrets. */
  readonly name: string
  readonly lake?: Partial<Omit<LakeUse, 'folder'>>
}

type Load = (exporting: ExportContext) => Promise<readonly LoadedTable[]>

/**
 * An export that copies tables of the lake, after writing those that have changed. `load` has all of them
 * open. Unsubscribing interrupts it.
 */
export const defineExport = ({ name, ...options }: ExportTarget, load: Load): Export => ({
  name,
  write: (out) =>
    new Observable((subscriber) => {
      let duck: DuckDb | undefined
      const run = async (): Promise<readonly LoadedTable[]> => {
        duck = await openDuckDb({ temp_directory: toSpillFolder(process.pid) })
        const { connection } = duck
        try {
          const isStopped = (): boolean => subscriber.closed
          return await load({ connection, isStopped, ...(await openTables(connection, out, options)) })
        } finally {
          duck.close()
          duck = undefined
        }
      }
      run().then(
        (tables) => {
          for (const table of tables) subscriber.next(table)
          subscriber.complete()
        },
        (error: unknown) => subscriber.error(toExportError(error, name)),
      )
      return () => duck?.connection.interrupt()
    }),
})

export const AS_OF_COLUMN: ShownColumn = {
  name: 'as_of',
  type: 'DATE',
  comment: 'day as of which the row was loaded; a database keeps it while the row is the same',
}

const openTables = async (
  connection: DuckDBConnection,
  out: string,
  { streams, tables: names, asOf, warn = throwDamage, lake }: Omit<ExportTarget, 'name'>,
): Promise<Pick<ExportContext, 'root' | 'tables'>> => {
  const tables = listTables(streams)
  const chosen = selectTables(streams, names)
  const folder = await openFolder(out)
  const source = { tables, folder, lake: { folder, minBytes: 0, isWhole: true, ...lake }, past: asOf, warn }
  const { stored, empty } = await openRelations(connection, chosen, source)
  const runDay = asOf ? await toMarketDay(folder.root, tables, asOf) : await readRunDay(folder.root, tables)
  const asOfDay = runDay === undefined ? 'NULL' : quoteText(runDay)
  const isSkipped = async (one: Selected): Promise<boolean> => {
    if (one.shape !== 'view') return empty.has(one.name)
    const isLacking = addNeeded([one], tables).tables.some(({ name }) => empty.has(name))
    return (
      isLacking &&
      (await connection.runAndReadAll(`FROM ${quoteName(one.name)} LIMIT 1`)).currentRowCount === 0
    )
  }
  const exported: ExportedTable[] = []
  for (const one of chosen) {
    const { name, comment, shape } = one
    const key = 'key' in one ? one.key : undefined
    const columns = [...listColumns(one).map(addTimeZone), AS_OF_COLUMN]
    const values = listColumns(one).map((column) => quoteName(column.name))
    const file = asOf === undefined ? stored.get(name) : undefined
    const rows = key === undefined ? quoteName(name) : file ? `(${file.unique})` : selectUnique(name, key)
    const select = `SELECT ${values.join(', ')}, CAST(${asOfDay} AS DATE) AS as_of FROM ${rows}`
    const version = file?.inputs.key
    exported.push({
      name,
      comment,
      shape,
      columns,
      select,
      key,
      version,
      writingMs: stored.get(name)?.ms ?? 0,
      isSkipped: await isSkipped(one),
    })
  }
  if (exported.every((table) => table.isSkipped))
    throw new UsageError(`${out} has no outputs to load`, { code: 'no-outputs' })
  return { root: folder.root, tables: exported }
}

const throwDamage = (text: string): never => {
  throw new DamagedFileError(text)
}

type Selected = Table | ReturnType<typeof listViews>[number]

/** The tables and views with these names; all if absent. @throws UsageError for an unknown name */
export const selectTables = (
  streams: ExportOptions['streams'],
  names?: readonly string[],
): readonly Selected[] => {
  const tables = listTables(streams)
  const all = [...tables, ...listViews(tables)]
  const known = all.map(({ name }) => name)
  const unknown = names?.find((name) => !known.includes(name))
  if (unknown !== undefined)
    throw new UsageError(`unknown table ${unknown}${suggest(findClosest(unknown, known))}`)
  return names === undefined ? all : all.filter(({ name }) => names.includes(name))
}

/** Rows with a day, each key once: the last one in the order of the files. */
const selectUnique = (name: string, key: readonly string[]): string =>
  `(SELECT * FROM (SELECT *, row_number() OVER () AS row_place FROM ${quoteName(name)}) WHERE date IS NOT NULL
    QUALIFY row_number() OVER (PARTITION BY ${key.map(quoteName).join(', ')} ORDER BY row_place DESC) = 1)`

const addTimeZone = ({ name, type, comment }: ShownColumn): ShownColumn => ({
  name,
  type,
  comment:
    type === 'TIMESTAMP' && !comment.includes('India') ? `${comment}, India time (Asia/Kolkata)` : comment,
})

/** Users do not write the SQL of an export: an SQL error is a storage error, not wrong usage. */
const toExportError = (error: unknown, name: string): unknown => {
  const known = error instanceof Error && error.name === 'Error' ? toQueryError(error) : error
  return known instanceof UsageError && known.cause !== undefined
    ? createWriteError(name, known.message, known.cause)
    : known
}

/** Loads one table after another until the export is stopped. `load` returns the number of rows. */
export const loadEach = async (
  { connection, tables, isStopped }: ExportContext,
  load: (table: ExportedTable) => Promise<number>,
): Promise<readonly LoadedTable[]> => {
  const loaded: LoadedTable[] = []
  for (const table of tables) {
    if (isStopped()) throw new StorageError('the export was stopped')
    const startedAt = performance.now()
    const rows = table.isSkipped ? 0 : await load(table)
    const all =
      table.isSkipped || table.key === undefined ? rows : await countRows(connection, quoteName(table.name))
    const ms = Math.round(performance.now() - startedAt)
    loaded.push({ table: table.name, rows, leftOut: all - rows, ms, isSkipped: table.isSkipped })
  }
  return loaded
}

/** A table of a database that was loaded before. */
export interface StoredTable {
  readonly comment: string | null
  /** The comments of its columns. */
  readonly columns: ReadonlyMap<string, string | null>
}

/** The statements that add the comments that a table lacks. */
export const describeTable = (
  target: string,
  { columns, comment }: ExportedTable,
  stored?: StoredTable,
): readonly string[] => {
  const comments = columns.filter((column) => stored?.columns.get(column.name) !== column.comment)
  return [
    ...(stored?.comment === comment ? [] : [`COMMENT ON TABLE ${target} IS ${quoteText(comment)}`]),
    ...comments.map(
      (column) => `COMMENT ON COLUMN ${target}.${quoteName(column.name)} IS ${quoteText(column.comment)}`,
    ),
  ]
}

export const countRows = async (connection: DuckDBConnection, source: string): Promise<number> =>
  Number((await connection.runAndReadAll(`SELECT count(*) FROM ${source}`)).getRows()[0]?.[0])
