import { DAYS_OF_52_WEEKS } from '../../model/trading-day.js'
import { isSameIssuer } from './symbols.js'
import {
  changing,
  dayColumn,
  defineView,
  exact,
  numberColumn,
  RUN_DAY,
  stringColumn,
  type View,
  type ViewColumn,
  wholeColumn,
} from './view.js'

const SHOWN_DAYS = 366
/**
 * Calendar days of candles that a figure of a day may come from, that day included: averages of 200 sessions
 * and 52 weeks, of a stock that misses some sessions.
 */
export const FIGURE_DAYS = 420

/** A common table expression: the first day of trading of each stock, also if the list has an older ISIN. */
export const LISTING = `listing AS (SELECT coalesce(m.isin, l.isin) AS isin, min(listed_on) AS listed_on, max(series) AS series, max(face_value) AS face_value FROM listing_dates AS l LEFT JOIN master AS m ON m.symbol = l.symbol AND ${isSameIssuer('m.isin', 'l.isin')} GROUP BY ALL)`

/** A stock may trade for the first time some days after its listing. */
const LISTING_DAYS = 10

/**
 * A value over 52 weeks, or since the listing, by the first candle that counts; NULL if candles are missing
 * before.
 */
export const since52Weeks = (value: string, { first, day, listedOn }: Readonly<Record<string, string>>) =>
  `if(${first} <= ${day} - ${DAYS_OF_52_WEEKS} OR ${first} <= coalesce(${listedOn}, ${first}) + ${LISTING_DAYS}, ${value}, NULL)`

const overBefore = (value: string): string =>
  since52Weeks(`${value} OVER (w RANGE BETWEEN ${DAYS_OF_52_WEEKS} PRECEDING AND 1 PRECEDING)`, {
    first: `min(day) OVER (w RANGE BETWEEN ${FIGURE_DAYS - 1} PRECEDING AND CURRENT ROW)`,
    day: 'day',
    listedOn: 'listed_on',
  })

/** The average close of the last sessions at each candle; NULL if there are fewer in these days. */
export const averageOf = (sessions: number): string =>
  `CASE WHEN lag(day, ${sessions - 1}) OVER w > day - ${FIGURE_DAYS} THEN avg(${exact('close')}) OVER (w ROWS ${sessions - 1} PRECEDING) END`

const fromAverage = (sessions: number): string => `100 * (close / NULLIF(${averageOf(sessions)}, 0) - 1)`

/** The columns whose facts take most of the time, and these facts, with the names of the screener. */
const SLOW = {
  above_sma20_pct: ['from_sma_20_pct', fromAverage(20)],
  above_sma50_pct: ['from_sma_50_pct', fromAverage(50)],
  above_sma200_pct: ['from_sma_200_pct', fromAverage(200)],
  new_highs: ['new_high_52w', `CAST(high > ${overBefore('max(high)')} AS INTEGER)`],
  new_lows: ['new_low_52w', `CAST(low < ${overBefore('min(low)')} AS INTEGER)`],
} as const

const buildFacts = (
  from: string,
  isNamed: (column: string) => boolean,
): string => `SELECT *, 100 * (close / NULLIF(lag(close) OVER w, 0) - 1) AS change_pct, close * volume / 1e7 AS turnover_cr,
  ${Object.entries(SLOW)
    .map(([column, [name, sql]]) => `${isNamed(column) ? sql : 'CAST(NULL AS DOUBLE)'} AS ${name}`)
    .join(', ')}
  FROM ${from} WHERE day > coalesce(${RUN_DAY}, current_date) - ${SHOWN_DAYS + FIGURE_DAYS} WINDOW w AS (PARTITION BY item ORDER BY day)`

/** Above an average. Rounded: two ways of computing the average of equal closes differ in the last digits. */
const isAbove = (sessions: number): string => `round(from_sma_${sessions}_pct, 9) > 0`

const aboveShare = (sessions: number): string =>
  `100 * avg(CAST(${isAbove(sessions)} AS INTEGER)) AS above_sma${sessions}_pct`

/** The breadth of some stocks that traded in a session, with the columns of `screener`. */
const BREADTH_SUMMARY = `count(*) AS stocks, count(*) FILTER (change_pct > 0) AS advances, count(*) FILTER (change_pct < 0) AS declines,
  count(*) FILTER (change_pct = 0) AS unchanged, avg(${exact('change_pct')}) AS change_pct, median(change_pct) AS median_change_pct,
  ${[20, 50, 200].map(aboveShare).join(', ')}, count(*) FILTER (new_high_52w = 1) AS new_highs, count(*) FILTER (new_low_52w = 1) AS new_lows,
  CAST(sum(${exact('turnover_cr')}) AS DOUBLE) AS turnover_cr`

/** The columns of `screener` that `selectBreadth` reads. */
export const BREADTH_FIGURES =
  'traded, price_day, change_pct, turnover_cr, return_1m_pct, new_high_52w, new_low_52w, from_sma_20_pct, from_sma_50_pct, from_sma_200_pct'

/**
 * The breadth of the newest session over some rows of `screener`, one row for each value of `by`: a stock
 * that did not trade does not count.
 */
export const selectBreadth = (by: string, stocks: string): string =>
  `SELECT ${by}, max(price_day) AS day, ${BREADTH_SUMMARY}, median(return_1m_pct) AS median_return_1m_pct FROM ${stocks} AND traded = 1 GROUP BY ALL HAVING count(*) > 0`

/** Whether a day is a session of the market: at least half of the stocks traded. */
export const isMarketSession = (stocks: string, all: string): string => `2 * ${stocks} >= ${all}`

/**
 * The sessions in some candles of the last year: days on which at least half as many stocks traded as on the
 * fullest one. While a run is fetching, a few have candles of a newer day.
 */
export const selectSessions = (candles: string): string =>
  `SELECT day FROM ${candles} WHERE day > coalesce(${RUN_DAY}, current_date) - ${SHOWN_DAYS} GROUP BY day QUALIFY ${isMarketSession('count(*)', 'max(count(*)) OVER ()')}`

const SELECT_GROUPS = `SELECT 'market' AS level, 'all stocks' AS name, NULL AS symbol, day, ${BREADTH_SUMMARY} FROM stocks GROUP BY day
  UNION ALL SELECT 'sector', sector, NULL, day, ${BREADTH_SUMMARY} FROM stocks GROUP BY sector, day
  UNION ALL SELECT 'index', name, symbol, day, NULL, NULL, NULL, NULL, change_pct, NULL,
    ${[20, 50, 200].map((sessions) => `100 * CAST(${isAbove(sessions)} AS INTEGER)`).join(', ')}, new_high_52w, new_low_52w, NULL FROM indexes`

const BREADTH_COLUMNS: readonly ViewColumn[] = [
  stringColumn('isin', 'NULL: rows are not about one stock', 'NULL'),
  stringColumn('symbol', 'symbol of the index; NULL for market and sectors'),
  dayColumn('day', 'session in India: a day on which at least half of the stocks traded'),
  stringColumn('level', 'market, sector or index'),
  stringColumn(
    'name',
    'all stocks, the sector as fundamentals names it (no sector if they do not), or the index',
  ),
  wholeColumn('stocks', 'stocks with a candle of that day; NULL for an index, whose members are unknown'),
  wholeColumn('advances', 'stocks with a close above the one before'),
  wholeColumn('declines', 'stocks with a close below the one before'),
  wholeColumn('unchanged', 'stocks with the same close as before'),
  changing(numberColumn('change_pct', 'average change of the stocks, or change of the index, percent')),
  changing(numberColumn('median_change_pct', 'median change of the stocks, percent')),
  numberColumn(
    'above_sma20_pct',
    'stocks above the average of 20 sessions, percent of those that have one; 100 or 0 for an index',
  ),
  numberColumn('above_sma50_pct', 'the same for 50 sessions, percent'),
  numberColumn('above_sma200_pct', 'the same for 200 sessions, percent'),
  wholeColumn(
    'new_highs',
    'stocks with a high above those of the 52 weeks before, or since the listing; 1 or 0 for an index',
  ),
  wholeColumn(
    'new_lows',
    'stocks with a low below those of the 52 weeks before, or since the listing; 1 or 0 for an index',
  ),
  numberColumn('turnover_cr', 'close times volume of the stocks, ₹ crore'),
]

const buildBreadth = (isNamed: (column: string) => boolean): View =>
  defineView({
    name: 'breadth',
    about: 'how many stocks rise and fall, one row for each day of the last year and market, sector or index',
    needs: ['candles_adjusted', 'index_candles', 'indices', 'fundamentals', 'listing_dates', 'master'],
    columns: BREADTH_COLUMNS.filter(({ name }) => !(name in SLOW) || isNamed(name)),
    with: [
      LISTING,
      `stocks AS (SELECT f.*, coalesce(s.sector, 'no sector') AS sector FROM (${buildFacts('(SELECT c.*, symbol AS item, listed_on FROM candles_adjusted AS c LEFT JOIN listing USING (isin))', isNamed)}) AS f
      LEFT JOIN (SELECT isin, max(sector) AS sector FROM fundamentals GROUP BY isin) AS s USING (isin)
      WHERE day IN (${selectSessions('candles_adjusted')}))`,
      `indexes AS (SELECT f.*, i.name FROM (${buildFacts("(SELECT *, date AS day, symbol || '/' || sid AS item, CAST(NULL AS DATE) AS listed_on FROM index_candles)", isNamed)}) AS f
      LEFT JOIN (SELECT symbol, sid, max(name) AS name FROM indices GROUP BY ALL) AS i USING (symbol, sid))`,
    ],
    from: `FROM (${SELECT_GROUPS}) WHERE day > coalesce(${RUN_DAY}, current_date) - ${SHOWN_DAYS}`,
  })

export const breadth: View = { ...buildBreadth(() => true), narrow: buildBreadth }
