import { resolve } from 'node:path'
import { StorageError, UsageError } from '../../model/errors.js'
import { quoteName, quoteText } from '../../storage/duckdb.js'
import { countRows, defineExport, describeTable, type ExportContext, loadEach } from './define-export.js'
import type { Export, ExportOptions } from './export.js'

const TARGET = 'target'

/**
 * Exports to a DuckDB database file, created if missing. Replaces our tables in one transaction and leaves
 * all others unchanged.
 *
 * @throws UsageError, when it runs, if its package is not installed; StorageError if the target cannot be
 * written
 * @example duckdb('./market.duckdb', { streams }).write('./data').subscribe(({ table, rows }) => console.log(table, rows))
 */
export const duckdb = (path: string, options: ExportOptions): Export =>
  defineExport({ ...options, name: path }, async (exporting) => {
    const { connection } = exporting
    await attach(exporting, path)
    await connection.run('BEGIN')
    const loaded = await loadEach(exporting, async (table) => {
      const target = `${TARGET}.main.${quoteName(table.name)}`
      await connection.run(`CREATE OR REPLACE TABLE ${target} AS ${table.select}`)
      await connection.run(describeTable(target, table).join(';'))
      return countRows(connection, target)
    })
    await connection.run('COMMIT')
    await connection.run(`DETACH ${TARGET}`)
    return loaded
  })

const attach = async ({ connection }: ExportContext, path: string): Promise<void> => {
  try {
    await connection.run(`ATTACH ${quoteText(resolve(path))} AS ${TARGET}`)
  } catch (error) {
    const { message } = error as Error
    const holder = /PID (\d+)/.exec(message)?.[1]
    if (/lock/i.test(message))
      throw new StorageError(
        `${path} is open in another process${holder === undefined ? '' : ` (PID ${holder})`}; close it there and try again`,
      )
    if (/not a valid DuckDB/i.test(message))
      throw new UsageError(`${path} is not a DuckDB database; choose another file`)
    throw new UsageError(
      `${path} cannot be opened as a DuckDB database: ${message.replace(/\s+/g, ' ')}; choose another file`,
    )
  }
}
