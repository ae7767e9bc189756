import { DAYS_OF_52_WEEKS } from '../../../model/trading-day.js'
import { FIGURE_DAYS, since52Weeks } from '../breadth.js'
import {
  changing,
  dayColumn,
  defineView,
  numberColumn,
  RUN_DAY,
  reading,
  type ScreenerGroup,
  stringColumn,
  type ViewColumn,
  wholeColumn,
} from '../view.js'

/** Calendar days before the day of the run in which a stock must have traded to have a price. */
export const PRICE_DAYS = 20 + FIGURE_DAYS

/** An aggregate over the last sessions; NULL if there are fewer. */
const over = (sessions: number, aggregate: string, from = 1): string =>
  `CASE WHEN count(*) >= ${sessions + from - 1} THEN ${aggregate} FILTER (n BETWEEN ${from} AND ${sessions + from - 1}) END`

/** An aggregate over the sessions of 52 weeks. */
const overWeeks52 = (aggregate: string, from = 1): string =>
  `${aggregate} FILTER (n >= ${from} AND day >= last_day - ${DAYS_OF_52_WEEKS})`

/** A value over 52 weeks, or since the listing; NULL if candles are missing before. */
const sinceListing = (value: string): string =>
  since52Weeks(value, { first: 'first_recent', day: 'price_day', listedOn: 'm.listed_on' })

/** Whether the newest session has a high or low of 52 weeks, or since the listing. */
export const IS_NEW_HIGH = `high_1 > ${sinceListing('high_52w_before')}`
export const IS_NEW_LOW = `low_1 < ${sinceListing('low_52w_before')}`

const ago = (period: string, column = 'close'): string =>
  `max_by(${column}, day) FILTER (day <= last_day - INTERVAL ${period})`

/** The value of a column some sessions ago; 1 is the newest. */
const at = (n: number, column = 'close'): string => `max(${column}) FILTER (n = ${n})`

const AVERAGE_SESSIONS = [5, 10, 20, 50, 100, 150, 200] as const
/** Periods of returns: they go by the calendar. */
const RETURN_PERIODS = [
  ['1w', '7 DAY', 'a week'],
  ['1m', '1 MONTH', 'a calendar month'],
  ['3m', '3 MONTH', 'three calendar months'],
  ['6m', '6 MONTH', 'six calendar months'],
  ['1y', '1 YEAR', 'a calendar year'],
] as const

const AGGREGATES = [
  'max(day) AS price_day',
  ...['open', 'high', 'low', 'close', 'volume'].map((column) => `${at(1, column)} AS ${column}_1`),
  `${at(2)} AS close_2`,
  `${at(2, 'day')} AS day_2`,
  `${at(2, 'high')} AS high_2`,
  `${at(2, 'low')} AS low_2`,
  'min(day) AS first_recent',
  ...RETURN_PERIODS.map(([name, period]) => `${ago(period)} AS close_${name}`),
  `${ago('1 YEAR', 'close_total_return')} AS total_1y`,
  `${at(1, 'close_total_return')} AS total_1`,
  'max_by(close, day) FILTER (year(day) < year(last_day)) AS close_ytd',
  ...AVERAGE_SESSIONS.map((sessions) => `${over(sessions, 'avg(close)')} AS sma_${sessions}`),
  `${over(200, 'avg(close)', 22)} AS sma_200_1m`,
  `${overWeeks52('max(high)')} AS high_52w`,
  `${overWeeks52('min(low)')} AS low_52w`,
  `${overWeeks52('max_by(day, row(high, day))')} AS high_52w_day`,
  `${overWeeks52('max_by(day, row(-low, day))')} AS low_52w_day`,
  `${over(20, 'avg(volume)', 2)} AS volume_20_before`,
  `${over(50, 'avg(volume)')} AS volume_50`,
  `${over(20, 'avg(close * volume)')} / 1e7 AS turnover_20`,
  `100 * (${over(20, 'avg(high / NULLIF(low, 0))')} - 1) AS adr_20`,
  `CASE WHEN count(*) > 14 THEN avg(greatest(high - low, abs(high - before), abs(low - before))) FILTER (n <= 14) END AS atr_14`,
  `CASE WHEN count(*) > 20 THEN 100 * stddev_samp(CASE WHEN close > 0 AND before > 0 THEN ln(close / before) END) FILTER (n <= 20) * sqrt(252) END AS volatility_20`,
  `CASE WHEN count(*) >= 7 THEN ${at(1, 'high - low')} < min(high - low) FILTER (n BETWEEN 2 AND 7) END AS nr7`,
  `CASE WHEN count(*) >= 4 THEN ${at(1, 'high - low')} < min(high - low) FILTER (n BETWEEN 2 AND 4) END AS nr4`,
  `${over(20, 'max(high)', 2)} AS high_20_before`,
  `${over(50, 'max(high)', 2)} AS high_50_before`,
  `${overWeeks52('max(high)', 2)} AS high_52w_before`,
  `${overWeeks52('min(low)', 2)} AS low_52w_before`,
  `${over(20, 'min(low)', 2)} AS low_20_before`,
  'min(n) FILTER (NOT coalesce(close > before, false)) - 1 AS up_days',
  'min(n) FILTER (NOT coalesce(close < before, false)) - 1 AS down_days',
]

/** A common table expression: the sessions of each stock in the last year. */
const buildRecent = (candles: string): string => `recent AS (
  SELECT *, row_number() OVER w AS n, lead(close) OVER w AS before, lag(close) OVER w AS after, max(day) OVER w AS last_day
  FROM ${candles} WHERE day > coalesce(${RUN_DAY}, current_date) - ${PRICE_DAYS} AND isin IS NOT NULL
  WINDOW w AS (PARTITION BY symbol ORDER BY day DESC) QUALIFY day > last_day - ${FIGURE_DAYS}
)`
export const RECENT = buildRecent('candles_adjusted')
const PRICE_TABLE = `price AS (SELECT isin, ${AGGREGATES.join(', ')} FROM recent GROUP BY isin)`

export const change = (now: string, before: string): string => `100 * (${now} / NULLIF(${before}, 0) - 1)`
const flagColumn = (name: string, comment: string, sql: string): ViewColumn =>
  wholeColumn(name, `1 if ${comment}, else 0`, sql)

const LATEST_COLUMNS = [
  dayColumn(
    'price_day',
    `day of the newest candle of the last ${PRICE_DAYS} days, which the prices below are of`,
  ),
  numberColumn('open_inr', 'open, rupees', 'open_1'),
  numberColumn('high_inr', 'high, rupees', 'high_1'),
  numberColumn('low_inr', 'low, rupees', 'low_1'),
  numberColumn('close_inr', 'close, rupees', 'close_1'),
  numberColumn('close_before_inr', 'close of the session before, rupees', 'close_2'),
  changing(numberColumn('change_pct', 'close against the one before, percent', change('close_1', 'close_2'))),
  changing(numberColumn('gap_pct', 'open against the close before, percent', change('open_1', 'close_2'))),
  numberColumn(
    'close_in_range_pct',
    'close in the range of the day: 0 low to 100',
    '100 * (close_1 - low_1) / NULLIF(high_1 - low_1, 0)',
  ),
  numberColumn('volume', 'shares traded', 'volume_1'),
  numberColumn('turnover_cr', 'close times volume, ₹ crore', 'close_1 * volume_1 / 1e7'),
  numberColumn('volume_avg_50', 'average volume of 50 sessions, shares', 'volume_50'),
  numberColumn(
    'turnover_avg_20_cr',
    'average of close times volume over 20 sessions, ₹ crore',
    'turnover_20',
  ),
  {
    ...numberColumn(
      'rvol',
      'relative volume: against the average of the 20 sessions before',
      'volume_1 / NULLIF(volume_20_before, 0)',
    ),
    title: 'volume ×',
  },
  ...RETURN_PERIODS.map(([name, , text]) =>
    changing(
      numberColumn(
        `return_${name}_pct`,
        `return since the last close at least ${text} before, percent`,
        change('close_1', `close_${name}`),
      ),
    ),
  ),
  changing(
    numberColumn(
      'return_ytd_pct',
      'return since the last session of the year before, percent',
      change('close_1', 'close_ytd'),
    ),
  ),
  changing(
    numberColumn(
      'total_return_1y_pct',
      'return_1y_pct with dividends, percent',
      change('total_1', 'total_1y'),
    ),
  ),
  wholeColumn(
    'listed_days',
    `days since the listing; below ${DAYS_OF_52_WEEKS}, 52-week columns count from it`,
    'price_day - m.listed_on',
  ),
  numberColumn(
    'high_52w_inr',
    'highest price of 52 weeks or since the listing, rupees',
    sinceListing('high_52w'),
  ),
  dayColumn('high_52w_day', 'day of that price, the last of several', sinceListing('high_52w_day')),
  numberColumn(
    'low_52w_inr',
    'lowest price of 52 weeks or since the listing, rupees',
    sinceListing('low_52w'),
  ),
  dayColumn('low_52w_day', 'day of that price, the last of several', sinceListing('low_52w_day')),
  numberColumn(
    'from_high_52w_pct',
    'close against the highest price of 52 weeks, percent',
    change('close_1', sinceListing('high_52w')),
  ),
  numberColumn(
    'from_low_52w_pct',
    'close against the lowest price of 52 weeks, percent',
    change('close_1', sinceListing('low_52w')),
  ),
  {
    ...numberColumn(
      'place_52w_pct',
      'close between the lowest price of 52 weeks, 0, and the highest one, 100',
      `100 * (close_1 - ${sinceListing('low_52w')}) / NULLIF(${sinceListing('high_52w')} - ${sinceListing('low_52w')}, 0)`,
    ),
    title: '52-week range',
  },
  numberColumn('adr_20_pct', 'average daily range: high against low over 20 sessions, percent', 'adr_20'),
  numberColumn('atr_14_inr', 'average true range of 14 sessions (plain average), rupees', 'atr_14'),
  numberColumn('atr_14_pct', 'average true range, percent of the close', '100 * atr_14 / NULLIF(close_1, 0)'),
  numberColumn(
    'volatility_20_pct',
    'standard deviation (sample) of 20 daily log returns, times root of 252, percent',
    'volatility_20',
  ),
  ...AVERAGE_SESSIONS.map((sessions) =>
    numberColumn(`sma_${sessions}_inr`, `average close of ${sessions} sessions, rupees`, `sma_${sessions}`),
  ),
  ...[20, 50, 200].map((n) =>
    numberColumn(
      `from_sma_${n}_pct`,
      `close against the average of ${n} sessions, percent`,
      change('close_1', `sma_${n}`),
    ),
  ),
  changing(
    numberColumn(
      'sma_200_change_1m_pct',
      'average of 200 sessions against 21 sessions earlier, percent',
      change('sma_200', 'sma_200_1m'),
    ),
  ),
  flagColumn('nr7', 'the range is narrower than each of the 6 before', 'nr7'),
  flagColumn('nr4', 'the range is narrower than each of the 3 before', 'nr4'),
  flagColumn(
    'inside_day',
    'neither high nor low is beyond that of the session before',
    'high_1 <= high_2 AND low_1 >= low_2',
  ),
  flagColumn(
    'breakout_20',
    'the close is above the highs of the 20 sessions before',
    'close_1 > high_20_before',
  ),
  flagColumn(
    'breakout_50',
    'the close is above the highs of the 50 sessions before',
    'close_1 > high_50_before',
  ),
  flagColumn(
    'breakout_52w',
    'the close is above the highs of the 52 weeks before, or since the listing',
    `close_1 > ${sinceListing('high_52w_before')}`,
  ),
  flagColumn(
    'new_high_52w',
    'the high is above those of the 52 weeks before, or since the listing',
    IS_NEW_HIGH,
  ),
  flagColumn(
    'new_low_52w',
    'the low is below those of the 52 weeks before, or since the listing',
    IS_NEW_LOW,
  ),
  flagColumn(
    'breakdown_20',
    'the close is below the lows of the 20 sessions before',
    'close_1 < low_20_before',
  ),
  wholeColumn('up_days', 'closes in a row above the one before'),
  wholeColumn('down_days', 'closes in a row below the one before'),
]

export const priceGroup: ScreenerGroup = {
  title: 'prices of candles_adjusted',
  needs: ['candles_adjusted'],
  with: [RECENT, PRICE_TABLE],
  alias: 'p',
  columns: LATEST_COLUMNS,
}

export const indexPrices = defineView({
  name: 'index_prices',
  about: 'each index with its newest candle and the prices before it, in points, one row each',
  needs: ['index_candles', 'indices'],
  columns: [
    stringColumn('isin', 'NULL: rows are not about a stock', 'NULL'),
    stringColumn('symbol', 'symbol of the index', 'm.symbol'),
    dayColumn('day', 'day of the run, on a weekend without a session the Friday before', RUN_DAY),
    stringColumn('sid', 'id of the index, which may share its symbol', 'm.sid'),
    stringColumn('name', 'name of the index', 'm.name'),
    ...LATEST_COLUMNS.filter(({ name }) => !/^listed_days$|^total_return|_cr$/.test(name)).map(
      ({ unit, ...column }) => ({
        ...column,
        ...(unit === '%' && { unit }),
        comment: column.comment.replace('the listing', 'the first candle').replaceAll('rupees', 'points'),
      }),
    ),
  ],
  with: [
    `items AS (SELECT symbol, sid, symbol || '/' || sid AS item, max(name) AS name, CAST(NULL AS DATE) AS listed_on FROM indices GROUP BY ALL)`,
    buildRecent(
      "(SELECT symbol || '/' || sid AS isin, symbol || '/' || sid AS symbol, date AS day, open, high, low, close, volume, close AS close_total_return FROM index_candles)",
    ),
    PRICE_TABLE,
  ],
  from: 'FROM price AS p JOIN items AS m ON m.item = p.isin',
})

const yearly = (years: number): string =>
  `100 * (TRY(pow(close_1 / NULLIF(close_${years}y, 0), 1.0 / ${years})) - 1)`

export const history: ScreenerGroup = {
  title: 'the whole history of candles_adjusted',
  needs: ['candles_adjusted'],
  with: [
    ...priceGroup.with,
    `history AS (
      SELECT isin, count(*) AS sessions, min(day) AS first_day, max(high) AS high_all, max_by(day, row(high, day)) AS high_all_day, min(low) AS low_all,
        ${[3, 5, 10].map((years) => `max_by(close, day) FILTER (day <= price_day - INTERVAL ${years} YEAR) AS close_${years}y`).join(', ')}
      FROM candles_adjusted LEFT JOIN (SELECT isin, price_day FROM price) USING (isin) WHERE isin IS NOT NULL GROUP BY isin
    )`,
  ],
  alias: 'h',
  columns: [
    wholeColumn('sessions', 'stored sessions'),
    dayColumn('first_day', 'day of the oldest candle'),
    numberColumn('high_all_inr', 'highest price of all stored candles, rupees', 'high_all'),
    dayColumn('high_all_day', 'day of that price, the last of several'),
    reading(
      ['price', 'history'],
      numberColumn('from_high_all_pct', 'close against it, percent', change('close_1', 'high_all')),
    ),
    numberColumn('low_all_inr', 'lowest price of all stored candles, rupees', 'low_all'),
    ...[3, 5, 10].map((years) =>
      reading(
        ['price', 'history'],
        changing(
          numberColumn(
            `cagr_${years}y_pct`,
            `return of ${years} calendar years, percent p.a.`,
            yearly(years),
          ),
        ),
      ),
    ),
  ],
}
