/**
 * A storage on SQLite: the rows of an item replace its earlier ones in one transaction. Works with
 * `node:sqlite` (Node 22.13 or newer) and with better-sqlite3.
 */
import { map } from 'rxjs'
import type { Output } from 'scripstream/define'
import { StorageError } from 'scripstream/errors'
import { memory, type SinkContext, type SinkItem, type Storage } from 'scripstream/sinks'

/**
 * What this uses of a database. `new DatabaseSync(path)` of `node:sqlite` and `new Database(path)` of
 * better-sqlite3 have it.
 */
export interface SqliteDatabase {
  exec(sql: string): unknown
  prepare(sql: string): { run(...values: (string | number)[]): unknown }
}

const TABLE = `
  create table if not exists records
    (file text, item text, position integer, record text, primary key (file, item, position)) without rowid`

/**
 * Stores each row as JSON: `select item, record ->> 'Title' from records where file like 'market_news/%'`. An
 * item that failed, or has no rows, keeps its earlier ones.
 */
export const sqlite = (database: SqliteDatabase): Storage => {
  database.exec(TABLE)
  const remove = database.prepare('delete from records where file = ? and item = ?')
  const insert = database.prepare('insert into records values (?, ?, ?, ?)')

  const store = (file: string, item: string, records: readonly string[]): void => {
    database.exec('begin')
    try {
      remove.run(file, item)
      records.forEach((record, position) => void insert.run(file, item, position, record))
      database.exec('commit')
    } catch (error) {
      database.exec('rollback')
      // Ends the run: an item that cannot be stored must not count as stored.
      throw new StorageError(`${item} cannot be stored in SQLite: ${(error as Error).message}`)
    }
  }

  const open = ({ file }: Output, { wrote }: SinkContext) =>
    map((finished: SinkItem): SinkItem => {
      const { item, status, rows } = finished.outcome
      if (status !== 'success') return finished
      const records = [...rows].map((row) => JSON.stringify(row))
      store(file, item.key, records)
      wrote(records.join('').length)
      return finished
    })
  // The rest of the storage (earlier outputs, the report) is in memory.
  return { ...memory(), open }
}
