import { ofFile, ofOwner } from './symbols.js'
import {
  col,
  dayColumn,
  defineView,
  identity,
  numberColumn,
  stringColumn,
  type ViewColumn,
  wholeColumn,
} from './view.js'

/** Rupees under a short name. */
const price = (name: string, comment: string, sql: string): ViewColumn => ({
  ...numberColumn(name, comment, sql),
  unit: '₹',
})

/** The prices of a candle: what stands before and after the name of each in SQL. */
const priceColumns = (comment: string, before: string, after = ''): readonly ViewColumn[] =>
  ['open', 'high', 'low', 'close'].map((name) => price(name, comment, `${before}${name}${after}`))

/** The name of this view, which a cache can stand for. */
export const CANDLE_DAYS = 'candle_days'

export const candleDays = defineView({
  name: CANDLE_DAYS,
  about:
    'daily candles of stocks as stored, one row for each symbol and day: of two candles of one day the last one in the file',
  needs: ['candles'],
  columns: [
    stringColumn('symbol', 'trading symbol'),
    dayColumn('day', 'trading day in India', 'date'),
    ...priceColumns('rupees', ''),
    wholeColumn('volume', 'shares traded'),
  ],
  from: `FROM (SELECT *, row_number() OVER () AS place FROM candles) WHERE date IS NOT NULL
    QUALIFY row_number() OVER (PARTITION BY symbol, date ORDER BY place DESC) = 1`,
})

/** The rows of that view as of a day with a master list: the files have the names of now. */
export const toPastCandles = (select: string): string => `FROM ${ofFile(`(${select})`)}`

/** Candles under the symbol that their stock has now: a file of a former symbol repeats candles. */
const LISTED =
  '(SELECT o.*, s.isin FROM candle_days AS o LEFT JOIN symbol_isins AS s USING (symbol) WHERE coalesce(symbol_now, symbol) = symbol)'

/**
 * Why the first closes before a split are not known: its terms are in the other order, or the provider has
 * divided by it twice. Divided by the factor, the prices are those of today in both cases.
 */
export const TWICE_OR_REVERSE = 'a consolidation, or divided twice'

/** The factors of later actions, cumulated. Each counts from `since` to before `until`. */
const STEPS = `steps AS (
  SELECT symbol, coalesce(lag(day) OVER w, DATE '0001-01-01') AS since, day AS until,
    product(price) OVER later AS price, product(dividend) OVER later AS dividend, product(applied) OVER later AS applied
  FROM (
    SELECT symbol, day, product(if(is_applied = 0 AND kind <> 'dividend', factor, 1)) AS price,
      product(if(is_applied = 0 AND kind = 'dividend', factor, 1)) AS dividend, product(if(reason = '${TWICE_OR_REVERSE}', 'NaN', if(is_applied = 1, factor, 1))) AS applied
    FROM adjustments WHERE is_applied IS NOT NULL AND factor IS NOT NULL GROUP BY symbol, day
  )
  WINDOW w AS (PARTITION BY symbol ORDER BY day), later AS (w ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING)
)`

export const candlesAdjusted = defineView({
  name: 'candles_adjusted',
  about: 'daily candles of stocks without jumps at splits and bonuses, one row for each stock and day',
  needs: ['candle_days', 'adjustments', 'symbol_isins'],
  columns: [
    ...identity('trading day in India', 'c.'),
    ...priceColumns('rupees of today', 'c.', ' / coalesce(a.price, 1)'),
    numberColumn('volume', 'shares of today', 'c.volume * coalesce(a.price, 1)'),
    numberColumn(
      'factor',
      'the stored prices were divided by it; 1 if the provider had adjusted them',
      'coalesce(a.price, 1)',
    ),
    price(
      'close_total_return',
      'close, also divided by later dividends, rupees',
      'c.close / coalesce(a.price, 1) / coalesce(a.dividend, 1)',
    ),
    price(
      'close_first',
      'close as collected on its day, not divided by later splits, rupees; NULL if the candles do not say by what it was divided',
      'c.close * coalesce(a.applied, 1)',
    ),
  ],
  with: [STEPS],
  from: `FROM ${LISTED} AS c LEFT JOIN steps AS a ON a.symbol = c.symbol AND c.day >= a.since AND c.day < a.until`,
})

/** The name of this view. Its rows are in the variable of the same name: the history has them, not a file. */
export const REWRITTEN_VIEW = 'rewritten'

/**
 * The type of the variable. `is_later`: after the day as of which tables are read, whose candles are
 * nevertheless those of today.
 */
export const REWRITTEN_TYPE =
  'STRUCT(day DATE, known_at TIMESTAMP, stream VARCHAR, item VARCHAR, reason VARCHAR, only_day DATE, is_later BOOLEAN)[]'

export const REWRITTEN_ROWS = `(SELECT unnest(CAST(getvariable('${REWRITTEN_VIEW}') AS ${REWRITTEN_TYPE}), recursive := true))`

/** Those of stocks, with the ISIN and the symbol that a stock has now; `item` is that of its day. */
export const REWRITTEN_STOCKS = `(
  SELECT r.* REPLACE (coalesce(s.symbol_now, r.symbol) AS symbol), s.isin
  FROM ${ofFile(ofOwner(`(SELECT *, item AS symbol FROM ${REWRITTEN_ROWS} WHERE stream = 'all-ohlcv')`, 'day'))} AS r
  LEFT JOIN symbol_isins AS s ON s.symbol = r.symbol
)`

export const rewritten = defineView({
  name: REWRITTEN_VIEW,
  about:
    'candle histories that a recorded run fetched again and replaced, or of which it replaced the last candle, one row for each file and run: what was known before had other prices',
  needs: ['master', 'symbol_isins'],
  columns: [
    stringColumn('isin', 'ISIN of the stock; NULL for an index, or if no list names it'),
    stringColumn('symbol', 'trading symbol on that day, or name of the index', 'item'),
    dayColumn('day', 'day of the run'),
    col('known_at', 'TIMESTAMP', 'when the candles were replaced, India time'),
    stringColumn('stream', 'all-ohlcv for stocks, indices-ohlcv for indices'),
    stringColumn('reason', 'why it was replaced'),
  ],
  from: `FROM (FROM ${REWRITTEN_STOCKS} UNION ALL BY NAME FROM ${REWRITTEN_ROWS} WHERE stream <> 'all-ohlcv') WHERE NOT is_later`,
})

/**
 * Candles with what the history knows about their prices. Apart from `candles`, whose queries need no
 * history.
 */
export const candlesKnown = defineView({
  name: 'candles_known',
  about:
    'daily candles of stocks as stored, and since when these prices are known, one row for each stock and day',
  needs: ['candle_days', 'master', 'symbol_isins'],
  columns: [
    ...identity('trading day in India', 'c.'),
    ...priceColumns('rupees', 'c.'),
    wholeColumn('volume', 'shares traded', 'c.volume'),
    col(
      'known_since',
      'TIMESTAMP',
      'when a recorded run replaced this price by another, India time; NULL if none did',
      'greatest(r.known_at, o.known_at)',
    ),
  ],
  // A history that was replaced on several days: the last one counts, of those whose candles go as far as
  // this one.
  with: [
    `replaced AS (
      SELECT symbol, coalesce(lag(day) OVER w, DATE '0001-01-01') AS after, day AS until,
        max(known_at) OVER (w ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) AS known_at
      FROM (SELECT symbol, day, max(known_at) AS known_at FROM ${REWRITTEN_STOCKS} WHERE only_day IS NULL GROUP BY ALL)
      WINDOW w AS (PARTITION BY symbol ORDER BY day)
    )`,
    `replaced_alone AS (
      SELECT symbol, only_day AS day, max(known_at) AS known_at FROM ${REWRITTEN_STOCKS} GROUP BY ALL
    )`,
  ],
  from: `FROM ${LISTED} AS c
    LEFT JOIN replaced AS r ON r.symbol = c.symbol AND c.day > r.after AND c.day <= r.until
    LEFT JOIN replaced_alone AS o ON o.symbol = c.symbol AND o.day = c.day`,
})
