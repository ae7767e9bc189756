import { resolve } from 'node:path'
import { StorageError, UsageError } from '../src/model/errors.js'
import { columnsOf } from '../src/tables/catalogue.js'
import { named, quoted } from '../src/tables/sql.js'
import type { Table } from '../src/tables/table.js'
import type { Export, Loaded } from './export.js'
import { type Exporting, exportTo, loadedFrom } from './exporting.js'
import { doubledIn, lastOf } from './unique.js'

const TARGET = 'target'

/** A DuckDB database file, made if it is not there. Our tables in it are replaced in one transaction; others stay as they are. */
export const duckdb = (path: string): Export =>
  exportTo(path, async (exporting) => {
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
        `${path} is held by another process${holder === undefined ? '' : ` (${holder})`}: close it there, and try again`,
      )
    if (/not a valid DuckDB/i.test(message)) throw new UsageError(`${path} is no DuckDB database: choose another file`)
    throw new UsageError(`${path} cannot be opened as a DuckDB database: ${message.replace(/\s+/g, ' ')}`)
  }
}

/** Loads as fast as it reads, then looks for keys that are there twice: nearly always there are none. */
const load = async ({ connection }: Exporting, table: Table): Promise<Pick<Loaded, 'rows' | 'leftOut'>> => {
  const target = `${TARGET}.main.${named(table.name)}`
  await connection.run(`CREATE OR REPLACE TABLE ${target} AS FROM ${named(table.name)}`)
  const all = await countOf({ connection }, target)
  const doubled = await doubledIn(connection, table, target)
  if (doubled === undefined) return { rows: all, leftOut: 0 }
  await connection.run(`DELETE FROM ${target} WHERE ${doubled}`)
  await connection.run(`INSERT INTO ${target} ${lastOf(table, doubled)}`)
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
