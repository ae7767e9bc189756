import { col, defineView } from './view.js'

/** The name of this view, which a cache can stand for. */
export const CANDLE_DAYS = 'candle_days'

/** Candles without repetitions. */
export const candleDays = defineView({
  name: CANDLE_DAYS,
  about: 'daily candles of stocks as stored, one row for each symbol and day: of two candles of one day the last one in the file',
  needs: ['candles'],
  columns: [
    col('symbol', 'VARCHAR', 'trading symbol'),
    col('day', 'DATE', 'trading day in India', 'date'),
    ...['open', 'high', 'low', 'close'].map((name) => col(name, 'DOUBLE', 'rupees')),
    col('volume', 'BIGINT', 'shares traded'),
  ],
  from: `FROM (SELECT *, row_number() OVER () AS place FROM candles) WHERE date IS NOT NULL
    QUALIFY row_number() OVER (PARTITION BY symbol, date ORDER BY place DESC) = 1`,
})
