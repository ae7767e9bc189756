import type { DuckDBConnection } from '@duckdb/node-api'
import { UsageError } from '../model/errors.js'
import { isRow, type Row } from '../model/row.js'
import { catalogue } from './catalogue.js'
import type { Table } from './table.js'

/** A statement that only reads. */
export interface Statement {
  readonly sql: string
  /** The tables of ours that it may name. */
  readonly tables: readonly Table[]
}

/** Functions that make rows of nothing but their arguments, or of what the database itself is. All others are refused: they reach files, settings or logs. */
const TABLE_FUNCTIONS = new Set([
  ...['unnest', 'range', 'generate_series', 'repeat', 'repeat_row', 'json_each', 'json_tree', 'summary'],
  ...['duckdb_columns', 'duckdb_functions', 'duckdb_keywords', 'duckdb_tables', 'duckdb_types', 'duckdb_views', 'pragma_table_info'],
])

const EXPLAIN = /^(?:\s+|--[^\n]*\n|\/\*[^*]*\*\/)*(explain\s+(?:analyze\s+)?(?:\([\w\s,]*\)\s*)?)/i

/**
 * Lets through one statement that only reads: whatever DuckDB's own parser takes for a SELECT (so also FROM, VALUES, DESCRIBE, SUMMARIZE and
 * SHOW), without functions that reach beyond the tables, and EXPLAIN of such a one. Anything else is a `UsageError`; nothing is carried out.
 */
export const statementOf = async (connection: DuckDBConnection, sql: string): Promise<Statement> => {
  const explain = EXPLAIN.exec(sql)
  const asked = explain ? sql.slice(explain[0].length) : sql
  const tree = await treeOf(connection, asked)
  if (tree.error === true) throw await refusalOf(connection, asked, tree)
  const statements = Array.isArray(tree.statements) ? tree.statements : []
  if (statements.length === 0) throw new UsageError('there is no statement: scripstream query "select …"')
  if (statements.length > 1) throw new UsageError(`query takes one statement, and these are ${statements.length}`)
  const names = namesIn(statements)
  const wrong = names.functions.find((name) => !TABLE_FUNCTIONS.has(name))
  if (wrong !== undefined)
    throw new UsageError(
      `query reads the tables of the folder and nothing else, so ${wrong}() is refused: "scripstream query" shows the tables`,
    )
  return { sql: explain ? `${explain[1]} ${asked}` : sql, tables: names.needAll ? catalogue : names.tables }
}

const treeOf = async (connection: DuckDBConnection, sql: string): Promise<Row> => {
  const result = await connection.runAndReadAll('SELECT json_serialize_sql($1::VARCHAR)', [sql])
  const tree: unknown = JSON.parse(String(result.getRows()[0]?.[0] ?? '{}'))
  return isRow(tree) ? tree : {}
}

const refusalOf = async (connection: DuckDBConnection, sql: string, { error_type: type }: Row): Promise<Error> => {
  // DuckDB's parser says where it stumbled, in words.
  if (type === 'parser') await connection.extractStatements(sql)
  const ofPivots = /\bPIVOT\b/i.test(sql) ? '\na PIVOT needs its values: PIVOT … ON … IN (…) USING …' : ''
  return new UsageError(
    `query only reads: one SELECT, FROM, WITH, VALUES, DESCRIBE, SUMMARIZE, SHOW or EXPLAIN of one is let through${ofPivots}`,
  )
}

interface Names {
  readonly functions: readonly string[]
  readonly tables: readonly Table[]
  /** Whether it asks what tables there are, or for one that there is not: then it should see them all. */
  readonly needAll: boolean
}

const namesIn = (statements: readonly unknown[]): Names => {
  const functions: string[] = []
  const bases: string[] = []
  const common = new Set<string>()
  let asksForTables = false
  const walk = (value: unknown): void => {
    if (Array.isArray(value)) value.forEach(walk)
    if (!isRow(value)) return
    if (value.type === 'TABLE_FUNCTION') functions.push(String(isRow(value.function) ? value.function.function_name : '').toLowerCase())
    if (value.type === 'BASE_TABLE') bases.push(String(value.table_name).toLowerCase())
    if (value.type === 'SHOW_REF') asksForTables ||= !isRow(value.query)
    if (isRow(value.cte_map) && Array.isArray(value.cte_map.map))
      for (const entry of value.cte_map.map) if (isRow(entry)) common.add(String(entry.key).toLowerCase())
    Object.values(value).forEach(walk)
  }
  walk(statements)
  const tables = catalogue.filter(({ name }) => bases.includes(name))
  const others = bases.filter((name) => !common.has(name) && !tables.some((table) => table.name === name))
  return { functions, tables, needAll: asksForTables || others.length > 0 || functions.some((name) => /^(duckdb|pragma)_/.test(name)) }
}
