import { DAYS_OF_52_WEEKS } from '../../model/trading-day.js'
import { col, defineView, RUN_DAY, type View, type ViewColumn } from './view.js'

const SHOWN_DAYS = 366
/**
 * Calendar days whose candles count: those that are shown, and those before them that averages and 52-week
 * highs need.
 */
const BREADTH_DAYS = SHOWN_DAYS + 400

const BEFORE = `RANGE BETWEEN ${DAYS_OF_52_WEEKS} PRECEDING AND 1 PRECEDING`

const share = (sql: string): string => `100 * avg(CAST(${sql} AS INTEGER))`
const averageOver = (sessions: number): string =>
  `CASE WHEN count(*) OVER (w ROWS ${sessions - 1} PRECEDING) = ${sessions} THEN avg(close) OVER (w ROWS ${sessions - 1} PRECEDING) END`

const before = (aggregate: string): string =>
  `CASE WHEN min(day) OVER w <= day - ${DAYS_OF_52_WEEKS} THEN ${aggregate} OVER (w ${BEFORE}) END`

/** The columns whose facts take most of the time, and these facts. */
const SLOW = {
  above_sma20_pct: ['sma20', averageOver(20)],
  above_sma50_pct: ['sma50', averageOver(50)],
  above_sma200_pct: ['sma200', averageOver(200)],
  new_highs: ['high_before', before('max(high)')],
  new_lows: ['low_before', before('min(low)')],
} as const

const buildFacts = (
  from: string,
  isNamed: (column: string) => boolean,
): string => `SELECT *, close / lag(close) OVER w - 1 AS change,
  ${Object.entries(SLOW)
    .map(([column, [name, sql]]) => `${isNamed(column) ? sql : 'CAST(NULL AS DOUBLE)'} AS ${name}`)
    .join(', ')}
  FROM ${from} WHERE day > coalesce(${RUN_DAY}, current_date) - ${BREADTH_DAYS} WINDOW w AS (PARTITION BY item ORDER BY day)`

const SUMMARY = `count(*) AS stocks, count(*) FILTER (change > 0) AS advances, count(*) FILTER (change < 0) AS declines, count(*) FILTER (change = 0) AS unchanged,
  100 * avg(change) AS change_pct, 100 * median(change) AS median_change_pct, ${share('close > sma20')} AS above_sma20_pct, ${share('close > sma50')} AS above_sma50_pct,
  ${share('close > sma200')} AS above_sma200_pct, count(*) FILTER (high > high_before) AS new_highs, count(*) FILTER (low < low_before) AS new_lows,
  round(sum(close * volume), 2) / 1e7 AS turnover_cr`

const SELECT_GROUPS = `SELECT 'market' AS level, 'all stocks' AS name, NULL AS symbol, day, ${SUMMARY} FROM stocks GROUP BY day
  UNION ALL SELECT 'sector', sector, NULL, day, ${SUMMARY} FROM stocks WHERE sector IS NOT NULL GROUP BY sector, day
  UNION ALL SELECT 'index', name, symbol, day, NULL, NULL, NULL, NULL, 100 * change, NULL, 100 * CAST(close > sma20 AS INTEGER), 100 * CAST(close > sma50 AS INTEGER),
    100 * CAST(close > sma200 AS INTEGER), CAST(high > high_before AS INTEGER), CAST(low < low_before AS INTEGER), NULL FROM indexes`

const BREADTH_COLUMNS: readonly ViewColumn[] = [
  col('isin', 'VARCHAR', 'NULL: rows are not about one stock', 'NULL'),
  col('symbol', 'VARCHAR', 'symbol of the index; NULL for market and sectors'),
  col('day', 'DATE', 'trading day in India'),
  col('level', 'VARCHAR', 'market, sector or index'),
  col('name', 'VARCHAR', 'all stocks, the sector as fundamentals names it, or the index'),
  col('stocks', 'BIGINT', 'stocks with a candle of that day; NULL for an index, whose members are unknown'),
  col('advances', 'BIGINT', 'stocks with a close above the one before'),
  col('declines', 'BIGINT', 'stocks with a close below the one before'),
  col('unchanged', 'BIGINT', 'stocks with the same close as before'),
  col('change_pct', 'DOUBLE', 'average change of the stocks, or change of the index, percent'),
  col('median_change_pct', 'DOUBLE', 'median change of the stocks, percent'),
  col(
    'above_sma20_pct',
    'DOUBLE',
    'stocks above the average of 20 sessions, percent of those that have one; 100 or 0 for an index',
  ),
  col('above_sma50_pct', 'DOUBLE', 'the same for 50 sessions, percent'),
  col('above_sma200_pct', 'DOUBLE', 'the same for 200 sessions, percent'),
  col('new_highs', 'BIGINT', 'stocks with a high above those of the 52 weeks before; 1 or 0 for an index'),
  col('new_lows', 'BIGINT', 'stocks with a low below those of the 52 weeks before; 1 or 0 for an index'),
  col('turnover_cr', 'DOUBLE', 'close times volume of the stocks, ₹ crore'),
]

const buildBreadth = (isNamed: (column: string) => boolean): View =>
  defineView({
    name: 'breadth',
    about: 'how many stocks rise and fall, one row for each day of the last year and market, sector or index',
    needs: ['candles_adjusted', 'index_candles', 'indices', 'fundamentals'],
    columns: BREADTH_COLUMNS.filter(({ name }) => !(name in SLOW) || isNamed(name)),
    with: [
      `stocks AS (SELECT f.*, s.sector FROM (${buildFacts('(SELECT *, symbol AS item FROM candles_adjusted)', isNamed)}) AS f
      LEFT JOIN (SELECT isin, max(sector) AS sector FROM fundamentals GROUP BY isin) AS s USING (isin))`,
      `indexes AS (SELECT f.*, i.name FROM (${buildFacts("(SELECT *, date AS day, symbol || '/' || sid AS item FROM index_candles)", isNamed)}) AS f
      LEFT JOIN (SELECT symbol, sid, max(name) AS name FROM indices GROUP BY ALL) AS i USING (symbol, sid))`,
    ],
    from: `FROM (${SELECT_GROUPS}) WHERE day > coalesce(${RUN_DAY}, current_date) - ${SHOWN_DAYS}`,
  })

export const breadth: View = { ...buildBreadth(() => true), narrow: buildBreadth }
