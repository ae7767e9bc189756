import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { DuckDBResult } from '@duckdb/node-api'
import { DamagedFileError, formatError, UsageError } from '../model/errors.js'
import type { Table } from '../model/table.js'
import { type DuckDb, openDuckDb } from './duckdb.js'
import { openFolder, type TableFolder } from './folder.js'
import { quoteList, quoteName } from './sql.js'
import { parseStatement } from './statement.js'
import { buildSelect } from './view.js'

/** What is queried. */
export interface Source {
  /** The output folder. */
  readonly out: string
  readonly tables: readonly Table[]
}

/** A running statement. */
export interface QueryResult {
  /** Its rows, streamed. */
  readonly result: DuckDBResult
  readonly close: () => void
}

/**
 * Queries the files of a folder. The database is in memory, its tables are views over the current files, and it can open no other files. A
 * large sort may write to the system's temporary folder. `onBegin` receives a function that interrupts the query, also before the first row.
 *
 * @throws UsageError for a statement that is wrong or not permitted
 * @throws DamagedFileError for a file that cannot be read
 */
export const runQuery = async (
  sql: string,
  { out, tables }: Source,
  onBegin: (interrupt: () => void) => void = () => undefined,
): Promise<QueryResult> => {
  const folder = await openFolder(out)
  const duck = await openDuckDb({ temp_directory: join(tmpdir(), `scripstream-query-${process.pid}`) })
  onBegin(() => duck.connection.interrupt())
  try {
    const statement = await parseStatement(duck.connection, sql, tables)
    const selects = await Promise.all(statement.tables.map(async (table) => [table, await buildSelect(table, folder)] as const))
    const files = await listPaths(statement.tables, folder)
    if (statement.tables.length > 0 && files.length === 0 && (await isEmpty(folder, tables)))
      throw new UsageError(`${out} contains no outputs; name another folder with --out, or create them with "scripstream run --out ${out}"`)
    await restrictAccess(duck, files)
    for (const [table, select] of selects) await createView(duck, table, select)
    return { result: await duck.connection.stream(statement.sql), close: duck.close }
  } catch (error) {
    duck.close()
    throw toQueryError(error)
  }
}

const listPaths = async (some: readonly Table[], folder: TableFolder): Promise<readonly string[]> =>
  (await Promise.all(some.map(folder.listFiles))).flat().flatMap(({ paths }) => paths)

/** Whether no table has a file. An unreadable folder counts as not empty: the statement may not need it. */
const isEmpty = async (folder: TableFolder, tables: readonly Table[]): Promise<boolean> =>
  (await listPaths(tables, folder).catch(() => undefined))?.length === 0

/** From now on the database opens these files only, loads no extension, and its configuration is locked. */
const restrictAccess = async ({ connection }: DuckDb, files: readonly string[]): Promise<void> => {
  await connection.run(`SET allowed_paths = ${quoteList(files)}`)
  await connection.run('SET enable_external_access = false')
  await connection.run('SET lock_configuration = true')
}

const createView = async ({ connection }: DuckDb, { name }: Table, select: string): Promise<void> => {
  await connection.run(`CREATE VIEW ${quoteName(name)} AS ${select}`)
}

/** Converts DuckDB's error; keeps its message with the line and the position. */
export const toQueryError = (error: unknown): unknown => {
  if (!(error instanceof Error) || error.name !== 'Error') return error
  if (/\bin file "|^IO Error/.test(error.message)) return new DamagedFileError(formatError(error), { cause: error })
  return new UsageError(
    error.message
      .replace('Failed to extract statements: ', '')
      .trim()
      .replace(/\n{2,}/g, '\n'),
    { cause: error },
  )
}
