import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { ReservedSql, Sql, TransactionSql } from 'postgres'
import { CollectError, describeNetworkError, StorageError, UsageError } from '../src/model/errors.js'
import { requireOptional } from '../src/model/optional-package.js'
import { createRedactor } from '../src/model/redact.js'
import type { SqlType } from '../src/model/row-schema.js'
import { listColumns, type Table } from '../src/model/table.js'
import { quoteName, quoteText } from '../src/storage/duckdb.js'
import { createWriteError, defineExport, type ExportContext, loadTables, loadUnique, type RowCounts } from './define-export.js'
import type { Export, ExportOptions } from './export.js'

/** Loads the package on demand. Not exported: its type is not there for an app that has not installed it. */
const loadPostgres = (): typeof import('postgres') => requireOptional('postgres', 'the PostgreSQL client is not installed')

/** @throws UsageError if the package is not installed */
export const assertPostgresInstalled = (): void => void loadPostgres()

/** Options of an export to PostgreSQL. */
export interface PostgresOptions extends ExportOptions {
  /** The schema of the tables, created if missing. Default: `scripstream`. */
  readonly schema?: string | undefined
}

const TYPES: Readonly<Record<SqlType, string>> = {
  VARCHAR: 'text',
  DOUBLE: 'double precision',
  BIGINT: 'bigint',
  DATE: 'date',
  TIMESTAMP: 'timestamp',
  JSON: 'json',
}

/**
 * Exports to a schema of a PostgreSQL database, in one transaction. Candles are merged, so that only changed ones are written; the rows of
 * other tables are replaced. An empty `url` uses the environment (PGHOST and so on).
 *
 * @throws UsageError, when it runs, if its package is not installed; StorageError if the target cannot be written
 * @example postgres('postgres://localhost/market', { streams }).write('./data').subscribe()
 */
export const postgres = (url: string, { schema = 'scripstream', streams }: PostgresOptions): Export => {
  const redact = createRedactor({ headers: { password: parsePassword(url) } })
  const name = url === '' ? 'PostgreSQL' : redact(url)
  return defineExport({ name, streams }, async (exporting) => {
    const sql = await connectPostgres(url)
    try {
      return await sql.begin(async (transaction) => {
        await transaction.unsafe(`CREATE SCHEMA IF NOT EXISTS ${quoteName(schema)}`)
        return await loadTables(exporting, (table) => loadPostgresTable(exporting, transaction, { table, schema }))
      })
    } catch (error) {
      if (error instanceof CollectError) throw error
      throw createWriteError(name, redact(describeNetworkError(error) || describeCode(error)))
    } finally {
      await sql.end({ timeout: 1 })
    }
  })
}

const connectPostgres = async (url: string): Promise<Sql> => {
  const connect = loadPostgres()
  const options = {
    max: 1,
    onnotice: () => undefined,
    connect_timeout: 10,
    connection: { application_name: 'scripstream', DateStyle: 'ISO' },
  }
  try {
    return url === '' ? connect(options) : connect(url, options)
  } catch {
    // Drop the original message: it contains the address with the password.
    throw new UsageError('invalid PostgreSQL address; use postgres://user:password@host:5432/database')
  }
}

const parsePassword = (url: string): string => {
  try {
    return decodeURIComponent(new URL(url).password)
  } catch {
    return ''
  }
}

const describeCode = (error: unknown): string => (error instanceof Error && 'code' in error ? String(error.code) : 'no reason given')

const loadPostgresTable = async (
  exporting: ExportContext,
  sql: TransactionSql | ReservedSql,
  { table, schema }: { readonly table: Table; readonly schema: string },
): Promise<RowCounts> => {
  const target = `${quoteName(schema)}.${quoteName(table.name)}`
  const names = listColumns(table).map(({ name }) => quoteName(name))
  for (const statement of createTableStatements(target, table)) await sql.unsafe(statement)
  const staging = quoteName(`staging_${table.name}`)
  await sql.unsafe(`CREATE TEMPORARY TABLE ${staging} (LIKE ${target}) ON COMMIT DROP`)
  const counts = await loadUnique(exporting, table, (from) =>
    copyIntoTable(exporting, sql, { from, into: `${staging} (${names.join(', ')})`, table }),
  )
  for (const statement of createMergeStatements(target, staging, table)) await sql.unsafe(statement)
  return counts
}

/** The statements that create a table, or add missing columns to a table of an older version. */
const createTableStatements = (target: string, table: Table): readonly string[] => {
  const columns = listColumns(table)
  const key = (table.key ?? []).map(quoteName)
  const all = columns.map(({ name, type }) => `${quoteName(name)} ${TYPES[type]}`)
  return [
    `CREATE TABLE IF NOT EXISTS ${target} (${[...all, ...(key.length > 0 ? [`PRIMARY KEY (${key.join(', ')})`] : [])].join(', ')})`,
    ...columns.map(({ name, type }) => `ALTER TABLE ${target} ADD COLUMN IF NOT EXISTS ${quoteName(name)} ${TYPES[type]}`),
    `COMMENT ON TABLE ${target} IS ${quoteText(table.comment)}`,
    ...columns.map(({ name, comment }) => `COMMENT ON COLUMN ${target}.${quoteName(name)} IS ${quoteText(comment)}`),
  ]
}

/** The statements after which the table has exactly the staged rows. */
const createMergeStatements = (target: string, staging: string, table: Table): readonly string[] => {
  const names = listColumns(table).map(({ name }) => quoteName(name))
  const insert = `INSERT INTO ${target} AS t (${names.join(', ')}) SELECT ${names.join(', ')} FROM ${staging}`
  if (table.key === undefined) return [`DELETE FROM ${target}`, insert]
  const key = table.key.map(quoteName)
  const others = names.filter((name) => !key.includes(name))
  const values = others.map((name) => `excluded.${name}`)
  return [
    `ANALYZE ${staging}`,
    `${insert} ON CONFLICT (${key.join(', ')}) DO UPDATE SET (${others.join(', ')}) = (${values.join(', ')}) WHERE (${others.map((name) => `t.${name}`).join(', ')}) IS DISTINCT FROM (${values.join(', ')})`,
    `DELETE FROM ${target} AS t WHERE NOT EXISTS (SELECT FROM ${staging} AS s WHERE ${key.map((name) => `s.${name} = t.${name}`).join(' AND ')})`,
  ]
}

/** Streams rows into a table, as lines that DuckDB formats. Resolves to their number. */
const copyIntoTable = async (
  { connection, isStopped }: ExportContext,
  sql: TransactionSql | ReservedSql,
  { from, into, table }: { readonly from: string; readonly into: string; readonly table: Table },
): Promise<number> => {
  const cells = listColumns(table).map(({ name, type }) => `coalesce(${formatCell(quoteName(name), type)}, '\\N')`)
  const result = await connection.stream(`SELECT concat_ws(chr(9), ${cells.join(', ')}) FROM (${from})`)
  let rows = 0
  const lines = async function* () {
    for await (const chunk of result) {
      if (isStopped()) throw new StorageError('the export was stopped')
      rows += chunk.rowCount
      if (chunk.rowCount > 0) yield `${chunk.getColumnValues(0).join('\n')}\n`
    }
  }
  await pipeline(Readable.from(lines()), await sql.unsafe(`COPY ${into} FROM STDIN`).writable())
  return rows
}

/** Formats a cell for the text format of COPY. Drops NUL characters, which PostgreSQL rejects. */
const formatCell = (name: string, type: SqlType): string => {
  if (type !== 'VARCHAR' && type !== 'JSON') return `CAST(${name} AS VARCHAR)`
  const pairs = [
    ["'\\'", "'\\\\'"],
    ['chr(9)', "'\\t'"],
    ['chr(10)', "'\\n'"],
    ['chr(13)', "'\\r'"],
    ['chr(0)', "''"],
  ] as const
  return pairs.reduce((text, [from, to]) => `replace(${text}, ${from}, ${to})`, `CAST(${name} AS VARCHAR)`)
}
