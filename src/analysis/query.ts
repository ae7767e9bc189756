import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { DuckDBConnection, DuckDBResult } from '@duckdb/node-api'
import { UsageError } from '../model/errors.js'
import { isRow, type Row } from '../model/row.js'
import type { Columned, Table } from '../model/table.js'
import type { Day } from '../model/trading-day.js'
import { type DuckDb, openDuckDb, quoteList, quoteName } from '../storage/duckdb.js'
import { openFolder, type TableFolder } from '../storage/table-folder.js'
import { HISTORY_SCHEMA, listHistoryTables } from './history/as-of.js'
import { explainQueryError } from './query-errors.js'
import { listPaths, prepareRelations } from './relations.js'
import { listViews } from './tables/index.js'

/** What is queried. */
export interface Source {
  /** The output folder. */
  readonly out: string
  readonly tables: readonly Table[]
  /** Bytes of candle files from which on a copy of them in Parquet is kept in the folder and used; none without it. */
  readonly cacheFrom?: number | undefined
  /** Tables are read as they stood on this day; now if absent. */
  readonly asOf?: Day | undefined
  /** What the database may use besides: settings of DuckDB, such as `threads`. */
  readonly room?: Readonly<Record<string, string>>
}

/** A running statement. */
export interface QueryResult {
  /** Its rows, streamed. */
  readonly result: DuckDBResult
  /** The recorded day that answers a query as of a day, if a table needed one. */
  readonly usedDay?: Day
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
  { out, tables, cacheFrom, asOf, room = {} }: Source,
  onBegin: (interrupt: () => void) => void = () => undefined,
): Promise<QueryResult> => {
  const folder = await openFolder(out)
  const duck = await openDuckDb({ ...room, temp_directory: join(tmpdir(), `scripstream-query-${process.pid}`) })
  onBegin(() => duck.connection.interrupt())
  const all: readonly Columned[] = [...tables, ...listViews(tables), ...listHistoryTables(tables)]
  let used: readonly Columned[] = []
  try {
    const statement = await checkStatement(duck.connection, sql, all)
    used = statement.used
    const { files, selects, usedDay } = await prepareRelations(duck.connection, statement.tables, { tables, folder, cacheFrom, asOf })
    if (statement.tables.length > 0 && files.length === 0 && (await isEmpty(folder, tables)))
      throw new UsageError(`${out} contains no outputs`, { code: 'no-outputs' })
    await restrictAccess(duck, files)
    await duck.connection.run(`CREATE SCHEMA ${HISTORY_SCHEMA}`)
    for (const [relation, select] of selects) await createView(duck, relation, select)
    const result = await duck.connection.stream(statement.sql)
    return { result, close: duck.close, ...(usedDay === undefined ? {} : { usedDay }) }
  } catch (error) {
    duck.close()
    throw explainQueryError(error, { all, used })
  }
}

/** Whether no table has a file. An unreadable folder counts as not empty: the statement may not need it. */
const isEmpty = async (folder: TableFolder, tables: readonly Table[]): Promise<boolean> =>
  (await listPaths(tables, folder).catch(() => undefined))?.length === 0

/** From now on the database opens these files only, loads no extension, and its configuration is locked. */
const restrictAccess = async ({ connection }: DuckDb, files: readonly string[]): Promise<void> => {
  await connection.run(`SET allowed_paths = ${quoteList(files)}`)
  await connection.run('SET enable_external_access = false')
  await connection.run('SET lock_configuration = true')
}

const createView = async ({ connection }: DuckDb, { name }: Pick<Columned, 'name'>, select: string): Promise<void> => {
  await connection.run(`CREATE VIEW ${name.split('.').map(quoteName).join('.')} AS ${select}`)
}

/** A read-only statement. */
interface Statement {
  readonly sql: string
  /** The tables that it may use. */
  readonly tables: readonly Columned[]
  /** The tables that it names. */
  readonly used: readonly Columned[]
}

const EXPLAIN = /^(?:\s+|--[^\n]*\n|\/\*[^*]*\*\/)*(explain\s+(?:analyze\s+)?(?:\([\w\s,]*\)\s*)?)/i
const HINT = 'query reads only the tables of the folder; SHOW TABLES lists them'

/**
 * Functions that read only their arguments or the database's own catalogue. The restricted access alone does not suffice: a SELECT from
 * `enable_logging` with a path aborts the process, and an `EXPLAIN ANALYZE COPY` may overwrite a file that the views read.
 */
const TABLE_FUNCTIONS = [
  ...['unnest', 'range', 'generate_series', 'repeat', 'repeat_row', 'json_each', 'json_tree', 'summary'],
  ...['duckdb_columns', 'duckdb_functions', 'duckdb_keywords', 'duckdb_tables', 'duckdb_types', 'duckdb_views', 'pragma_table_info'],
]

/**
 * Permits one statement that DuckDB can serialize, which is a SELECT (also FROM, VALUES, DESCRIBE, SUMMARIZE and SHOW), or EXPLAIN of one,
 * and only tables and functions that stay inside the database. Does not run it.
 *
 * @throws UsageError for any other statement
 */
export const checkStatement = async (connection: DuckDBConnection, sql: string, all: readonly Columned[]): Promise<Statement> => {
  const explain = EXPLAIN.exec(sql)
  const query = explain ? sql.slice(explain[0].length) : sql
  const result = await connection.runAndReadAll('SELECT json_serialize_sql($1::VARCHAR)', [query])
  const { tree, names } = parseTree(String(result.getRows()[0]?.[0]))
  if (tree.error === true) throw await createRefusal(connection, query, tree)
  const { length: count } = tree.statements as readonly unknown[]
  if (count === 0) throw new UsageError('the statement is missing; write one, such as SELECT * FROM master')
  if (count > 1) throw new UsageError(`query takes one statement, not ${count}`)
  const wrong = names.functions.find((name) => !TABLE_FUNCTIONS.includes(name))
  if (wrong !== undefined) throw new UsageError(`${wrong}() is not permitted: ${HINT}`)
  const tables = all.filter(({ name }) => names.tables.includes(name))
  const unknown = names.tables.filter((name) => !names.common.includes(name) && !tables.some((table) => table.name === name))
  const file = unknown.find((name) => /\W/.test(name))
  if (file !== undefined) throw new UsageError(`${file} is not a table: ${HINT}`)
  // Views of all tables but the days of each are needed to list them, and for DuckDB's "did you mean".
  const needsAll = names.listsTables || unknown.length > 0 || names.functions.some((name) => /^(duckdb|pragma)_/.test(name))
  return {
    sql: explain ? `${explain[1]} ${query}` : sql,
    tables: needsAll ? all.filter((one) => tables.includes(one) || !('table' in one)) : tables,
    used: tables,
  }
}

/** Parses DuckDB's syntax tree, and collects the names in it. */
const parseTree = (text: string) => {
  const names = { functions: [] as string[], tables: [] as string[], common: [] as string[], listsTables: false }
  const tree = JSON.parse(text, (key, node: unknown) => {
    if (!isRow(node)) return node
    if (node.type === 'TABLE_FUNCTION') names.functions.push(String((node.function as Row).function_name).toLowerCase())
    if (node.type === 'BASE_TABLE') names.tables.push(toTableName(node))
    if (node.type === 'SHOW_REF' && !isRow(node.query)) names.listsTables = true
    if (key === 'cte_map') for (const { key: name } of node.map as readonly Row[]) names.common.push(String(name).toLowerCase())
    return node
  }) as Row
  return { tree, names }
}

const toTableName = ({ schema_name: schema, table_name: name }: Row): string =>
  `${schema === HISTORY_SCHEMA ? `${HISTORY_SCHEMA}.` : ''}${String(name)}`.toLowerCase()

const createRefusal = async (connection: DuckDBConnection, sql: string, { error_type: type }: Row): Promise<Error> => {
  // DuckDB's parser throws an error with the position.
  if (type === 'parser') await connection.extractStatements(sql)
  const pivotHint = /\bPIVOT\b/i.test(sql) ? '\nPIVOT needs its values: PIVOT … ON … IN (…) USING …' : ''
  return new UsageError(`query is read-only; use one SELECT, FROM, WITH, VALUES, DESCRIBE, SUMMARIZE, SHOW, or EXPLAIN of one${pivotHint}`)
}
