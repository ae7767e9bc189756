import { col, defineView, identity } from './view.js'

/** Steps of a cumulative factor: from `since` to before `until`, prices are divided by `factor`. */
const buildSteps = (name: string, condition: string): string => `${name} AS (
  SELECT symbol, coalesce(lag(day) OVER w, DATE '0001-01-01') AS since, day AS until, product(factor) OVER (w ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) AS factor
  FROM (SELECT symbol, day, product(factor) AS factor FROM adjustments WHERE ${condition} GROUP BY symbol, day) WINDOW w AS (PARTITION BY symbol ORDER BY day)
)`

const adjust = (column: string): string => `c.${column} / coalesce(a.factor, 1)`

/** Candles whose prices compare across splits and bonuses. */
export const candlesAdjusted = defineView({
  name: 'candles_adjusted',
  about: 'daily candles of stocks without jumps at splits and bonuses, one row for each stock and day',
  needs: ['candle_days', 'adjustments', 'symbol_isins'],
  columns: [
    ...identity('trading day in India', 'c.'),
    col('open', 'DOUBLE', 'rupees of today', adjust('open')),
    col('high', 'DOUBLE', 'rupees of today', adjust('high')),
    col('low', 'DOUBLE', 'rupees of today', adjust('low')),
    col('close', 'DOUBLE', 'rupees of today', adjust('close')),
    col('volume', 'DOUBLE', 'shares of today', 'c.volume * coalesce(a.factor, 1)'),
    col('factor', 'DOUBLE', 'the stored prices were divided by it; 1 if the provider had adjusted them', 'coalesce(a.factor, 1)'),
    col(
      'close_total_return',
      'DOUBLE',
      'close, also divided by the factors of later dividends, rupees',
      `${adjust('close')} / coalesce(d.factor, 1)`,
    ),
  ],
  with: [
    buildSteps('price_steps', "is_applied = 0 AND kind <> 'dividend' AND factor IS NOT NULL"),
    buildSteps('dividend_steps', "is_applied = 0 AND kind = 'dividend' AND factor IS NOT NULL"),
  ],
  // A file of a former symbol repeats candles.
  from: `FROM (SELECT o.*, s.isin FROM candle_days AS o LEFT JOIN symbol_isins AS s USING (symbol) WHERE coalesce(symbol_now, symbol) = symbol) AS c
    LEFT JOIN price_steps AS a ON a.symbol = c.symbol AND c.day >= a.since AND c.day < a.until
    LEFT JOIN dividend_steps AS d ON d.symbol = c.symbol AND c.day >= d.since AND c.day < d.until`,
})
