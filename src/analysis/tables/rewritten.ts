import { col, defineView } from './view.js'

/** The name of this view. Its rows are in the variable of the same name: the history has them, not a file. */
export const REWRITTEN_VIEW = 'rewritten'

/** The type of the variable. `is_later`: after the day as of which tables are read, whose candles are nevertheless those of today. */
export const REWRITTEN_TYPE = 'STRUCT(day DATE, known_at TIMESTAMP, stream VARCHAR, item VARCHAR, reason VARCHAR, is_later BOOLEAN)[]'

/** All rows of the variable. */
export const REWRITTEN_ROWS = `(SELECT unnest(CAST(getvariable('${REWRITTEN_VIEW}') AS ${REWRITTEN_TYPE}), recursive := true))`

/** Candle histories that runs replaced. */
export const rewritten = defineView({
  name: REWRITTEN_VIEW,
  about:
    'candle histories that a recorded run fetched again and replaced, one row for each file and run: what was known before had other prices',
  needs: ['master'],
  columns: [
    col('isin', 'VARCHAR', 'ISIN of the stock; NULL for an index, or if no listed stock has the symbol now'),
    col('symbol', 'VARCHAR', 'trading symbol on that day, or name of the index', 'item'),
    col('day', 'DATE', 'day of the run'),
    col('known_at', 'TIMESTAMP', 'when the candles were replaced, India time'),
    col('stream', 'VARCHAR', 'all-ohlcv for stocks, indices-ohlcv for indices'),
    col('reason', 'VARCHAR', 'why it was replaced'),
  ],
  from: `FROM (FROM ${REWRITTEN_ROWS} WHERE NOT is_later)
    LEFT JOIN (SELECT symbol, min(isin) AS isin FROM master GROUP BY symbol) m ON m.symbol = item AND stream = 'all-ohlcv'`,
})
