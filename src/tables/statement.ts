import type { DuckDBConnection } from '@duckdb/node-api'
import { UsageError } from '../model/errors.js'
import { isRow, type Row } from '../model/row.js'
import type { Table } from '../model/table.js'

/** A read-only statement. */
export interface Statement {
  readonly sql: string
  /** The tables that it may use. */
  readonly tables: readonly Table[]
}

/** Functions that read only their arguments or the database's own catalogue. All others are refused: they reach files, settings or logs. */
const TABLE_FUNCTIONS = new Set([
  ...['unnest', 'range', 'generate_series', 'repeat', 'repeat_row', 'json_each', 'json_tree', 'summary'],
  ...['duckdb_columns', 'duckdb_functions', 'duckdb_keywords', 'duckdb_tables', 'duckdb_types', 'duckdb_views', 'pragma_table_info'],
])

const EXPLAIN = /^(?:\s+|--[^\n]*\n|\/\*[^*]*\*\/)*(explain\s+(?:analyze\s+)?(?:\([\w\s,]*\)\s*)?)/i

/**
 * Permits one read-only statement: anything that DuckDB's own parser treats as a SELECT (also FROM, VALUES, DESCRIBE, SUMMARIZE and SHOW),
 * without functions that reach beyond the tables, and EXPLAIN of such a statement. Does not run it.
 *
 * @throws UsageError for any other statement
 */
export const parseStatement = async (connection: DuckDBConnection, sql: string, all: readonly Table[]): Promise<Statement> => {
  const explain = EXPLAIN.exec(sql)
  const query = explain ? sql.slice(explain[0].length) : sql
  const tree = await parseTree(connection, query)
  if (tree.error === true) throw await createRefusal(connection, query, tree)
  const statements = Array.isArray(tree.statements) ? tree.statements : []
  if (statements.length === 0) throw new UsageError('the statement is missing; use: scripstream query "select …"')
  if (statements.length > 1) throw new UsageError(`query takes one statement, not ${statements.length}`)
  const names = findUsedNames(statements, all)
  const wrong = names.functions.find((name) => !TABLE_FUNCTIONS.has(name))
  if (wrong !== undefined)
    throw new UsageError(`${wrong}() is not permitted: query reads only the tables of the folder; "scripstream query" lists them`)
  return { sql: explain ? `${explain[1]} ${query}` : sql, tables: names.needAll ? all : names.tables }
}

const parseTree = async (connection: DuckDBConnection, sql: string): Promise<Row> => {
  const result = await connection.runAndReadAll('SELECT json_serialize_sql($1::VARCHAR)', [sql])
  const tree: unknown = JSON.parse(String(result.getRows()[0]?.[0] ?? '{}'))
  return isRow(tree) ? tree : {}
}

const createRefusal = async (connection: DuckDBConnection, sql: string, { error_type: type }: Row): Promise<Error> => {
  // DuckDB's parser throws an error with the position.
  if (type === 'parser') await connection.extractStatements(sql)
  const pivotHint = /\bPIVOT\b/i.test(sql) ? '\nPIVOT needs its values: PIVOT … ON … IN (…) USING …' : ''
  return new UsageError(`query is read-only; use one SELECT, FROM, WITH, VALUES, DESCRIBE, SUMMARIZE, SHOW, or EXPLAIN of one${pivotHint}`)
}

interface UsedNames {
  readonly functions: readonly string[]
  readonly tables: readonly Table[]
  /** Whether it lists tables or names an unknown one: then all tables must exist, also for DuckDB's "did you mean". */
  readonly needAll: boolean
}

const findUsedNames = (statements: readonly unknown[], all: readonly Table[]): UsedNames => {
  const functions: string[] = []
  const bases: string[] = []
  const common = new Set<string>()
  let listsTables = false
  const walk = (value: unknown): void => {
    if (Array.isArray(value)) value.forEach(walk)
    if (!isRow(value)) return
    if (value.type === 'TABLE_FUNCTION') functions.push(String(isRow(value.function) ? value.function.function_name : '').toLowerCase())
    if (value.type === 'BASE_TABLE') bases.push(String(value.table_name).toLowerCase())
    if (value.type === 'SHOW_REF') listsTables ||= !isRow(value.query)
    if (isRow(value.cte_map) && Array.isArray(value.cte_map.map))
      for (const entry of value.cte_map.map) if (isRow(entry)) common.add(String(entry.key).toLowerCase())
    Object.values(value).forEach(walk)
  }
  walk(statements)
  const tables = all.filter(({ name }) => bases.includes(name))
  const others = bases.filter((name) => !common.has(name) && !tables.some((table) => table.name === name))
  return { functions, tables, needAll: listsTables || others.length > 0 || functions.some((name) => /^(duckdb|pragma)_/.test(name)) }
}
