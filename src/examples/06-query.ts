/** SQL on the collected files, from Node: loads them into a DuckDB file and queries that. Needs `npm install @duckdb/node-api`. */
import { DuckDBInstance } from '@duckdb/node-api'
import { lastValueFrom } from 'rxjs'
import { duckdb } from 'scripstream/sinks'
import { streams } from 'scripstream/streams'

const MOST_TRADED = `
  select symbol, date, close, volume from candles
  where date = (select max(date) from candles)
  order by volume desc limit 3`

/** The stocks with the largest volume of the newest session. The tables and columns are those of `scripstream query`. */
export const findMostTraded = async (folder: string, database: string): Promise<readonly object[]> => {
  // One transaction: the database has the files of this folder, or what it had before.
  await lastValueFrom(duckdb(database, { streams }).write(folder))
  const instance = await DuckDBInstance.create(database)
  try {
    const connection = await instance.connect()
    const result = await connection.runAndReadAll(MOST_TRADED)
    return result.getRowObjectsJson()
  } finally {
    instance.closeSync()
  }
}
