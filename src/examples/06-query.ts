/** SQL on the collected files, from Node. Needs `npm install @duckdb/node-api`. */
import { query } from 'scripstream/analysis'

const MOST_TRADED = `
  select symbol, date, close, volume from candles
  where date = (select max(date) from candles)
  order by volume desc limit 3`

/**
 * The stocks with the largest volume of the newest session. The tables and columns are those of `scripstream
 * query`.
 */
export const findMostTraded = (folder: string) => query(folder, MOST_TRADED)
