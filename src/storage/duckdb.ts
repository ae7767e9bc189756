import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { DuckDBConnection, DuckDBInstance } from '@duckdb/node-api'
import { DamagedFileError, formatError, InternalError, UsageError } from '../model/errors.js'
import { requireOptional } from '../model/optional-package.js'

export interface DuckDb {
  readonly connection: DuckDBConnection
  readonly close: () => void
}

/** No extension is downloaded or loaded. */
const OPTIONS = {
  autoinstall_known_extensions: 'false',
  autoload_known_extensions: 'false',
  allow_community_extensions: 'false',
  allow_persistent_secrets: 'false',
  // DuckDB 1.5.6 fails with an internal error at two bounds on what a `row_number() … = 1` is partitioned by
  // (duckdb#24710); without it, `candle_days` also takes half the CPU.
  disabled_optimizers: 'top_n_window_elimination',
}

/**
 * Opens an in-memory DuckDB in India's time zone. @throws UsageError with the install command if the package
 * is missing
 */
export const openDuckDb = async (options: Readonly<Record<string, string>> = {}): Promise<DuckDb> => {
  const { DuckDBInstance: Instance } = loadDuckDb()
  const instance: DuckDBInstance = await Instance.create(':memory:', { ...OPTIONS, ...options })
  const connection = await instance.connect()
  await connection.run("SET TimeZone = 'Asia/Kolkata'")
  return {
    connection,
    close: () => {
      connection.closeSync()
      instance.closeSync()
      for (const release of releases.get(connection) ?? []) release()
      releases.delete(connection)
    },
  }
}

const releases = new WeakMap<DuckDBConnection, readonly (() => void)[]>()

/** Calls a function once the database of a connection is closed. */
export const whenClosed = (connection: DuckDBConnection, release: () => void): void => {
  releases.set(connection, [...(releases.get(connection) ?? []), release])
}

/** Where the database of a process moves what has no room in its memory. */
export const toSpillFolder = (pid: number): string => join(tmpdir(), `scripstream-query-${pid}`)

/** Loads the optional package on first use. */
export const loadDuckDb = (): typeof import('@duckdb/node-api') =>
  requireOptional('@duckdb/node-api', 'DuckDB is not installed')

/** Converts DuckDB's error; keeps its message with the line and the position. */
export const toQueryError = (error: unknown): unknown => {
  if (!(error instanceof Error) || error.name !== 'Error') return error
  if (/\bin file "|^IO Error/.test(error.message))
    return new DamagedFileError(formatError(error), { cause: error })
  if (/^(?:INTERNAL|FATAL) Error/.test(error.message)) {
    const [first = ''] = error.message.split('\n')
    return new InternalError(`DuckDB failed, the statement is not wrong: ${first}`, { cause: error })
  }
  if (error.message.startsWith('Out of Memory')) {
    const limit = /\/([\d.]+ \w+) used\)/.exec(error.message)?.[1]
    const room = limit === undefined ? '' : ` (${limit})`
    return new UsageError(
      `the query needs more memory than it may use${room}; select fewer days, stocks or columns`,
      { cause: error },
    )
  }
  return new UsageError(
    error.message
      .replace('Failed to extract statements: ', '')
      .trim()
      .replace(/\n{2,}/g, '\n'),
    { cause: error },
  )
}

/** SQL literals: a text, a name, a list. */
export const quoteText = (text: string): string => `'${text.replaceAll("'", "''")}'`
export const quoteName = (name: string): string => `"${name.replaceAll('"', '""')}"`
/** The name of a relation, with that of its schema before the dot. */
export const quotePath = (name: string): string => name.split('.').map(quoteName).join('.')
export const quoteList = (texts: readonly string[]): string => `[${texts.map(quoteText).join(', ')}]`

/** The JSON path of a key; a text that starts with `$` already is a path. */
export const toJsonPath = (key: string): string => quoteText(key.startsWith('$') ? key : `$."${key}"`)
