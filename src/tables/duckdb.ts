import type { DuckDBConnection, DuckDBInstance } from '@duckdb/node-api'
import { messageOf, UsageError } from '../model/errors.js'

export interface Duck {
  readonly connection: DuckDBConnection
  readonly close: () => void
}

/** What every database of ours is opened with: nothing is fetched from elsewhere, and days are those of India. */
const OPTIONS = {
  autoinstall_known_extensions: 'false',
  autoload_known_extensions: 'false',
  allow_community_extensions: 'false',
  allow_persistent_secrets: 'false',
}

/** Opens an embedded DuckDB in memory. Errors with a `UsageError` that says what to install where the package is not there. */
export const openDuck = async (options: Readonly<Record<string, string>> = {}): Promise<Duck> => {
  const { DuckDBInstance: Instance } = await loadDuck()
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

/** The package, which is loaded only where it is needed. */
export const loadDuck = async (): Promise<typeof import('@duckdb/node-api')> => {
  try {
    return await import('@duckdb/node-api')
  } catch (error) {
    const isMissing = error instanceof Error && 'code' in error && error.code === 'ERR_MODULE_NOT_FOUND'
    throw new UsageError(
      isMissing
        ? 'this needs DuckDB, which is not installed: npm install @duckdb/node-api'
        : `DuckDB cannot be loaded here (${messageOf(error)}): npm install @duckdb/node-api`,
    )
  }
}
