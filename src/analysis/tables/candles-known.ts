import { REWRITTEN_ROWS } from './rewritten.js'
import { col, defineView, identity } from './view.js'

/** Candles with what the history knows about their prices. Apart from `candles`, whose queries need no history. */
export const candlesKnown = defineView({
  name: 'candles_known',
  about: 'daily candles of stocks as stored, and since when these prices are known, one row for each stock and day',
  needs: ['candle_days', 'symbol_isins'],
  columns: [
    ...identity('trading day in India', 'c.'),
    ...['open', 'high', 'low', 'close'].map((name) => col(name, 'DOUBLE', 'rupees', `c.${name}`)),
    col('volume', 'BIGINT', 'shares traded', 'c.volume'),
    col(
      'known_since',
      'TIMESTAMP',
      'when a recorded run replaced the prices of this day, India time: earlier they were others; NULL if no recorded run did',
      'r.known_at',
    ),
  ],
  // A history that was replaced on several days: the last one counts, of those whose candles go as far as this one.
  with: [
    `replaced AS (
      SELECT symbol, coalesce(lag(day) OVER w, DATE '0001-01-01') AS after, day AS until,
        max(known_at) OVER (w ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) AS known_at
      FROM (SELECT item AS symbol, day, max(known_at) AS known_at FROM ${REWRITTEN_ROWS} WHERE stream = 'all-ohlcv' GROUP BY item, day)
      WINDOW w AS (PARTITION BY symbol ORDER BY day)
    )`,
  ],
  // A file of a former symbol repeats candles.
  from: `FROM (SELECT o.*, s.isin FROM candle_days AS o LEFT JOIN symbol_isins AS s USING (symbol) WHERE coalesce(symbol_now, symbol) = symbol) AS c
    LEFT JOIN replaced AS r ON r.symbol = c.symbol AND c.day > r.after AND c.day <= r.until`,
})
