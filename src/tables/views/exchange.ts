import { FURTHER_SERIES, SHARE_SERIES } from '../../market/witness.js'
import { isMarketSession } from './breadth.js'
import { FORMER_OWNERS, isSameIssuer, ofOwner, presentIsin } from './symbols.js'
import {
  dayColumn,
  defineView,
  exact,
  identity,
  numberColumn,
  RUN_DAY,
  type ScreenerGroup,
  stringColumn,
  wholeColumn,
} from './view.js'

const IS_SHARE = `series IN (${SHARE_SERIES.map((series) => `'${series}'`).join(', ')})`
/** A row that is a share, or may be one if its stock has no such row. */
const MAY_BE_SHARE = `(${IS_SHARE} OR regexp_matches(series, '${FURTHER_SERIES.source}'))`

/**
 * The trades of shares under the symbol that their stock has now, one row for each day. Bonds, warrants and
 * funds are left out.
 */
const TRADES = `trades AS (
  SELECT coalesce(s.isin, e.symbol) AS isin, coalesce(s.symbol_now, e.symbol) AS symbol, e.day, e.close, e.last, e.volume, e.delivery_quantity, e.delivery_pct
  FROM ${ofOwner('exchange_daily', 'day')} AS e LEFT JOIN symbol_isins AS s USING (symbol) WHERE ${MAY_BE_SHARE}
  QUALIFY row_number() OVER (PARTITION BY coalesce(s.symbol_now, e.symbol), e.day ORDER BY ${IS_SHARE} DESC, e.volume DESC, e.series) = 1
)`

const DELIVERIES = `deliveries AS (
  SELECT *, if(count(delivery_pct) OVER w = 20, avg(${exact('delivery_pct')}) OVER w, NULL) AS average_pct,
    if(count(delivery_quantity) OVER w = 20, avg(delivery_quantity) OVER w, NULL) AS average_quantity
  FROM trades WINDOW w AS (PARTITION BY symbol ORDER BY day ROWS BETWEEN 19 PRECEDING AND CURRENT ROW)
)`

/** As `isSamePrice`: the close may be the last trade or the average of the last half hour. */
const isSameClose = (price: string): string =>
  `abs(${price} - e.close) <= greatest(0.005 * e.close, least(0.1, 0.02 * e.close))`

/** Candles beside what the exchange says about the same day. */
export const candlesDaily = defineView({
  name: 'candles_daily',
  about:
    "daily candles of stocks as stored, with the exchange's own close, volume and delivery of that day, one row for each stock and day",
  needs: ['candles_adjusted', 'exchange_daily', 'symbol_isins'],
  columns: [
    ...identity('trading day in India', 'c.'),
    numberColumn('close', 'rupees, as stored', 'c.close * c.factor'),
    numberColumn('volume', 'shares traded, as stored', 'c.volume / c.factor'),
    numberColumn(
      'exchange_close',
      'official close, rupees of that day; NULL without the file of the exchange',
      'e.close',
    ),
    wholeColumn('exchange_volume', 'shares of that day', 'e.volume'),
    stringColumn(
      'confirmed_by',
      'exchange if its close of that day is the same, also before later splits and bonuses; NULL if it differs, or without its file',
      `CASE WHEN ${isSameClose('c.close * c.factor')} OR ${isSameClose('c.close_first')} THEN 'exchange' END`,
    ),
    wholeColumn('delivery_quantity', 'shares that were delivered; NULL if not reported'),
    numberColumn('delivery_pct', 'delivered shares, percent of the volume'),
    numberColumn('delivery_avg_20_pct', 'average of delivery_pct over 20 sessions, percent', 'average_pct'),
  ],
  with: [TRADES, DELIVERIES],
  from: 'FROM candles_adjusted AS c LEFT JOIN deliveries AS e ON e.symbol = c.symbol AND e.day = c.day',
})

/** The newest delivery of each stock. */
export const delivery: ScreenerGroup = {
  title: "deliveries of the exchange's daily file",
  needs: ['exchange_daily', 'symbol_isins'],
  with: [
    TRADES,
    DELIVERIES,
    'delivery AS (SELECT *, delivery_quantity / NULLIF(average_quantity, 0) AS times FROM deliveries QUALIFY day = max(day) OVER (PARTITION BY isin))',
  ],
  alias: 'd',
  columns: [
    dayColumn('delivery_day', "day of the stock's newest file of the exchange", 'd.day'),
    numberColumn(
      'delivery_pct',
      'delivered shares of that day, percent of the volume; NULL if not reported',
      'd.delivery_pct',
    ),
    numberColumn('delivery_avg_20_pct', 'its average over 20 sessions, percent', 'd.average_pct'),
    numberColumn(
      'delivery_x',
      'delivered shares of that day, as a multiple of their average over 20 sessions',
      'd.times',
    ),
  ],
}

/** Universes, such as the stocks of the NIFTY 500. */
export const membersOfIndices = defineView({
  name: 'index_members',
  about:
    'the stocks of each index on the day that is read, one row each; index_spells also has those that left',
  needs: ['index_spells', 'master'],
  columns: [
    stringColumn(
      'isin',
      'ISIN of the stock: of the master list by ISIN, or else by symbol; as published if it has neither',
      'coalesce(m.isin, n.isin, i.isin)',
    ),
    stringColumn(
      'symbol',
      'trading symbol in the master list, or as published',
      'coalesce(m.symbol, n.symbol, i.symbol)',
    ),
    dayColumn('day', 'day of the run', RUN_DAY),
    stringColumn('index', 'index, such as NIFTY 500', 'i.index'),
    dayColumn('since', 'first day on which a fetched list had it', 'i.since'),
    stringColumn('industry', 'one of about 20 broad industries', 'i.industry'),
  ],
  from: `FROM index_spells AS i LEFT JOIN (SELECT isin, min(symbol) AS symbol FROM master GROUP BY isin) AS m ON m.isin = i.isin
    LEFT JOIN (SELECT symbol, min(isin) AS isin FROM master GROUP BY symbol) AS n ON n.symbol = i.symbol AND (coalesce(i.isin, '') = '' OR ${isSameIssuer('n.isin', 'i.isin')}) WHERE i.until IS NULL`,
})

/** The days of the market, as the folder shows them. */
export const sessions = defineView({
  name: 'sessions',
  about:
    'each session, each other day with a candle, and each weekday without one, since the first candle, one row each',
  needs: ['candle_days', 'exchange_daily', 'deals'],
  columns: [
    stringColumn('isin', 'NULL: rows are not about a stock', 'NULL'),
    stringColumn('symbol', 'NULL: likewise', 'NULL'),
    dayColumn('day', 'day in India'),
    stringColumn(
      'kind',
      'open, special for a session on a weekend, partial if some stocks traded but fewer than half, or holiday for a weekday on which none did',
    ),
    wholeColumn('stocks', 'stocks with a candle'),
    wholeColumn('listed', 'stocks whose first candle is not later and whose last is not earlier'),
    stringColumn(
      'evidence',
      'what shows it; a holiday is a weekday of which nothing is known, though later days are',
      `coalesce(NULLIF(concat_ws(', ', if(stocks > 0, 'candles of ' || stocks || ' of ' || listed || ' stocks', NULL),
        if(published > 0, 'exchange file with ' || published || ' rows', NULL), if(deals > 0, deals || ' deals', NULL)), ''), 'nothing')`,
    ),
  ],
  with: [
    'spans AS (SELECT symbol, min(day) AS first, max(day) AS last FROM candle_days GROUP BY symbol)',
    `counted AS (
      SELECT day, sum(stocks) AS stocks, sum(published) AS published, sum(deals) AS deals, sum(change) AS change FROM (
        SELECT day, count(*) AS stocks, 0 AS published, 0 AS deals, 0 AS change FROM candle_days GROUP BY day
        UNION ALL SELECT day, 0, count(*), 0, 0 FROM exchange_daily WHERE day IS NOT NULL GROUP BY day
        UNION ALL SELECT date, 0, 0, count(*), 0 FROM deals WHERE date IS NOT NULL GROUP BY date
        UNION ALL SELECT first, 0, 0, 0, count(*) FROM spans GROUP BY first
        UNION ALL SELECT last + 1, 0, 0, 0, -count(*) FROM spans GROUP BY last
      ) GROUP BY day
    )`,
    `days AS (
      SELECT CAST(day AS DATE) AS day FROM (SELECT unnest(generate_series(min(first), greatest(max(last), (SELECT max(day) FROM counted WHERE published + deals > 0)), INTERVAL 1 DAY)) AS day FROM spans)
    )`,
    `judged AS (
      SELECT d.day, coalesce(stocks, 0) AS stocks, coalesce(published, 0) AS published, coalesce(deals, 0) AS deals,
        coalesce(sum(change) OVER (ORDER BY d.day), 0) AS listed,
        max(stocks) OVER (ORDER BY d.day RANGE BETWEEN 7 PRECEDING AND CURRENT ROW) AS fullest
      FROM days AS d LEFT JOIN counted AS c USING (day)
    )`,
    `kinds AS (
      SELECT *, CASE WHEN (stocks > 0 AND ${isMarketSession('stocks', 'greatest(listed, fullest)')}) OR published > 0 OR deals > 0 THEN if(isodow(day) > 5, 'special', 'open')
        WHEN stocks > 0 THEN 'partial' WHEN isodow(day) <= 5 THEN 'holiday' END AS kind FROM judged
    )`,
  ],
  from: 'FROM kinds WHERE kind IS NOT NULL',
})

/** Every symbol with its time, so that renamed and delisted stocks stay answerable. */
export const lifetimes = defineView({
  name: 'lifetimes',
  about:
    'each symbol that a stock has or had, with its first and last day as the folder shows them, one row each',
  needs: ['symbols', 'symbol_isins', 'candle_days', 'exchange_daily', 'listing_dates', 'master'],
  columns: [
    ...identity(dayColumn('day', 'day of the run', RUN_DAY)),
    stringColumn('name', 'name of the company in the master list'),
    wholeColumn('is_now', '1 if the master list has this symbol', 'CAST(is_now AS BIGINT)'),
    dayColumn('listed_on', "first day of trading in the exchange's list"),
    dayColumn(
      'first_day',
      'first day under this symbol: after the last one of the symbol before, else that of the first candle',
      'coalesce(lag(last_day) OVER w + 1, least(first_day, listed_on))',
    ),
    dayColumn(
      'last_day',
      'last day with a candle or in a file of the exchange; NULL while it is listed',
      'if(is_now, NULL, last_day)',
    ),
    dayColumn(
      'delisted_on',
      'the same, if the stock has left the master list altogether',
      'if(is_listed, NULL, last_day)',
    ),
    numberColumn('last_price_inr', 'its last close as stored, rupees', 'last_price'),
  ],
  with: [
    `seen AS (
      SELECT symbol, min(day) AS first_day, max(day) AS last_day, max_by(close, day) AS last_price
      FROM (SELECT symbol, day, close FROM candle_days UNION ALL SELECT symbol, day, close FROM ${ofOwner('exchange_daily', 'day')} WHERE ${MAY_BE_SHARE} AND split_part(symbol, '~', 1) IN (SELECT symbol FROM symbols))
      GROUP BY symbol
    )`,
    `named AS (
      SELECT ${presentIsin('y', 's')} AS isin, coalesce(owner, y.symbol) AS symbol FROM symbols AS y LEFT JOIN ${FORMER_OWNERS} AS o ON o.symbol = y.symbol AND o.isin = y.isin
        LEFT JOIN symbol_isins AS s ON s.symbol = coalesce(owner, y.symbol)
      UNION SELECT s.isin, symbol FROM seen LEFT JOIN symbol_isins AS s USING (symbol)
    )`,
    "listing AS (SELECT symbol AS listed, max(NULLIF(isin, '')) AS listed_isin, min(listed_on) AS listed_on FROM listing_dates GROUP BY symbol)",
    'listed AS (SELECT isin, min(symbol) AS symbol_now, min_by(name, symbol) AS name FROM master GROUP BY isin)',
    `lives AS (
      SELECT n.isin, symbol, l.name, coalesce(l.symbol_now = symbol, false) AS is_now, x.listed_on, first_day, last_day, last_price,
        l.isin IS NOT NULL OR symbol IN (SELECT symbol FROM master) AS is_listed
      FROM named AS n LEFT JOIN listed AS l USING (isin) LEFT JOIN seen USING (symbol) LEFT JOIN listing AS x
        ON listed = split_part(symbol, '~', 1) AND (${isSameIssuer('listed_isin', 'n.isin')} OR listed_isin IS NULL OR n.isin IS NULL)
    )`,
  ],
  from: 'FROM lives WINDOW w AS (PARTITION BY coalesce(isin, symbol) ORDER BY is_now, last_day, symbol)',
})
