import { z } from 'zod'
import type { RowList } from './outcome.js'
import { column, row } from './row-schema.js'
import { toDay } from './trading-day.js'

/** Timestamp (epoch seconds), open, high, low, close, volume. */
export type Candle = readonly [number, number, number, number, number, number]

/** The year 2100 in epoch seconds. Anything greater is not in seconds. */
export const MAX_EPOCH_SECONDS = 4_102_444_800

/** Candles ascending by timestamp, each once: an array, or lines of CSV. */
export interface Candles extends RowList<Candle> {
  /** The first or the last candle. */
  at(index: 0 | -1): Candle | undefined
  /** The timestamps of answered candles that are not among these: why, or '' for a day without prices. */
  readonly leftOut?: ReadonlyMap<number, string>
}

const priceColumn = (sql: string) => column(z.number(), { about: 'rupees, or points of an index', sql })

/** A line of a candle file, its columns in their order. `Timestamp` is midnight in India in epoch seconds. */
export const CandleRow = row({
  Timestamp: column(z.int(), {
    about: 'trading day in India',
    sql: ['date', 'DATE'],
    // Plain arithmetic is exact: India has used +05:30 since before the first candle.
    convert: {
      sql: (epoch) => `DATE '1970-01-01' + CAST((TRY_CAST(${epoch} AS BIGINT) + 19800) // 86400 AS INTEGER)`,
      value: (epoch) => toDay(Number(epoch) * 1_000),
    },
  }),
  Open: priceColumn('open'),
  High: priceColumn('high'),
  Low: priceColumn('low'),
  Close: priceColumn('close'),
  Volume: column(z.int(), {
    about: 'shares traded',
    sql: 'volume',
    // Earlier versions stored fractions. NULL would take their days out of every sum, and a candle has no
    // `extra`.
    convert: {
      sql: (volume) => `TRY_CAST(round(TRY_CAST(${volume} AS DOUBLE)) AS BIGINT)`,
      value: (volume) => Math.round(Number(volume)),
    },
  }),
})

export const CANDLE_COLUMNS: readonly string[] = Object.keys(CandleRow.shape)
