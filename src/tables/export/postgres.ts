import { hash } from 'node:crypto'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { ReservedSql, Sql, TransactionSql } from 'postgres'
import { CollectError, describeNetworkError, StorageError, UsageError } from '../../model/errors.js'
import { requireOptional } from '../../model/optional-package.js'
import { createRedactor } from '../../model/redact.js'
import type { SqlType } from '../../model/row-schema.js'
import { quoteName, quoteText } from '../../storage/duckdb.js'
import { countRows, defineExport, type ExportContext, type ExportedTable, loadEach } from './define-export.js'
import type { Export, ExportOptions } from './export.js'
import { createWriteError } from './replace-file.js'

/** Loads the package on demand. Not exported: its type is not there for an app that has not installed it. */
const loadPostgres = (): typeof import('postgres') =>
  requireOptional('postgres', 'the PostgreSQL client is not installed')

/** @throws UsageError if the package is not installed */
export const assertPostgresInstalled = (): void => void loadPostgres()

/** Options of an export to PostgreSQL. */
export interface PostgresOptions extends ExportOptions {
  /** The schema of the tables, created if missing. Default: `scripstream`. */
  readonly schema?: string | undefined
}

const POSTGRES_TYPES: Readonly<Record<SqlType, string>> = {
  VARCHAR: 'text',
  DOUBLE: 'double precision',
  BIGINT: 'bigint',
  DATE: 'date',
  TIMESTAMP: 'timestamp',
  JSON: 'json',
}

const SCHEMA_COMMENT = `Tables of scripstream. Times are timestamps without a zone, those of India: a literal with a zone, such as '2026-02-11T18:30:00Z', is compared without its zone.
For such literals: WHERE filed_at AT TIME ZONE 'Asia/Kolkata' BETWEEN … For the day of India now: SET timezone = 'Asia/Kolkata', then CURRENT_DATE.`

/** The versions of the tables as they were loaded. */
const VERSIONS = 'loaded_tables'

/**
 * Exports to a schema of a PostgreSQL database, in one transaction. Only rows that differ are written, and
 * tables that have changed are read. An empty `url` uses the environment (PGHOST and so on).
 *
 * @throws UsageError, when it runs, if its package is not installed; StorageError if the target cannot be
 * written
 * @example postgres('postgres://localhost/market', { streams }).write('./data').subscribe()
 */
export const postgres = (url: string, { schema = 'scripstream', ...options }: PostgresOptions): Export => {
  const redact = createRedactor({ headers: { password: parsePassword(url) } })
  const name = url === '' ? 'PostgreSQL' : redact(url)
  return defineExport({ ...options, name }, async (exporting) => {
    const sql = await connectPostgres(url)
    try {
      return await sql.begin(async (transaction) => {
        await transaction.unsafe(`CREATE SCHEMA IF NOT EXISTS ${quoteName(schema)}`)
        // Only its owner may describe a schema; others load into it, too.
        const owned = `SELECT FROM pg_namespace WHERE nspname = ${quoteText(schema)} AND pg_has_role(nspowner, 'USAGE')`
        if ((await transaction.unsafe(owned)).length > 0)
          await transaction.unsafe(`COMMENT ON SCHEMA ${quoteName(schema)} IS ${quoteText(SCHEMA_COMMENT)}`)
        await transaction.unsafe(
          `CREATE TABLE IF NOT EXISTS ${quoteName(schema)}.${VERSIONS} (name text PRIMARY KEY, version text)`,
        )
        return await loadEach(exporting, (table) =>
          loadPostgresTable(exporting, transaction, { table, schema }),
        )
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

const describeCode = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : 'no reason given'

const loadPostgresTable = async (
  exporting: ExportContext,
  sql: TransactionSql | ReservedSql,
  { table, schema }: { readonly table: ExportedTable; readonly schema: string },
): Promise<number> => {
  const [versions, target] = [VERSIONS, table.name].map(
    (name) => `${quoteName(schema)}.${quoteName(name)}`,
  ) as [string, string]
  const name = quoteText(table.name)
  const rows = table.version && String(await countRows(exporting.connection, `(${table.select})`))
  const version = rows && hash('md5', JSON.stringify([table.version, rows, table.comment, table.columns]))
  const loaded = `SELECT version FROM ${versions} WHERE name = ${name} AND to_regclass(${quoteText(target)}) IS NOT NULL`
  // The number of rows shows whether somebody has emptied the table.
  if (version !== undefined && (await sql.unsafe(loaded))[0]?.version === version) {
    const [found] = await sql.unsafe(`SELECT count(*) FROM ${target}`)
    if (found?.count === rows) return Number(rows)
  }
  const staging = quoteName(`staging_${table.name}`)
  const create = [
    ...createTableStatements(target, table),
    `CREATE TEMPORARY TABLE ${staging} (LIKE ${target}) ON COMMIT DROP`,
  ]
  await sql.unsafe(create.join(';\n'))
  const count = await copyIntoTable(exporting, sql, {
    into: `${staging} (${table.columns.map((one) => quoteName(one.name)).join(', ')})`,
    table,
  })
  const merge = [
    `ANALYZE ${staging}`,
    ...createMergeStatements(target, staging, table),
    `DELETE FROM ${versions} WHERE name = ${name}`,
  ]
  const note = `INSERT INTO ${versions} VALUES (${name}, ${version === undefined ? 'NULL' : quoteText(version)})`
  await sql.unsafe([...merge, note].join(';\n'))
  return count
}

/** The statements that create a table, or add missing columns to a table of an older version. */
const createTableStatements = (
  target: string,
  { key = [], columns, comment }: ExportedTable,
): readonly string[] => {
  const all = columns.map(({ name, type }) => `${quoteName(name)} ${POSTGRES_TYPES[type]}`)
  return [
    `CREATE TABLE IF NOT EXISTS ${target} (${[...all, ...(key.length > 0 ? [`PRIMARY KEY (${key.map(quoteName).join(', ')})`] : [])].join(', ')})`,
    ...all.map((column) => `ALTER TABLE ${target} ADD COLUMN IF NOT EXISTS ${column}`),
    `COMMENT ON TABLE ${target} IS ${quoteText(comment)}`,
    ...columns.map(
      (column) => `COMMENT ON COLUMN ${target}.${quoteName(column.name)} IS ${quoteText(column.comment)}`,
    ),
  ]
}

/**
 * The statements after which the table has exactly the staged rows. A row that differs in `as_of` only stays
 * as it is.
 */
const createMergeStatements = (
  target: string,
  staging: string,
  { key = [], columns }: ExportedTable,
): readonly string[] => {
  const names = columns.map(({ name }) => quoteName(name))
  const all = names.join(', ')
  const others = columns
    .filter(({ name }) => name !== 'as_of' && !key.includes(name))
    .map(({ name }) => quoteName(name))
  if (key.length > 0) {
    const values = [...others, 'as_of']
    return [
      `INSERT INTO ${target} AS t (${all}) SELECT ${all} FROM ${staging} ON CONFLICT (${key.map(quoteName).join(', ')})
        DO UPDATE SET (${values.join(', ')}) = (${values.map((name) => `excluded.${name}`).join(', ')})
        WHERE (${others.map((name) => `t.${name}`).join(', ')}) IS DISTINCT FROM (${others.map((name) => `excluded.${name}`).join(', ')})`,
      `DELETE FROM ${target} AS t WHERE NOT EXISTS (SELECT FROM ${staging} AS s WHERE ${key.map((name) => `s.${quoteName(name)} = t.${quoteName(name)}`).join(' AND ')})`,
    ]
  }
  // Without a key, rows are compared as a whole, and the same row may be there several times.
  const number = (table: string): string =>
    `(SELECT *, row_number() OVER (PARTITION BY row_content) AS row_copy FROM
      (SELECT *, ctid AS row_place, md5(ROW(${others.join(', ')})::text) AS row_content FROM ${table}) AS x)`
  const isIn = (table: string): string =>
    `EXISTS (SELECT FROM ${number(table)} AS o WHERE o.row_content = r.row_content AND o.row_copy = r.row_copy)`
  return [
    `DELETE FROM ${target} WHERE ctid IN (SELECT row_place FROM ${number(target)} AS r WHERE NOT ${isIn(staging)})`,
    `INSERT INTO ${target} (${all}) SELECT ${all} FROM ${number(staging)} AS r WHERE NOT ${isIn(target)}`,
  ]
}

/** Streams rows into a table, as lines that DuckDB formats. Resolves to their number. */
const copyIntoTable = async (
  { connection, isStopped }: ExportContext,
  sql: TransactionSql | ReservedSql,
  { into, table }: { readonly into: string; readonly table: ExportedTable },
): Promise<number> => {
  const cells = table.columns.map(({ name, type }) => `coalesce(${formatCell(quoteName(name), type)}, '\\N')`)
  const result = await connection.stream(
    `SELECT concat_ws(chr(9), ${cells.join(', ')}) FROM (${table.select})`,
  )
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
