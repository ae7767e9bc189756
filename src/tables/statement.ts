import type { DuckDBConnection } from '@duckdb/node-api'
import { UsageError } from '../model/errors.js'
import { isRow, type Row } from '../model/row.js'
import type { Columned } from '../model/table.js'
import { HISTORY_SCHEMA } from './history/as-of.js'
import { isView } from './views/index.js'

const EXPLAIN = /^(?:\s+|--[^\n]*\n|\/\*[^*]*\*\/)*(explain\s+(?:analyze\s+)?(?:\([\w\s,]*\)\s*)?)/i
const COMMENTS = /--[^\n]*|\/\*[\s\S]*?\*\//g
const NO_STATEMENT = 'the statement is missing; write one, such as SELECT * FROM master'
const HINT = 'query reads only the tables of the folder; SHOW TABLES lists them'

/**
 * Functions that read only their arguments or the database's own catalogue. The restricted access alone does
 * not suffice: a SELECT from `enable_logging` with a path aborts the process, and an `EXPLAIN ANALYZE COPY`
 * may overwrite a file that the views read.
 */
const TABLE_FUNCTIONS = [
  'unnest',
  'range',
  'generate_series',
  'repeat',
  'repeat_row',
  'json_each',
  'json_tree',
  'summary',
  'duckdb_columns',
  'duckdb_functions',
  'duckdb_keywords',
  'duckdb_tables',
  'duckdb_types',
  'duckdb_views',
  'pragma_table_info',
]

/**
 * Permits one statement that DuckDB can serialize, which is a SELECT (also FROM, VALUES, DESCRIBE, SUMMARIZE
 * and SHOW), or EXPLAIN of one, and only tables and functions that stay inside the database. Does not run it.
 * `tables` are those that it may use, with the columns that it may use; with `isListing` they are there to be
 * listed.
 *
 * @throws UsageError for any other statement
 */
export const checkStatement = async (connection: DuckDBConnection, sql: string, all: readonly Columned[]) => {
  const explain = EXPLAIN.exec(sql)
  const query = explain ? sql.slice(explain[0].length) : sql
  if (query.replace(COMMENTS, '').trim() === '') throw new UsageError(NO_STATEMENT)
  const result = await connection.runAndReadAll('SELECT json_serialize_sql($1::VARCHAR)', [query])
  const { tree, names } = parseTree(String(result.getRows()[0]?.[0]))
  if (tree.error === true) throw await explainRefusal(connection, query, tree)
  const { length: count } = tree.statements as readonly unknown[]
  if (count === 0) throw new UsageError(NO_STATEMENT)
  if (count > 1) throw new UsageError(`query takes one statement, not ${count}`)
  const wrong = names.functions.find((name) => !TABLE_FUNCTIONS.includes(name))
  if (wrong !== undefined) throw new UsageError(`${wrong}() is not permitted: ${HINT}`)
  const tables = all.filter(({ name }) => names.tables.includes(name))
  const unknown = names.tables.filter(
    (name) => !names.common.includes(name) && !tables.some((table) => table.name === name),
  )
  const file = unknown.find((name) => /\W/.test(name))
  if (file !== undefined) {
    const recorded = all.map(({ name }) => name).filter((name) => name.startsWith(RECORDED_PREFIX))
    throw new UsageError(
      `${file} is not a table: ${file.startsWith(RECORDED_PREFIX) ? `the recorded lists are ${recorded.join(', ')}` : HINT}`,
    )
  }
  // Views of all tables but the days of each are needed to list them, and for DuckDB's "did you mean".
  const isListing =
    names.listsTables || unknown.length > 0 || names.functions.some((name) => /^(duckdb|pragma)_/.test(name))
  return {
    sql: explain ? `${explain[1]} ${query}` : sql,
    tables: isListing
      ? all.filter((one) => tables.includes(one) || !('table' in one))
      : tables.map((one) => narrowTable(one, names)),
    used: tables,
    isListing,
  }
}

const RECORDED_PREFIX = 'history.'

/** A view of many columns is planned with those that the statement may read. */
const narrowTable = (table: Columned, { words, rows, tables, aliases, isWhole }: Names): Columned => {
  const readsAll = isWhole || [...tables, ...aliases].some((name) => rows.has(name))
  const narrow = isView(table) && !readsAll ? table.narrow?.((column) => words.has(column)) : undefined
  return narrow === undefined || narrow.columns.length === table.columns.length ? table : narrow
}

type Names = ReturnType<typeof parseTree>['names']

const WHOLE_TYPES: readonly unknown[] = ['STAR', 'PIVOT', 'SHOW_REF', 'POSITIONAL_REFERENCE']

/** Parses DuckDB's syntax tree, and collects the names in it. */
const parseTree = (text: string) => {
  const names = {
    functions: [] as string[],
    tables: [] as string[],
    aliases: [] as string[],
    common: [] as string[],
    /** All texts. The names of the columns are among them. */
    words: new Set<string>(),
    /** The last parts of the names of columns. The name of a table is its whole row. */
    rows: new Set<string>(),
    listsTables: false,
    /** Whether it may read columns that it does not name. */
    isWhole: false,
  }
  const tree = JSON.parse(text, (key, node: unknown) => {
    if (typeof node === 'string') names.words.add(node.toLowerCase())
    if (!isRow(node)) return node
    if (node.type === 'TABLE_FUNCTION')
      names.functions.push(String((node.function as Row).function_name).toLowerCase())
    if (node.type === 'BASE_TABLE') {
      names.tables.push(toTableName(node))
      names.aliases.push(String(node.alias).toLowerCase())
    }
    if (node.type === 'COLUMN_REF')
      names.rows.add(String((node.column_names as readonly unknown[]).at(-1)).toLowerCase())
    if (node.type === 'SHOW_REF' && !isRow(node.query)) names.listsTables = true
    const renames = Array.isArray(node.column_name_alias) && node.column_name_alias.length > 0
    if (WHOLE_TYPES.includes(node.type) || node.ref_type === 'NATURAL' || renames) names.isWhole = true
    if (key === 'cte_map')
      for (const { key: name } of node.map as readonly Row[]) names.common.push(String(name).toLowerCase())
    return node
  }) as Row
  return { tree, names }
}

const toTableName = ({ schema_name: schema, table_name: name }: Row): string =>
  `${schema === HISTORY_SCHEMA ? `${HISTORY_SCHEMA}.` : ''}${String(name)}`.toLowerCase()

const explainRefusal = async (
  connection: DuckDBConnection,
  sql: string,
  { error_type: type }: Row,
): Promise<Error> => {
  // DuckDB's parser throws an error with the position.
  if (type === 'parser') await connection.extractStatements(sql)
  const pivotHint = /\bPIVOT\b/i.test(sql) ? '\nPIVOT needs its values: PIVOT … ON … IN (…) USING …' : ''
  return new UsageError(
    `query is read-only; use one SELECT, FROM, WITH, VALUES, DESCRIBE, SUMMARIZE, SHOW, or EXPLAIN of one${pivotHint}`,
  )
}
