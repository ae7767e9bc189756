import { resolve } from 'node:path'
import { StorageError, UsageError } from '../src/model/errors.js'
import { listColumns, type Table } from '../src/model/table.js'
import { quoteName, quoteText } from '../src/storage/duckdb.js'
import { countRows, deduplicate, defineExport, duplicateKeys, type ExportContext, loadTables, type RowCounts } from './define-export.js'
import type { Export, ExportOptions } from './export.js'

const TARGET = 'target'

/**
 * Exports to a DuckDB database file, created if missing. Replaces our tables in one transaction and leaves all others unchanged.
 *
 * @throws UsageError, when it runs, if its package is not installed; StorageError if the target cannot be written
 * @example duckdb('./market.duckdb', { streams }).write('./data').subscribe(({ table, rows }) => console.log(table, rows))
 */
export const duckdb = (path: string, { streams }: ExportOptions): Export =>
  defineExport({ name: path, streams }, async (exporting) => {
    const { connection } = exporting
    await attach(exporting, path)
    await connection.run('BEGIN')
    const loaded = await loadTables(exporting, async (table) => {
      const rows = await loadDuckdbTable(exporting, table)
      await addComments(exporting, table)
      return rows
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
    if (/not a valid DuckDB/i.test(message)) throw new UsageError(`${path} is not a DuckDB database; choose another file`)
    throw new UsageError(`${path} cannot be opened as a DuckDB database: ${message.replace(/\s+/g, ' ')}; choose another file`)
  }
}

/** Loads first and looks for duplicate keys afterwards: there are nearly always none. */
const loadDuckdbTable = async ({ connection }: ExportContext, table: Table): Promise<RowCounts> => {
  const target = `${TARGET}.main.${quoteName(table.name)}`
  await connection.run(`CREATE OR REPLACE TABLE ${target} AS FROM ${quoteName(table.name)}`)
  const all = await countRows(connection, target)
  const duplicates = await duplicateKeys(connection, table, target)
  if (duplicates === undefined) return { rows: all, leftOut: 0 }
  await connection.run(`DELETE FROM ${target} WHERE ${duplicates}`)
  await connection.run(`INSERT INTO ${target} ${deduplicate(table, duplicates)}`)
  const rows = await countRows(connection, target)
  return { rows, leftOut: all - rows }
}

const addComments = async ({ connection }: ExportContext, table: Table): Promise<void> => {
  const target = `${TARGET}.main.${quoteName(table.name)}`
  await connection.run(`COMMENT ON TABLE ${target} IS ${quoteText(table.comment)}`)
  for (const column of listColumns(table))
    await connection.run(`COMMENT ON COLUMN ${target}.${quoteName(column.name)} IS ${quoteText(column.comment)}`)
}
