import { z } from 'zod'
import { column, row } from './row-schema.js'

const price = (sql: string) => column(z.number(), { about: 'rupees, or points of an index', sql })

/** A line of a candle file, its columns in their order. `Timestamp` is midnight in India in epoch seconds. */
export const CandleRow = row({
  Timestamp: column(z.int(), {
    about: 'trading day in India',
    sql: ['date', 'DATE'],
    // Plain arithmetic is exact: India has used +05:30 since before the first candle.
    convert: (epoch) => `DATE '1970-01-01' + CAST((TRY_CAST(${epoch} AS BIGINT) + 19800) // 86400 AS INTEGER)`,
  }),
  Open: price('open'),
  High: price('high'),
  Low: price('low'),
  Close: price('close'),
  Volume: column(z.int(), { about: 'shares traded', sql: 'volume' }),
})

/** The columns of a candle file. */
export const CANDLE_COLUMNS: readonly string[] = Object.keys(CandleRow.shape)
