import { resolve } from 'node:path'
import { StorageError, UsageError } from '../src/model/errors.js'
import { columnsOf, type Table } from '../src/model/table.js'
import { named, quoted } from '../src/tables/sql.js'
import type { Export, ExportOptions, Loaded } from './export.js'
import { type Exporting, exportTo, loadedFrom } from './exporting.js'
import { doubledIn, lastOf } from './unique.js'

const TARGET = 'target'

/** Exports to a DuckDB database file, created if missing. Replaces our tables in one transaction and leaves all others unchanged. */
export const duckdb = (path: string, { streams }: ExportOptions): Export =>
  exportTo({ name: path, streams }, async (exporting) => {
    const { connection } = exporting
    await attach(exporting, path)
    await connection.run('BEGIN')
    const loaded = await loadedFrom(exporting, async (table) => {
      const rows = await load(exporting, table)
      await comment(exporting, table)
      return rows
    })
    await connection.run('COMMIT')
    await connection.run(`DETACH ${TARGET}`)
    return loaded
  })

const attach = async ({ connection }: Exporting, path: string): Promise<void> => {
  try {
    await connection.run(`ATTACH ${quoted(resolve(path))} AS ${TARGET}`)
  } catch (error) {
    const { message } = error as Error
    const holder = /PID (\d+)/.exec(message)?.[1]
    if (/lock/i.test(message))
      throw new StorageError(
        `${path} is open in another process${holder === undefined ? '' : ` (PID ${holder})`}; close it there and try again`,
      )
    if (/not a valid DuckDB/i.test(message)) throw new UsageError(`${path} is not a DuckDB database; choose another file`)
    throw new UsageError(`${path} cannot be opened as a DuckDB database: ${message.replace(/\s+/g, ' ')}`)
  }
}

/** Loads first and looks for duplicate keys afterwards: there are nearly always none. */
const load = async ({ connection }: Exporting, table: Table): Promise<Pick<Loaded, 'rows' | 'leftOut'>> => {
  const target = `${TARGET}.main.${named(table.name)}`
  await connection.run(`CREATE OR REPLACE TABLE ${target} AS FROM ${named(table.name)}`)
  const all = await countOf({ connection }, target)
  const duplicates = await doubledIn(connection, table, target)
  if (duplicates === undefined) return { rows: all, leftOut: 0 }
  await connection.run(`DELETE FROM ${target} WHERE ${duplicates}`)
  await connection.run(`INSERT INTO ${target} ${lastOf(table, duplicates)}`)
  const rows = await countOf({ connection }, target)
  return { rows, leftOut: all - rows }
}

const countOf = async ({ connection }: Pick<Exporting, 'connection'>, source: string): Promise<number> =>
  Number((await connection.runAndReadAll(`SELECT count(*) FROM ${source}`)).getRows()[0]?.[0])

const comment = async ({ connection }: Exporting, table: Table): Promise<void> => {
  const target = `${TARGET}.main.${named(table.name)}`
  await connection.run(`COMMENT ON TABLE ${target} IS ${quoted(table.comment)}`)
  for (const column of columnsOf(table))
    await connection.run(`COMMENT ON COLUMN ${target}.${named(column.name)} IS ${quoted(column.comment)}`)
}
