import type { DuckDBConnection, DuckDBInstance } from '@duckdb/node-api'
import { formatError, UsageError } from '../model/errors.js'

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
}

/** Opens an in-memory DuckDB in India's time zone. @throws UsageError with the install command if the package is missing */
export const openDuckDb = async (options: Readonly<Record<string, string>> = {}): Promise<DuckDb> => {
  const { DuckDBInstance: Instance } = await loadDuckDb()
  const instance: DuckDBInstance = await Instance.create(':memory:', { ...OPTIONS, ...options })
  const connection = await instance.connect()
  await connection.run("SET TimeZone = 'Asia/Kolkata'")
  return {
    connection,
    close: () => {
      connection.closeSync()
      instance.closeSync()
    },
  }
}

/** Loads the optional package on first use. */
export const loadDuckDb = async (): Promise<typeof import('@duckdb/node-api')> => {
  try {
    return await import('@duckdb/node-api')
  } catch (error) {
    const isMissing = error instanceof Error && 'code' in error && error.code === 'ERR_MODULE_NOT_FOUND'
    throw new UsageError(
      isMissing
        ? 'DuckDB is not installed; run: npm install @duckdb/node-api'
        : `cannot load DuckDB (${formatError(error)}); run: npm install @duckdb/node-api`,
    )
  }
}
