import { listTables } from '../engine/define-stream.js'
import { omitUndefined } from '../model/row.js'
import { quoteText } from '../storage/duckdb.js'
import { type LimitedResult, runLimitedQuery } from '../tables/limited-query.js'
import { selectBreadth } from '../tables/views/breadth.js'
import { selectScoreboard } from '../tables/views/screener/session.js'
import type { ListTable } from './answers.js'
import type { MarketFolder } from './folder.js'
import { describeAbout, findMissingFile, readRunFacts } from './freshness.js'
import { selectHappened } from './happened.js'
import { EVENT_STREAMS } from './stock.js'
import { readIndices, readSid } from './stocks.js'
import { FOLDER_DAY, isOfUniverse, isUpToRun, NEW_RESULTS, readUndamaged, STOCK_NAMES } from './tables.js'

/** A whole list: one statement over the tables, and the columns of which one value can be chosen. */
interface ListDefinition {
  readonly title: string
  readonly about: string
  readonly facets?: readonly string[]
  /** The streams that it is made of. */
  readonly streams: readonly string[]
  readonly sql: string
}

const item = (name: string, column = 'value'): string => `max(${column}) FILTER (item = '${name}')`

/** What is known of one stock, `{own}` being the condition of its rows. */
const STOCK_LISTS: Readonly<Record<string, ListDefinition>> = {
  quarters: {
    title: 'Quarters',
    streams: ['fundamental-data'],
    about: 'Results by quarter against the year and the quarter before',
    sql: `SELECT quarter, day, sales_cr, sales_yoy_pct, sales_qoq_pct, net_profit_cr, net_profit_yoy_pct, net_profit_qoq_pct, ebitda_cr, opm_pct, eps_inr, basis
      FROM (SELECT * FROM quarters WHERE {own} QUALIFY basis = min(basis) OVER ()) ORDER BY place`,
  },
  years: {
    title: 'Years',
    about: 'Results and balance sheet by year',
    streams: ['fundamental-data'],
    sql: `SELECT year, y.day, sales_cr, sales_yoy_pct, net_profit_cr, net_profit_yoy_pct, opm_pct, eps_inr,
      total_assets_cr, total_equity_cr, basis FROM (
        SELECT basis, place, year, day, ${item('sales')} AS sales_cr, ${item('sales', 'yoy_pct')} AS sales_yoy_pct, ${item('net_profit')} AS net_profit_cr,
          ${item('net_profit', 'yoy_pct')} AS net_profit_yoy_pct, ${item('opm')} AS opm_pct, ${item('eps')} AS eps_inr
        FROM years WHERE {own} GROUP BY basis, place, year, day QUALIFY basis = min(basis) OVER ()
      ) AS y LEFT JOIN (
        SELECT basis, day, ${item('total_assets')} AS total_assets_cr, ${item('total_equity')} AS total_equity_cr FROM balance_sheet WHERE {own} GROUP BY basis, day
      ) AS b USING (basis, day) ORDER BY place`,
  },
  holders: {
    title: 'Shareholding',
    about: 'Who held the shares by quarter, percent',
    streams: ['fundamental-data'],
    sql: `SELECT day AS quarter_to, promoter_pct, promoter_change_1q_pct, fii_pct, fii_change_1q_pct, dii_pct, public_pct FROM shareholding WHERE {own} ORDER BY place`,
  },
  documents: {
    title: 'Documents',
    facets: ['kind'],
    streams: ['company-filings', 'new-announcements', 'market-news', 'corporate-actions'],
    about: 'Filings, announcements, news, deals and corporate actions, each once, the newest first',
    sql: `SELECT day, strftime(happened_at, '%H:%M') AS time, kind, title, url, detail FROM events
      WHERE {own} ORDER BY day DESC, happened_at DESC`,
  },
  deals: {
    title: 'Bulk and block deals',
    facets: ['side'],
    streams: ['bulk-block-deals'],
    about: 'The deals that the provider lists, the newest first',
    sql: `SELECT day, kind, if(side = 'B', 'bought', 'sold') AS side, client, quantity, price_inr, value_cr, exchange FROM deals_valued
      WHERE {own} ORDER BY day DESC, value_cr DESC NULLS LAST`,
  },
  peers: {
    title: 'Peers',
    streams: ['fundamental-data', 'all-ohlcv'],
    about: 'The stocks of the same industry, the largest first',
    sql: `SELECT symbol, name, close_inr, change_pct, return_1m_pct, return_1y_pct, market_cap_cr, pe_ttm, roe_pct, sales_yoy_pct, net_profit_yoy_pct
      FROM screener WHERE coalesce(industry, sector) = (SELECT any_value(coalesce(industry, sector)) FROM screener WHERE {own})
      ORDER BY market_cap_cr DESC NULLS LAST, symbol`,
  },
}

/** A list of one stock by `NAME/SYMBOL`; undefined for an unknown one. */
const findListOfStock = (name: string): ListDefinition | undefined => {
  const [, kind = '', symbol = ''] = /^(\w+)\/(.+)$/.exec(name) ?? []
  const list = Object.hasOwn(STOCK_LISTS, kind) ? STOCK_LISTS[kind] : undefined
  return (
    list && {
      ...list,
      sql: list.sql.replaceAll(
        '{own}',
        `isin = (SELECT any_value(isin) FROM master WHERE symbol = ${quoteText(symbol)})`,
      ),
    }
  )
}

const NAMED = `LEFT JOIN ${STOCK_NAMES} AS m USING (symbol)`
const DOCUMENT_DAYS = 7

/** The rows of the last days that have any, up to the day of the run. */
const selectNewest = (
  days: number,
  table: string,
  { day, rows }: { readonly day: string; readonly rows: string },
): string => `SELECT ${rows} FROM ${table} ${NAMED}
  WHERE ${isUpToRun(day)} AND ${day} > (SELECT max(${day}) FROM ${table} WHERE ${isUpToRun(day)}) - ${days}`

/** Where a statement selects what happened since the last close before the run. */
const HAPPENED = '/* happened */'

/** Where a statement is narrowed to a universe. */
const UNIVERSE_PLACE = 'true /* universe */'

/** The indices of each stock, where an optional stream collects them. */
const MEMBERS = `(SELECT isin, string_agg(DISTINCT "index", ' · ' ORDER BY "index") AS indices FROM index_members GROUP BY isin)`
const NO_MEMBERS = '(SELECT isin, CAST(NULL AS VARCHAR) AS indices FROM master WHERE false)'

const MARKET_LISTS: Readonly<Record<string, ListDefinition>> = {
  stocks: {
    title: 'Stocks',
    facets: ['universe', 'tags', 'sector', 'board'],
    streams: ['all-ohlcv', ...Object.keys(EVENT_STREAMS)],
    about: 'Every stock of the market, the most traded first',
    sql: `SELECT symbol, name, close_inr, change_pct, rvol, turnover_cr, place_52w_pct, tags, why, sector, return_1m_pct,
      return_1y_pct, market_cap_cr, pe_ttm, price_day, board, nullif(concat_ws(' · ', if(fno = 1, 'F&O', NULL), indices), '') AS universe, coalesce(asm_stage, gsm_stage) AS stage, band
      FROM screener LEFT JOIN ${MEMBERS} AS i USING (isin) ORDER BY turnover_cr DESC NULLS LAST, symbol`,
  },
  sectors: {
    title: 'Sectors',
    streams: ['all-ohlcv'],
    about:
      'The stocks of each sector that traded in the newest session: how many rose and fell, and their turnover',
    sql: `SELECT sector, '/market?is.sector=' || url_encode(sector) AS path, stocks, advances, declines, unchanged, change_pct, median_change_pct, above_sma20_pct, above_sma50_pct,
      above_sma200_pct, new_highs, new_lows, turnover_cr, median_return_1m_pct FROM (${selectBreadth('sector', `screener WHERE ${UNIVERSE_PLACE}`)})
      ORDER BY turnover_cr DESC NULLS LAST`,
  },
  indices: {
    title: 'Indices',
    facets: ['price_day'],
    streams: ['indices-ohlcv'],
    about: 'Every index with candles, in points',
    sql: `SELECT name, sid AS path, symbol AS index, price_day, close_inr AS close, change_pct, return_1w_pct, return_1m_pct, return_3m_pct, return_1y_pct, from_high_52w_pct,
      from_low_52w_pct FROM index_prices ORDER BY name`,
  },
  circuits: {
    title: 'At their price limit',
    facets: ['side', 'band'],
    streams: ['circuit-stocks'],
    about: 'Stocks at the upper or the lower limit of their price band',
    sql: `SELECT c.symbol, c.name, c.side, c.price, c.change_percent, s.band, c.volume FROM circuits AS c
      LEFT JOIN screener AS s USING (symbol) ORDER BY c.side DESC, c.volume DESC NULLS LAST, c.symbol`,
  },
  surveillance: {
    title: 'Surveillance',
    facets: ['list', 'stage'],
    streams: ['surveillance-lists'],
    about: 'Stocks that the exchange watches: additional (ASM) and graded (GSM) measures',
    sql: 'SELECT symbol, name, list, stage, isin FROM surveillance ORDER BY symbol, list',
  },
  bands: {
    title: 'Price bands',
    facets: ['band', 'series'],
    streams: ['complete-price-bands'],
    about: 'The price band of every stock',
    sql: 'SELECT symbol, name, series, band, remarks FROM bands ORDER BY symbol, series',
  },
  deals: {
    title: 'Bulk and block deals',
    facets: ['day', 'kind', 'side', 'exchange'],
    streams: ['bulk-block-deals'],
    about: 'The deals of the days that the provider lists, the newest and largest first',
    sql: `SELECT d.symbol, m.name, d.day, d.kind, if(d.side = 'B', 'bought', 'sold') AS side, d.client, d.quantity, d.price_inr, d.value_cr, d.exchange
      FROM deals_valued AS d ${NAMED} ORDER BY d.day DESC, d.value_cr DESC NULLS LAST`,
  },
  netted: {
    title: 'Who sold to whom',
    facets: ['day'],
    streams: ['bulk-block-deals', 'all-ohlcv'],
    about:
      'Bulk and block deals by stock and day, netted by client, in ₹ crore: the newest and largest first; with the deals of the largest client in 30 days',
    sql: `SELECT symbol, m.name, day, sellers, buyers, value_cr, volume_pct, client, client_deals_30d, client_net_30d_cr, flat_clients
      FROM deals_netted ${NAMED} WHERE ${isUpToRun('day')} ORDER BY day DESC, value_cr DESC NULLS LAST, symbol`,
  },
  scoreboard: {
    title: 'Results by sector',
    streams: ['company-filings', 'fundamental-data', 'corporate-actions'],
    about:
      'How many stocks of each sector reported in the last days and are due within seven, how many of those with figures grew, and the median return of the first session after',
    sql: `SELECT * FROM (${selectScoreboard('screener', 'sector, ')}) WHERE reported + due > 0 ORDER BY reported DESC, due DESC, sector`,
  },
  happened: {
    title: 'Since the last close',
    facets: ['kind'],
    streams: Object.keys(EVENT_STREAMS),
    about:
      'What happened from the end of the last session to the run, each document once: results, orders, deals, surveillance and ratings first',
    sql: `WITH ${HAPPENED} SELECT symbol, m.name, kind, day, happened_at, title, detail, value, unit, url FROM happened ${NAMED} ORDER BY rank, happened_at DESC NULLS LAST, symbol`,
  },
  filings: {
    title: 'Filings',
    facets: ['day', 'descriptor'],
    streams: ['company-filings'],
    about: 'The filings of the last seven days that have some, each document once, the newest first',
    sql: `${selectNewest(DOCUMENT_DAYS, 'filings_unique', { day: 'day', rows: 'symbol, name, day, filed_at, caption, descriptor, category, url' })} ORDER BY filed_at DESC, symbol`,
  },
  news: {
    title: 'News',
    facets: ['sentiment', 'source'],
    streams: ['market-news'],
    about: 'The news of the newest day, the newest first',
    sql: `${selectNewest(1, 'news_unique', { day: 'day', rows: 'symbol, m.name, published_at, title, lower(sentiment) AS sentiment, source' })} ORDER BY published_at DESC, symbol`,
  },
  announcements: {
    title: 'Announcements',
    facets: ['day', 'kind'],
    streams: ['new-announcements'],
    about: 'The announcements of the last seven days that have some, the newest first',
    sql: `${selectNewest(DOCUMENT_DAYS, 'announcements', { day: 'CAST(announced_at AS DATE)', rows: 'symbol, m.name, CAST(announced_at AS DATE) AS day, announced_at, kind, event' })} ORDER BY announced_at DESC, symbol`,
  },
  actions: {
    title: 'Corporate actions to come',
    facets: ['action', 'ex_date'],
    streams: ['corporate-actions'],
    about: 'Dividends, splits, bonuses and others with an ex-date from the day of the run on, the next first',
    sql: `SELECT symbol, m.name, a.day AS ex_date, lower(action) AS action, amount_inr, terms AS note, record_date FROM actions_unique AS a JOIN ${STOCK_NAMES} AS m USING (symbol)
      WHERE a.day >= ${FOLDER_DAY} ORDER BY ex_date, symbol`,
  },
  results: {
    title: 'Results',
    facets: ['results_day', 'results_quarter', 'sector'],
    streams: ['company-filings'],
    about:
      'Results of the last days, the newest first, with the growth against the year and the quarter before; without figures while the provider still has the quarter before',
    sql: `SELECT symbol, name, results_day, results_quarter, sales_cr, sales_yoy_pct, sales_qoq_pct, net_profit_cr, net_profit_yoy_pct, net_profit_qoq_pct,
      results_day_return_pct, sector FROM ${NEW_RESULTS} ORDER BY results_at DESC, symbol`,
  },
  quarters: {
    title: 'Newest quarters',
    facets: ['quarter', 'sector'],
    streams: ['fundamental-data'],
    about:
      'The newest quarter that is known of every stock, with the growth against the year and the quarter before',
    sql: `SELECT symbol, name, quarter, sales_q0_cr AS sales_cr, sales_yoy_pct, sales_qoq_pct, net_profit_q0_cr AS net_profit_cr,
      net_profit_yoy_pct, net_profit_qoq_pct, eps_q0_inr AS eps_inr, sector FROM screener WHERE quarter IS NOT NULL ORDER BY sales_q0_cr DESC NULLS LAST, symbol`,
  },
}

export const LIST_NAMES = Object.keys(MARKET_LISTS)

const MAX_LIST_ROWS = 20_000
const LIST_TIME_MS = 60_000

/**
 * Reads a whole list, one of a universe (`sectors/F&O`), or one of a stock (`quarters/TCS`), as it stood on
 * the day of the folder; undefined for an unknown name. What it lacks is its problem.
 * @throws UsageError if no record answers for the day
 */
export const readWholeList = async (folder: MarketFolder, name: string): Promise<ListTable | undefined> => {
  const [, base = name, universe = ''] = /^(sectors)\/(.+)$/s.exec(name) ?? []
  const list = Object.hasOwn(MARKET_LISTS, base) ? MARKET_LISTS[base] : findListOfStock(name)
  if (list === undefined) return undefined
  const { root, streams, day } = folder
  const { sql: whole, streams: own, facets = [], ...about } = list
  const facts = await readRunFacts(folder)
  const raw = whole
    .replace(UNIVERSE_PLACE, () => isOfUniverse(universe))
    .replace(HAPPENED, () => selectHappened(facts).join(', '))
  const sql = listTables(streams).some(({ name: table }) => table === 'index_spells')
    ? raw
    : raw.replace(MEMBERS, NO_MEMBERS)
  const limits = { rows: MAX_LIST_ROWS, timeMs: LIST_TIME_MS }
  const read = (without: ReadonlySet<string>) =>
    runLimitedQuery({ sql, root, streams, asOf: day, without }, limits, new AbortController().signal)
  const { answer, damage, problem } = await readUndamaged({ root, tables: listTables(streams) }, read, {
    columns: [],
    rows: [],
    isCut: false,
  })
  const { columns, rows, isCut, usedDay, warnings = [] } = answer
  const lacks = own.flatMap((stream) => {
    const missing = findMissingFile(folder, stream)
    const { problem: told } = describeAbout(facts, stream, {
      isMissing: missing !== undefined,
      damage: problem,
    })
    return told ?? (missing === undefined ? [] : [`${missing} is missing`])
  })
  return omitUndefined({
    ...about,
    facets,
    sql,
    isCut,
    rows: name === 'indices' ? await addPaths(folder, answer) : rows,
    columns,
    usedDay,
    warnings: [...new Set([...lacks, ...damage.values(), ...warnings])],
  })
}

/** The address of each index, which ends in the name of its file. */
const addPaths = async (
  folder: MarketFolder,
  { columns, rows }: LimitedResult,
): Promise<ListTable['rows']> => {
  const keys = new Map((await readIndices(folder)).rows.map((item) => [readSid(item), item.fileName]))
  const place = columns.findIndex(({ name }) => name === 'path')
  return rows.map((row) => {
    const key = keys.get(row[place] ?? '')
    return row.map((cell, at) =>
      at === place ? (key === undefined ? null : `/index/${encodeURIComponent(key)}`) : cell,
    )
  })
}
