import { hash } from 'node:crypto'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { CollectError, StorageError } from '../../model/errors.js'
import { createRedactor } from '../../model/redact.js'
import type { SqlType } from '../../model/row-schema.js'
import { quoteName, quoteText } from '../../storage/duckdb.js'
import {
  AS_OF_COLUMN,
  countRows,
  defineExport,
  describeTable,
  type ExportContext,
  type ExportedTable,
  loadEach,
  type StoredTable,
} from './define-export.js'
import type { Export, ExportOptions } from './export.js'
import {
  type CopySession,
  connectPostgres,
  describeServerFailure,
  isLocked,
  nameLock,
  parsePassword,
} from './postgres-session.js'
import { createWriteError } from './replace-file.js'

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

/** A change of columns waits for the readers of a table, and later readers wait for the change. */
const COLUMNS_TIMEOUT = '100 ms'
const COLUMNS_ATTEMPTS = 20
/** For rows that other sessions are changing. */
const ROWS_TIMEOUT = '30 s'
/** For another export into the same schema. */
const EXPORT_TIMEOUT = '10 min'

/**
 * Three quarters of what a day's export writes to the log are whole pages, of which few rows have changed.
 * Only a superuser may compress them; others leave the setting of the server.
 */
const COMPRESS_WAL = `(SELECT set_config(name, CASE WHEN 'zstd' = ANY(enumvals) THEN 'zstd' ELSE 'on' END, true)
  FROM pg_settings WHERE name = 'wal_compression' AND setting = 'off' AND current_setting('is_superuser') = 'on')`

/** The versions of the tables as they were loaded. */
const VERSIONS = 'loaded_tables'

/** The places of rows that are not the same in a table and in what is loaded into it. */
const CHANGED_ROWS = 'changed_rows'

/**
 * Exports to a schema of a PostgreSQL database, the rows in one transaction. Only rows that differ are
 * written, and tables that have changed are read. An empty `url` uses the environment (PGHOST and so on).
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
      await addColumns(session, exporting, schema)
      await openSchema(session, schema)
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

const nameTable = (schema: string, name: string): string => `${quoteName(schema)}.${quoteName(name)}`

/**
 * Adds the columns that older tables lack, before the transaction of the rows: nobody can read a table from
 * the change of its columns to the end of the transaction.
 */
const addColumns = async (session: CopySession, { tables }: ExportContext, schema: string): Promise<void> => {
  for (const table of tables) {
    if (table.isSkipped) continue
    const target = nameTable(schema, table.name)
    const stored = await describeStored(session, target, table)
    const added = table.columns.filter(({ name }) => stored?.columns.has(name) === false)
    if (added.length === 0) continue
    const list = defineColumns(added).map((one) => `ADD COLUMN IF NOT EXISTS ${one}`)
    const statement = `SET LOCAL lock_timeout = '${COLUMNS_TIMEOUT}'; ALTER TABLE ${target} ${list.join(', ')}`
    await retryLocked(session, statement).catch(
      nameLock(`other sessions use ${target}, which needs new columns, for more than 2 s; end them`),
    )
  }
}

/** Waits often and shortly: the readers that have come in the meantime go first. */
const retryLocked = async ({ run }: CopySession, statement: string): Promise<void> => {
  for (let attempt = 1; ; attempt += 1)
    try {
      return void (await run(statement))
    } catch (error) {
      if (!isLocked(error) || attempt === COLUMNS_ATTEMPTS) throw error
      await run('SELECT pg_sleep(0.1)')
    }
}

/**
 * Begins the transaction, and creates what is missing of a schema. Only what is missing: a role may load into
 * a schema without the right to create one.
 */
const openSchema = async ({ run }: CopySession, schema: string): Promise<void> => {
  const versions = nameTable(schema, VERSIONS)
  // What the settings of a database or a role would change in texts and in compared numbers.
  await run(`BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL standard_conforming_strings = on;
    SET LOCAL extra_float_digits = 1; SET LOCAL work_mem = '64MB'; SET LOCAL lock_timeout = '${EXPORT_TIMEOUT}'`)
  const [server] = await run(
    `SELECT version(), pg_advisory_xact_lock(hashtext(${quoteText(`scripstream ${schema}`)})), ${COMPRESS_WAL}`,
  ).catch(
    nameLock(`another export into the schema ${schema} takes more than ${EXPORT_TIMEOUT}; end one of them`),
  )
  if (String(server?.version).includes('PGlite'))
    throw new Error('PGlite has no COPY over its socket; export to PostgreSQL, or to a file of DuckDB')
  const [found] = await run(
    `SELECT pg_has_role(nspowner, 'USAGE') AS is_ours, obj_description(oid, 'pg_namespace') AS comment,
      to_regclass(${quoteText(versions)}) IS NOT NULL AS has_versions
      FROM pg_namespace WHERE nspname = ${quoteText(schema)}`,
  )
  await run(
    [
      `SET LOCAL lock_timeout = '${ROWS_TIMEOUT}'`,
      ...(found ? [] : [`CREATE SCHEMA ${quoteName(schema)}`]),
      ...(found && (!found.is_ours || found.comment === SCHEMA_COMMENT)
        ? []
        : [`COMMENT ON SCHEMA ${quoteName(schema)} IS ${quoteText(SCHEMA_COMMENT)}`]),
      ...(found?.has_versions ? [] : [`CREATE TABLE ${versions} (name text PRIMARY KEY, version text)`]),
      `CREATE TEMPORARY TABLE ${CHANGED_ROWS} (old_place tid, new_place tid) ON COMMIT DROP`,
    ].join(';\n'),
  )
}

const loadPostgresTable = async (
  exporting: ExportContext,
  session: CopySession,
  { table, schema }: { readonly table: ExportedTable; readonly schema: string },
): Promise<number> => {
  const { run } = session
  const versions = nameTable(schema, VERSIONS)
  const target = nameTable(schema, table.name)
  const name = quoteText(table.name)
  const rows = table.version && String(await countRows(exporting.connection, `(${table.select})`))
  const version = rows && hash('md5', JSON.stringify([table.version, rows, table.comment, table.columns]))
  const loaded = `SELECT version FROM ${versions} WHERE name = ${name} AND to_regclass(${quoteText(target)}) IS NOT NULL`
  // The number of rows shows whether somebody has emptied the table.
  if (version !== undefined && (await run(loaded))[0]?.version === version) {
    const [found] = await run(`SELECT count(*) FROM ${target}`)
    if (found?.count === rows) return Number(rows)
  }
  const stored = await describeStored(session, target, table)
  const into = stored ? nameStaging(table.name) : target
  const columns = defineColumns(table.columns)
  const primary = table.key?.length ? [`PRIMARY KEY (${table.key.map(quoteName).join(', ')})`] : []
  await run(
    [
      stored
        ? `CREATE TEMPORARY TABLE ${into} (${columns.join(', ')}) ON COMMIT DROP`
        : `CREATE TABLE ${into} (${[...columns, ...primary].join(', ')})`,
      ...describeTable(target, table, stored),
    ].join(';\n'),
  )
  const count = await copyIntoTable(exporting, session, {
    into: `${into} (${table.columns.map((one) => quoteName(one.name)).join(', ')})`,
    table,
  })
  if (stored) await mergeStaged(session, target, table)
  await run(
    `INSERT INTO ${versions} AS t VALUES (${name}, ${version === undefined ? 'NULL' : quoteText(version)})
      ON CONFLICT (name) DO UPDATE SET version = excluded.version WHERE t.version IS DISTINCT FROM excluded.version`,
  )
  return count
}

const nameStaging = (name: string): string => nameTable('pg_temp', `staging_${name}`)

/**
 * Resolves to nothing if there is no such table.
 *
 * @throws StorageError for a table of somebody else, whose rows would be deleted, and for a column that rows
 * cannot be without
 */
const describeStored = async (
  { run }: CopySession,
  target: string,
  { columns }: ExportedTable,
): Promise<StoredTable | undefined> => {
  const found = await run(
    `SELECT attname, col_description(attrelid, attnum) AS comment, obj_description(attrelid, 'pg_class') AS about,
      attnotnull AND NOT atthasdef AND attidentity = '' AS is_required
      FROM pg_attribute WHERE attrelid = to_regclass(${quoteText(target)}) AND attnum > 0 AND NOT attisdropped`,
  )
  const [first] = found
  if (!first) return undefined
  const stored = new Map(found.map(({ attname, comment }) => [attname, comment]))
  if (!stored.get(AS_OF_COLUMN.name)?.startsWith(AS_OF_COLUMN.comment))
    throw new StorageError(`${target} is a table of another program; export to another schema`)
  const lacking = found.find(
    ({ attname, is_required }) => is_required && columns.every(({ name }) => name !== attname),
  )
  if (lacking)
    throw new StorageError(
      `${target} has the column ${lacking.attname}, which no export fills; give it a default, or allow NULL`,
    )
  return { comment: first.about, columns: stored }
}

const defineColumns = (columns: ExportedTable['columns']): readonly string[] =>
  columns.map(({ name, type }) => `${quoteName(name)} ${POSTGRES_TYPES[type]}`)

/**
 * Changes a table so that it has exactly the staged rows. A row that differs in `as_of` only stays as it is:
 * nothing is written for it.
 */
const mergeStaged = async (
  { run }: CopySession,
  target: string,
  { name, key = [], columns }: ExportedTable,
): Promise<void> => {
  const staging = nameStaging(name)
  const all = columns.map(({ name }) => quoteName(name))
  const values = all.filter((name) => name !== quoteName(AS_OF_COLUMN.name))
  const keys = key.map(quoteName)
  const listValues = (from: string): string => values.map((name) => `${from}.${name}`).join(', ')
  // Without a key, rows are compared as a whole, and the same row may be there several times.
  const number = (from: string): string =>
    `(SELECT place, content, row_number() OVER (PARTITION BY content) AS copy FROM
      (SELECT ctid AS place, md5(ROW(${listValues('r')})::text)::uuid AS content FROM ${from} AS r) AS x)`
  const compare = key.length
    ? `SELECT t.ctid, s.ctid FROM ${target} AS t FULL JOIN ${staging} AS s ON ${keys.map((name) => `t.${name} = s.${name}`).join(' AND ')}
        WHERE (${listValues('t')}) IS DISTINCT FROM (${listValues('s')})`
    : `SELECT t.place, s.place FROM ${number(target)} AS t FULL JOIN ${number(staging)} AS s USING (content, copy)
        WHERE t.place IS NULL OR s.place IS NULL`
  const changed = `pg_temp.${CHANGED_ROWS}`
  const { count } = await run(`INSERT INTO ${changed} ${compare}`)
  if (count === 0) return
  const others = all.filter((name) => !keys.includes(name))
  await run(
    `DELETE FROM ${target} WHERE ctid IN (SELECT old_place FROM ${changed} WHERE new_place IS NULL);
      UPDATE ${target} AS t SET (${others.join(', ')}) = ROW(${others.map((name) => `s.${name}`).join(', ')})
        FROM ${changed} AS c JOIN ${staging} AS s ON s.ctid = c.new_place WHERE t.ctid = c.old_place;
      INSERT INTO ${target} (${all.join(', ')}) SELECT ${all.join(', ')} FROM ${staging}
        WHERE ctid IN (SELECT new_place FROM ${changed} WHERE old_place IS NULL);
      TRUNCATE ${changed}`,
  ).catch(nameLock(`other sessions change rows of ${target} for more than ${ROWS_TIMEOUT}; end them`))
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
