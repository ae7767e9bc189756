import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { ReservedSql, Sql, TransactionSql } from 'postgres'
import { CollectError, messageOf, StorageError, UsageError } from '../src/model/errors.js'
import { redactorOf } from '../src/model/redact.js'
import type { SqlType } from '../src/model/sql-column.js'
import { columnsOf, type Table } from '../src/model/table.js'
import { named, quoted } from '../src/tables/sql.js'
import type { Export, ExportOptions, Loaded } from './export.js'
import { type Exporting, exportTo, loadedFrom } from './exporting.js'
import { loadPostgres } from './postgres-package.js'
import { doubledIn, uniqueOf } from './unique.js'

/** Options of an export to PostgreSQL. */
export interface PostgresOptions extends ExportOptions {
  /** The schema of the tables, created if missing. Default: `scripstream`. */
  readonly schema?: string
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
 */
export const postgres = (url: string, { schema = 'scripstream', streams }: PostgresOptions): Export => {
  const redact = redactorOf({ headers: { password: passwordIn(url) } })
  return exportTo({ name: url === '' ? 'PostgreSQL' : redact(url), streams }, async (exporting) => {
    const sql = await opened(url)
    try {
      return await sql.begin(async (transaction) => {
        await transaction.unsafe(`CREATE SCHEMA IF NOT EXISTS ${named(schema)}`)
        return await loadedFrom(exporting, (table) => load(exporting, transaction, { table, schema }))
      })
    } catch (error) {
      if (error instanceof CollectError) throw error
      throw new StorageError(`export to PostgreSQL failed: ${redact(messageOf(error) || codeIn(error))}`)
    } finally {
      await sql.end({ timeout: 1 })
    }
  })
}

const opened = async (url: string): Promise<Sql> => {
  const connect = await loadPostgres()
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

const passwordIn = (url: string): string => {
  try {
    return decodeURIComponent(new URL(url).password)
  } catch {
    return ''
  }
}

const codeIn = (error: unknown): string => (error instanceof Error && 'code' in error ? String(error.code) : 'no reason given')

interface Place {
  readonly table: Table
  readonly schema: string
}

const load = async (
  exporting: Exporting,
  sql: TransactionSql | ReservedSql,
  destination: Place,
): Promise<Pick<Loaded, 'rows' | 'leftOut'>> => {
  const { table, schema } = destination
  const target = `${named(schema)}.${named(table.name)}`
  const names = columnsOf(table).map(({ name }) => named(name))
  for (const statement of tableOf(target, table)) await sql.unsafe(statement)
  const staging = named(`staging_${table.name}`)
  await sql.unsafe(`CREATE TEMPORARY TABLE ${staging} (LIKE ${target}) ON COMMIT DROP`)
  const duplicates = await doubledIn(exporting.connection, table, named(table.name))
  const rows = await copy(exporting, sql, { from: uniqueOf(table, duplicates), into: `${staging} (${names.join(', ')})`, table })
  for (const statement of mergeOf(target, staging, table)) await sql.unsafe(statement)
  const all =
    duplicates === undefined
      ? rows
      : Number((await exporting.connection.runAndReadAll(`SELECT count(*) FROM ${named(table.name)}`)).getRows()[0]?.[0])
  return { rows, leftOut: all - rows }
}

/** The statements that create a table, or add missing columns to a table of an older version. */
const tableOf = (target: string, table: Table): readonly string[] => {
  const columns = columnsOf(table)
  const key = (table.key ?? []).map(named)
  const all = columns.map(({ name, type }) => `${named(name)} ${TYPES[type]}`)
  return [
    `CREATE TABLE IF NOT EXISTS ${target} (${[...all, ...(key.length > 0 ? [`PRIMARY KEY (${key.join(', ')})`] : [])].join(', ')})`,
    ...columns.map(({ name, type }) => `ALTER TABLE ${target} ADD COLUMN IF NOT EXISTS ${named(name)} ${TYPES[type]}`),
    `COMMENT ON TABLE ${target} IS ${quoted(table.comment)}`,
    ...columns.map(({ name, comment }) => `COMMENT ON COLUMN ${target}.${named(name)} IS ${quoted(comment)}`),
  ]
}

/** The statements after which the table has exactly the staged rows. */
const mergeOf = (target: string, staging: string, table: Table): readonly string[] => {
  const names = columnsOf(table).map(({ name }) => named(name))
  const insert = `INSERT INTO ${target} AS t (${names.join(', ')}) SELECT ${names.join(', ')} FROM ${staging}`
  if (table.key === undefined) return [`DELETE FROM ${target}`, insert]
  const key = table.key.map(named)
  const others = names.filter((name) => !key.includes(name))
  const values = others.map((name) => `excluded.${name}`)
  return [
    `ANALYZE ${staging}`,
    `${insert} ON CONFLICT (${key.join(', ')}) DO UPDATE SET (${others.join(', ')}) = (${values.join(', ')}) WHERE (${others.map((name) => `t.${name}`).join(', ')}) IS DISTINCT FROM (${values.join(', ')})`,
    `DELETE FROM ${target} AS t WHERE NOT EXISTS (SELECT FROM ${staging} AS s WHERE ${key.map((name) => `s.${name} = t.${name}`).join(' AND ')})`,
  ]
}

interface Copy {
  readonly from: string
  readonly into: string
  readonly table: Table
}

/** Streams rows into a table, as lines that DuckDB formats. Resolves to their number. */
const copy = async (
  { connection, isStopped }: Exporting,
  sql: TransactionSql | ReservedSql,
  { from, into, table }: Copy,
): Promise<number> => {
  const cells = columnsOf(table).map(({ name, type }) => `coalesce(${cellOf(named(name), type)}, '\\N')`)
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
const cellOf = (name: string, type: SqlType): string => {
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
