import { runLimitedQuery } from '../analysis/limited-query.js'
import { RUN_DAY } from '../analysis/tables/view.js'
import type { ListTable } from './answers.js'
import { isUpToRun } from './documents.js'
import type { MarketFolder } from './folder.js'

/** A whole list of the market: one statement over the tables, and the columns of which one value can be chosen. */
interface WholeList {
  readonly title: string
  readonly about: string
  readonly facets: readonly string[]
  readonly sql: string
}

/** The names of stocks, for lists without them. */
const NAMED = 'LEFT JOIN (SELECT symbol, any_value(name) AS name FROM master GROUP BY symbol) AS m USING (symbol)'
/** The days of a list of documents. */
const DAYS = 7

/** The rows of the last week that has any, up to the day of the run: news that the provider dates ahead would hide the others. */
const newestWeek = (table: string, day: string, rows: string): string => `SELECT ${rows} FROM ${table} ${NAMED}
  WHERE ${isUpToRun(day)} AND ${day} > (SELECT max(${day}) FROM ${table} WHERE ${isUpToRun(day)}) - ${DAYS}`

const LISTS: Readonly<Record<string, WholeList>> = {
  stocks: {
    title: 'Stocks',
    about: 'every stock of the market, the most traded first',
    facets: ['sector', 'board', 'marks', 'watched', 'circuit', 'fno'],
    sql: `SELECT symbol, name, price_day, close_inr, change_pct, rvol AS volume_x, turnover_cr,
      100 * (close_inr - low_52w_inr) / nullif(high_52w_inr - low_52w_inr, 0) AS place_52w_pct, return_1m_pct AS month_pct,
      return_1y_pct AS year_pct, market_cap_cr, pe_ttm,
      sector, board, if(fno = 1, 'F&O', NULL) AS fno, CASE WHEN new_high_52w = 1 THEN '52-week high' WHEN new_low_52w = 1 THEN '52-week low' END AS marks,
      concat_ws(', ', asm_stage, gsm_stage) AS watched, band, circuit FROM screener ORDER BY turnover_cr DESC NULLS LAST, symbol`,
  },
  sectors: {
    title: 'Sectors',
    about: 'the stocks of each sector: how many rose and fell, and what they traded',
    facets: [],
    sql: `SELECT sector, count(*) AS stocks, median(change_pct) AS median_change_pct, count(*) FILTER (change_pct > 0) AS advances,
      count(*) FILTER (change_pct < 0) AS declines, count(*) FILTER (new_high_52w = 1) AS highs_52w, count(*) FILTER (new_low_52w = 1) AS lows_52w,
      100 * avg(CAST(from_sma_200_pct > 0 AS INTEGER)) AS above_200_pct, median(return_1m_pct) AS median_return_1m_pct, sum(turnover_cr) AS turnover_cr
      FROM screener GROUP BY sector ORDER BY turnover_cr DESC NULLS LAST`,
  },
  indices: {
    title: 'Indices',
    about: 'every index with candles, in points',
    facets: ['price_day'],
    sql: `SELECT name, symbol AS index, price_day, close_inr AS close, change_pct, return_1w_pct, return_1m_pct, return_3m_pct, return_1y_pct, from_high_52w_pct,
      from_low_52w_pct FROM index_prices ORDER BY name`,
  },
  circuits: {
    title: 'At their price limit',
    about: 'stocks at the upper or the lower limit of their price band',
    facets: ['side', 'band'],
    sql: `SELECT c.symbol, c.name, c.side, c.price, c.change_percent, b.band, c.volume FROM circuits AS c
      LEFT JOIN (SELECT symbol, any_value(band) AS band FROM bands GROUP BY symbol) AS b USING (symbol) ORDER BY c.side DESC, c.volume DESC NULLS LAST, c.symbol`,
  },
  surveillance: {
    title: 'Surveillance',
    about: 'stocks that the exchange watches: additional (ASM) and graded (GSM) measures',
    facets: ['list', 'stage'],
    sql: 'SELECT symbol, name, list, stage, isin FROM surveillance ORDER BY symbol, list',
  },
  bands: {
    title: 'Price bands',
    about: 'the price band of every stock',
    facets: ['band', 'series'],
    sql: 'SELECT symbol, name, series, band, remarks FROM bands ORDER BY symbol, series',
  },
  deals: {
    title: 'Bulk and block deals',
    about: 'the deals of the days that the provider lists, the newest and largest first',
    facets: ['day', 'kind', 'side', 'exchange'],
    sql: `SELECT d.symbol, m.name, d.day, d.kind, if(d.side = 'B', 'bought', 'sold') AS side, d.client, d.quantity, d.price_inr, d.value_cr, d.exchange
      FROM deals_valued AS d ${NAMED} ORDER BY d.day DESC, d.value_cr DESC NULLS LAST`,
  },
  filings: {
    title: 'Filings',
    about: 'the filings of the last seven days that have some, each document once, the newest first',
    facets: ['day', 'descriptor'],
    sql: `${newestWeek('filings_unique', 'day', 'symbol, name, day, filed_at, caption, descriptor, category, url')} ORDER BY filed_at DESC, symbol`,
  },
  news: {
    title: 'News',
    about: 'the news of the last seven days that have some, the newest first',
    facets: ['sentiment', 'source'],
    sql: `${newestWeek('news_unique', 'day', 'symbol, m.name, published_at, title, sentiment, source')} ORDER BY published_at DESC, symbol`,
  },
  announcements: {
    title: 'Announcements',
    about: 'the announcements of the last seven days that have some, the newest first',
    facets: ['kind'],
    sql: `${newestWeek('announcements', 'CAST(announced_at AS DATE)', 'symbol, m.name, announced_at, kind, event')} ORDER BY announced_at DESC, symbol`,
  },
  actions: {
    title: 'Corporate actions to come',
    about: 'dividends, splits, bonuses and others with an ex-date from the day of the run on, the next first',
    facets: ['action', 'ex_date'],
    sql: `SELECT DISTINCT symbol, m.name, ex_date, lower(action) AS action, amount, note, record_date FROM corporate_actions ${NAMED}
      WHERE ex_date >= coalesce(${RUN_DAY}, DATE '1900-01-01') ORDER BY ex_date, symbol`,
  },
  results: {
    title: 'Results',
    about:
      'the newest quarter of every stock, those with results in the last days first; growth in percent against the year and the quarter before',
    facets: ['sector', 'quarter'],
    sql: `SELECT symbol, name, CAST(results_at AS DATE) AS results_day, results_quarter, quarter, sales_q0_cr, sales_yoy_pct, sales_qoq_pct, net_profit_q0_cr,
      net_profit_yoy_pct, net_profit_qoq_pct, eps_q0_inr, return_since_results_pct, sector FROM screener
      WHERE results_at IS NOT NULL OR quarter IS NOT NULL ORDER BY results_at DESC NULLS LAST, symbol`,
  },
}

/** The names of the lists. */
export const LIST_NAMES = Object.keys(LISTS)

const MAX_ROWS = 20_000
const TIME_LIMIT_MS = 60_000

/**
 * Reads a whole list, as it stood on the day of the folder; undefined for an unknown name.
 * @throws UsageError if no record answers for the day, or the tables cannot be read
 */
export const readWholeList = async ({ root, streams, day }: MarketFolder, name: string): Promise<ListTable | undefined> => {
  const list = Object.hasOwn(LISTS, name) ? LISTS[name] : undefined
  if (list === undefined) return undefined
  const { sql, ...facts } = list
  const request = { sql, root, streams, asOf: day }
  const limits = { rows: MAX_ROWS, timeMs: TIME_LIMIT_MS }
  const { columns, rows, isCut, usedDay, warnings } = await runLimitedQuery(request, limits, new AbortController().signal)
  return {
    ...{ ...facts, sql, rows, isCut },
    columns: columns.map(({ name: column, isNumber }) => ({ name: column, isNumber })),
    ...(usedDay === undefined ? {} : { usedDay }),
    ...(warnings === undefined ? {} : { warnings }),
  }
}
