import type { Sql } from 'postgres'
import { describeNetworkError, UsageError } from '../../model/errors.js'
import { requireOptional } from '../../model/optional-package.js'

/** Loads the package on demand. Not exported: its type is not there for an app that has not installed it. */
const loadPostgres = (): typeof import('postgres') =>
  requireOptional('postgres', 'the PostgreSQL client is not installed')

/** @throws UsageError if the package is not installed */
export const assertPostgresInstalled = (): void => void loadPostgres()

const CLOSED = 'the server closed the connection; its log has the reason'

/** SQLSTATE of a lock timeout. */
const LOCK_NOT_AVAILABLE = '55P03'

/**
 * One connection. Without a COMMIT, the server undoes the statements of a transaction when the connection
 * ends: a ROLLBACK over a connection that the server has closed would end the process.
 */
export interface CopySession {
  readonly run: (statement: string) => ReturnType<Sql['unsafe']>
  readonly end: () => Promise<void>
}

export const connectPostgres = (url: string): CopySession => {
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
    fetch_types: false,
    connection: { application_name: 'scripstream', DateStyle: 'ISO' },
  }
  try {
    const sql = connect(url, options)
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

export const parsePassword = (url: string): string => {
  try {
    return decodeURIComponent(new URL(url).password)
  } catch {
    return ''
  }
}

const readCode = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : ''

export const describeServerFailure = (error: unknown): string => {
  const code = readCode(error)
  if (/^(?:CONNECTION_(?:CLOSED|DESTROYED)|ECONNRESET|EPIPE)$/.test(code)) return CLOSED
  return describeNetworkError(error) || code || 'no reason given'
}

/** Whether a statement has waited for other sessions as long as it may. */
export const isLocked = (error: unknown): boolean => readCode(error) === LOCK_NOT_AVAILABLE

/** For the error of such a statement. */
export const nameLock =
  (text: string) =>
  (error: unknown): never => {
    throw isLocked(error) ? new Error(text) : error
  }
