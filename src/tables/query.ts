import type { DuckDBResult } from '@duckdb/node-api'
import { CollectError, UsageError } from '../model/errors.js'
import { omitUndefined, type Row } from '../model/row.js'
import { type Columned, listColumnNames, listColumns, type Table } from '../model/table.js'
import { findClosest, findNearMatch, suggest } from '../model/text.js'
import type { Day } from '../model/trading-day.js'
import {
  type DuckDb,
  openDuckDb,
  quoteList,
  quoteName,
  quotePath,
  toQueryError,
  toSpillFolder,
} from '../storage/duckdb.js'
import { getErrorCode } from '../storage/file-system.js'
import { openFolder, type TableFolder } from '../storage/table-folder.js'
import { HISTORY_SCHEMA, listHistoryTables } from './history/as-of.js'
import { MIN_LAKE_BYTES } from './lake/lake.js'
import { listPaths, openRelations } from './relations.js'
import { describeResultColumns } from './result-values.js'
import { checkStatement } from './statement.js'
import { listViews } from './views/index.js'

export interface Source {
  readonly out: string
  readonly tables: readonly Table[]
  /** Bytes of outputs from which on a table is written to the lake; `false` does not use the lake. */
  readonly lakeFrom?: number | false | undefined
  /** Tables are read as they stood on this day; now if absent. */
  readonly asOf?: Day | undefined
  /** What the database may use besides: settings of DuckDB, such as `threads`. */
  readonly room?: Readonly<Record<string, string>>
  /** Files of other listed stocks are not read; all if absent. */
  readonly symbol?: string | undefined
  /** Names of tables that are read as empty. */
  readonly without?: ReadonlySet<string>
}

export interface QueryResult {
  readonly result: DuckDBResult
  /** The tables and views of the statement. */
  readonly used: readonly Columned[]
  /** The recorded day that answers a query as of a day, if a table needed one. */
  readonly usedDay?: Day
  /** Which records answer a query as of a day, where they are not of that day or were not collected on it. */
  readonly answers: readonly string[]
  /** Recorded days that are damaged and left out. */
  readonly warnings: readonly string[]
  readonly close: () => void
}

const listRelations = (tables: readonly Table[]): readonly Columned[] => [
  ...tables,
  ...listViews(tables),
  ...listHistoryTables(tables),
]

/**
 * The names of the columns that a statement answers with. Reads no files: the tables are empty.
 *
 * @throws UsageError for a statement that is wrong or not permitted
 */
export const describeQuery = async (sql: string, tables: readonly Table[]): Promise<readonly string[]> => {
  const all = listRelations(tables)
  const { connection, close } = await openDuckDb()
  let used: readonly Columned[] = []
  try {
    const statement = await checkStatement(connection, sql, all)
    used = statement.isListing ? all : statement.used
    await connection.run(`CREATE SCHEMA ${HISTORY_SCHEMA}`)
    for (const relation of used)
      await connection.run(`CREATE TABLE ${quotePath(relation.name)} (${declareColumns(relation)})`)
    return (await connection.stream(statement.sql)).columnNames()
  } catch (error) {
    throw explainQueryError(error, all, used)
  } finally {
    close()
  }
}

const declareColumns = (relation: Columned): string =>
  listColumns(relation)
    .map(({ name, type }) => `${quoteName(name)} ${type}`)
    .join(', ')

/**
 * Queries the files of a folder. The database is in memory, its tables are views over the current files, and
 * it can open no other files. A large sort may write to the system's temporary folder. `onBegin` receives a
 * function that interrupts the query, also before the first row.
 *
 * @throws UsageError for a statement that is wrong or not permitted
 * @throws DamagedFileError for a file that cannot be read
 */
export const runQuery = async (
  sql: string,
  { out, tables, lakeFrom = MIN_LAKE_BYTES, asOf, symbol, without, room = {} }: Source,
  onBegin: (interrupt: () => void) => void = () => undefined,
): Promise<QueryResult> => {
  const whole = await openFolder(out)
  const folder = symbol === undefined ? whole : await openFolder(out, symbol)
  const duck = await openDuckDb({ ...room, temp_directory: toSpillFolder(process.pid) })
  onBegin(() => duck.connection.interrupt())
  const { close } = duck
  const all = listRelations(tables)
  let used: readonly Columned[] = []
  try {
    const statement = await checkStatement(duck.connection, sql, all)
    used = statement.used
    const warnings = new Set<string>()
    // What is read in part must not be stored.
    const isPart = symbol !== undefined || (without?.size ?? 0) > 0
    const lake =
      lakeFrom === false
        ? undefined
        : { minBytes: isPart ? Number.POSITIVE_INFINITY : lakeFrom, folder: whole }
    const { isListing } = statement
    const source = {
      tables,
      folder,
      lake,
      past: asOf,
      used,
      isListing,
      without,
      warn: (text: string) => void warnings.add(text),
    }
    const { files, usedDay, answers = [] } = await openRelations(duck.connection, statement.tables, source)
    if (statement.tables.length > 0 && files.length === 0 && (await isEmpty(whole, tables)))
      throw new UsageError(`${out} contains no outputs`, { code: 'no-outputs' })
    await restrictAccess(duck, files)
    const result = await duck.connection.stream(statement.sql)
    return omitUndefined({ result, used, close, answers, warnings: [...warnings], usedDay })
  } catch (error) {
    close()
    throw explainQueryError(error, all, used)
  }
}

/** Runs a statement and closes the database once `read` has read its rows. @throws as `runQuery` does */
export const readQuery = async <T>(
  sql: string,
  source: Source,
  read: (query: QueryResult) => Promise<T>,
  onBegin?: Parameters<typeof runQuery>[2],
): Promise<T> => {
  const query = await runQuery(sql, source, onBegin)
  try {
    return await read(query)
  } catch (error) {
    throw toQueryError(error)
  } finally {
    query.close()
  }
}

/** All rows of a statement: integers beyond 2^53, decimals, dates and times are text. */
export const queryRows = (sql: string, source: Source): Promise<readonly Row[]> =>
  readQuery(sql, source, async ({ result }) => {
    const integers = describeResultColumns(result).flatMap(({ name, isNumber }) => (isNumber ? [name] : []))
    const rows: Row[] = []
    for await (const chunk of result.yieldRowObjectJson())
      for (const row of chunk)
        rows.push({ ...row, ...Object.fromEntries(integers.map((name) => [name, toInteger(row[name])])) })
    return rows
  })

/** DuckDB gives integers of 64 bits as text. */
const toInteger = (value: unknown): unknown =>
  typeof value === 'string' && /^-?\d+$/.test(value) && Number.isSafeInteger(Number(value))
    ? Number(value)
    : value

/**
 * Whether no table has a file. A folder that cannot be read counts as not empty: the statement may not need
 * it.
 */
const isEmpty = async (folder: TableFolder, tables: readonly Table[]): Promise<boolean> => {
  try {
    return (await listPaths(tables, folder)).length === 0
  } catch (error) {
    if (getErrorCode(error) === undefined) throw error
    return false
  }
}

/** From now on the database opens these files only, loads no extension, and its configuration is locked. */
const restrictAccess = async ({ connection }: DuckDb, files: readonly string[]): Promise<void> => {
  await connection.run(`SET allowed_paths = ${quoteList(files)}`)
  await connection.run('SET enable_external_access = false')
  await connection.run('SET lock_configuration = true')
}

const KEYWORDS =
  'select from where group order having limit join left inner union using with distinct between values describe summarize'.split(
    ' ',
  )

/**
 * A syntax error with the keyword that its word, or the one before, may mean: in `FORM master` the error is
 * at `master`.
 */
const suggestKeyword = (message: string): string => {
  const [, near = ''] = /near "(\w+)"/.exec(message) ?? []
  const [, line = '', pointer = ''] = /^(LINE .*)\n( *)\^/m.exec(message) ?? []
  const sortLetters = (word: string) => [...word].sort().join()
  const findKeyword = (word: string) =>
    findNearMatch(word, KEYWORDS) ?? KEYWORDS.find((keyword) => sortLetters(keyword) === sortLetters(word))
  const words =
    `${line.slice(0, pointer.length)} ${near}`
      .match(/\w{3,}/g)
      ?.slice(-2)
      .reverse() ?? []
  const word =
    words.find(
      (one) => !KEYWORDS.includes(one.toLowerCase()) && findKeyword(one.toLowerCase()) !== undefined,
    ) ?? ''
  const keyword = findKeyword(word.toLowerCase())
  return message.replace(/$/m, suggest(word === near ? keyword : keyword && `${keyword}, not ${word}`))
}

/**
 * An error of DuckDB for people: an unknown table comes with the tables, an unknown column with the columns
 * of the tables in the statement.
 */
const explainQueryError = (error: unknown, all: readonly Columned[], used: readonly Columned[]): unknown => {
  const converted = toQueryError(error)
  if (converted === error || !(converted instanceof CollectError)) return converted
  const { message } = converted
  const describe = (
    what: string,
    name: string,
    lists: readonly (readonly [title: string, names: readonly string[]])[],
  ) => {
    const start = message.search(/^LINE \d/m)
    const position = start < 0 ? [] : [message.slice(start)]
    const near = findClosest(
      name,
      lists.flatMap(([, names]) => names),
    )
    const lines = lists.map(([title, names]) => `${title}: ${names.join(', ')}`)
    return new UsageError([`unknown ${what}: ${name}${suggest(near)}`, ...position, ...lines].join('\n'), {
      cause: error,
    })
  }
  if (message.startsWith('Parser Error')) return new UsageError(suggestKeyword(message), { cause: error })
  const table = /^Catalog Error: Table with name "?(.+?)"? does not exist/.exec(message)?.[1]
  if (table !== undefined) return describe('table', table, [['tables', all.map(({ name }) => name)]])
  const column = /^Binder Error: .*(?:Referenced column|column named) "(.+?)"/.exec(message)?.[1]
  if (column === undefined || used.length === 0) return converted
  return describe(
    'column',
    column,
    used.map((one) => [`columns of ${one.name}`, listColumnNames(one)]),
  )
}
