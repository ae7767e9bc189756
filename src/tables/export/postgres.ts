import { hash } from 'node:crypto'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Sql } from 'postgres'
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

const CLOSED = 'the server closed the connection; its log has the reason'

/** SQLSTATE of a lock timeout. */
const LOCK_NOT_AVAILABLE = '55P03'

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
    const session = connectPostgres(url)
    const { run } = session
    try {
      await run('BEGIN')
      await run(`CREATE SCHEMA IF NOT EXISTS ${quoteName(schema)}`)
      // Only its owner may describe a schema; others load into it, too.
      const owned = `SELECT FROM pg_namespace WHERE nspname = ${quoteText(schema)} AND pg_has_role(nspowner, 'USAGE')`
      if ((await run(owned)).length > 0)
        await run(`COMMENT ON SCHEMA ${quoteName(schema)} IS ${quoteText(SCHEMA_COMMENT)}`)
      await run(
        `CREATE TABLE IF NOT EXISTS ${quoteName(schema)}.${VERSIONS} (name text PRIMARY KEY, version text)`,
      )
      const loaded = await loadEach(exporting, (table) =>
        loadPostgresTable(exporting, session, { table, schema }),
      )
      await run('COMMIT')
      return loaded
    } catch (error) {
      if (error instanceof CollectError) throw error
      throw createWriteError(name, redact(describeServerFailure(error)))
    } finally {
      await session.end()
    }
  })
}

/**
 * One connection, for the statements of one transaction. Without a COMMIT, the server undoes them when it
 * ends: a ROLLBACK over a connection that the server has closed would end the process.
 */
interface CopySession {
  readonly run: (statement: string) => ReturnType<Sql['unsafe']>
  readonly end: () => Promise<void>
}

const connectPostgres = (url: string): CopySession => {
  const connect = loadPostgres()
  let isClosed = false
  const options = {
    max: 1,
    max_lifetime: null,
    onnotice: () => undefined,
    onclose: () => {
      isClosed = true
    },
    connect_timeout: 10,
    connection: { application_name: 'scripstream', DateStyle: 'ISO' },
  }
  try {
    const sql = url === '' ? connect(options) : connect(url, options)
    return {
      run: (statement) => {
        // The client would open another connection, outside of the transaction.
        if (isClosed) throw new Error(CLOSED)
        return sql.unsafe(statement)
      },
      end: () => sql.end({ timeout: 1 }),
    }
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

const describeServerFailure = (error: unknown): string => {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  if (/^(?:CONNECTION_(?:CLOSED|DESTROYED)|ECONNRESET|EPIPE)$/.test(code)) return CLOSED
  if (code === LOCK_NOT_AVAILABLE)
    return `other sessions use a table that needs new columns, for more than 2 s; end them`
  return describeNetworkError(error) || code || 'no reason given'
}

const loadPostgresTable = async (
  exporting: ExportContext,
  session: CopySession,
  { table, schema }: { readonly table: ExportedTable; readonly schema: string },
): Promise<number> => {
  const { run } = session
  const [versions, target] = [VERSIONS, table.name].map(
    (name) => `${quoteName(schema)}.${quoteName(name)}`,
  ) as [string, string]
  const name = quoteText(table.name)
  const rows = table.version && String(await countRows(exporting.connection, `(${table.select})`))
  const version = rows && hash('md5', JSON.stringify([table.version, rows, table.comment, table.columns]))
  const loaded = `SELECT version FROM ${versions} WHERE name = ${name} AND to_regclass(${quoteText(target)}) IS NOT NULL`
  // The number of rows shows whether somebody has emptied the table.
  if (version !== undefined && (await run(loaded))[0]?.version === version) {
    const [found] = await run(`SELECT count(*) FROM ${target}`)
    if (found?.count === rows) return Number(rows)
  }
  const staging = quoteName(`staging_${table.name}`)
  const create = [
    ...createTableStatements(target, table, await listStoredColumns(session, target)),
    `CREATE TEMPORARY TABLE ${staging} (${defineColumns(table).join(', ')}) ON COMMIT DROP`,
  ]
  await run(create.join(';\n'))
  const count = await copyIntoTable(exporting, session, {
    into: `${staging} (${table.columns.map((one) => quoteName(one.name)).join(', ')})`,
    table,
  })
  const merge = [
    `ANALYZE ${staging}`,
    ...createMergeStatements(target, staging, table),
    `DELETE FROM ${versions} WHERE name = ${name}`,
  ]
  const note = `INSERT INTO ${versions} VALUES (${name}, ${version === undefined ? 'NULL' : quoteText(version)})`
  await run([...merge, note].join(';\n'))
  return count
}

/** The columns of a table; none if there is no such table. */
const listStoredColumns = async ({ run }: CopySession, target: string): Promise<readonly string[]> => {
  const found = await run(
    `SELECT attname FROM pg_attribute WHERE attrelid = to_regclass(${quoteText(target)}) AND attnum > 0 AND NOT attisdropped`,
  )
  return found.map(({ attname }) => String(attname))
}

const defineColumns = ({ columns }: ExportedTable): readonly string[] =>
  columns.map(({ name, type }) => `${quoteName(name)} ${POSTGRES_TYPES[type]}`)

/** A change of a table waits for its readers, and other readers wait for the change. */
const LOCK_TIMEOUT = '2s'

/**
 * The statements that create a table, or add the columns that a table of an older version lacks. A table
 * without `as_of` is somebody else's: to load it would delete its rows.
 */
const createTableStatements = (
  target: string,
  table: ExportedTable,
  stored: readonly string[],
): readonly string[] => {
  const { key = [], columns, comment } = table
  const all = defineColumns(table)
  const isThere = stored.length > 0
  if (isThere && !stored.includes('as_of'))
    throw new StorageError(`${target} is a table of another program; export to another schema`)
  const primary = key.length > 0 ? [`PRIMARY KEY (${key.map(quoteName).join(', ')})`] : []
  const added = all.filter((_, place) => !stored.includes(columns[place]?.name ?? ''))
  const add =
    added.length === 0 ? [] : [`ALTER TABLE ${target} ${added.map((one) => `ADD COLUMN ${one}`).join(', ')}`]
  return [
    ...(isThere
      ? [`SET LOCAL lock_timeout = '${LOCK_TIMEOUT}'`, ...add, 'SET LOCAL lock_timeout TO DEFAULT']
      : [`CREATE TABLE ${target} (${[...all, ...primary].join(', ')})`]),
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
  { run }: CopySession,
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
  const copy = run(`COPY ${into} FROM STDIN`)
  // The client calls this for an error of the server at any time. After the last line nothing else does: the
  // stream of the lines would never end.
  const failed = new Promise<never>((_, reject) => Object.assign(copy, { reject }))
  const target = await Promise.race([copy.writable(), failed])
  await Promise.race([pipeline(Readable.from(lines()), target), failed])
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
