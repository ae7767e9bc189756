import { quoteText } from '../storage/duckdb.js'

/** A whole list: one statement over the tables, and the columns of which one value can be chosen. */
export interface ListDefinition {
  readonly title: string
  readonly about: string
  readonly facets: readonly string[]
  /** The streams that it is made of. */
  readonly streams: readonly string[]
  readonly sql: string
}

/** Against the row after, which is the period before; NULL after a loss. */
const growthOfRow = (column: string): string =>
  `100 * (${column} / if(lead(${column}) OVER (ORDER BY place) > 0, lead(${column}) OVER (ORDER BY place), NULL) - 1)`
const item = (name: string): string => `max(value) FILTER (item = '${name}')`

/** What is known of one stock, `{own}` being the condition of its rows. */
const STOCK_LISTS: Readonly<Record<string, ListDefinition>> = {
  quarters: {
    ...{
      title: 'Quarters',
      about: 'Results by quarter against the year and the quarter before',
      facets: [],
      streams: ['fundamental-data'],
    },
    sql: `SELECT quarter, day, sales_cr, sales_yoy_pct, ${growthOfRow('sales_cr')} AS sales_qoq_pct, net_profit_cr, net_profit_yoy_pct,
      ${growthOfRow('net_profit_cr')} AS net_profit_qoq_pct, ebitda_cr, opm_pct, eps_inr, basis
      FROM (SELECT * FROM quarters WHERE {own} QUALIFY basis = min(basis) OVER ()) ORDER BY place`,
  },
  years: {
    ...{ title: 'Years', about: 'Results and balance sheet by year', facets: [], streams: ['fundamental-data'] },
    sql: `SELECT year, y.day, sales_cr, ${growthOfRow('sales_cr')} AS sales_yoy_pct, net_profit_cr, ${growthOfRow('net_profit_cr')} AS net_profit_yoy_pct, opm_pct, eps_inr,
      total_assets_cr, total_equity_cr, basis FROM (
        SELECT basis, place, year, day, ${item('sales')} AS sales_cr, ${item('net_profit')} AS net_profit_cr, ${item('opm')} AS opm_pct, ${item('eps')} AS eps_inr
        FROM years WHERE {own} GROUP BY basis, place, year, day QUALIFY basis = min(basis) OVER ()
      ) AS y LEFT JOIN (
        SELECT basis, day, ${item('total_assets')} AS total_assets_cr, ${item('total_equity')} AS total_equity_cr FROM balance_sheet WHERE {own} GROUP BY basis, day
      ) AS b USING (basis, day) ORDER BY place`,
  },
  holders: {
    ...{ title: 'Shareholding', about: 'Who held the shares by quarter, percent', facets: [], streams: ['fundamental-data'] },
    sql: `SELECT day AS quarter_to, promoter_pct, promoter_pct - lead(promoter_pct) OVER (ORDER BY place) AS promoter_change_pp, fii_pct AS foreign_institutions_pct,
      fii_pct - lead(fii_pct) OVER (ORDER BY place) AS foreign_change_pp, dii_pct AS domestic_institutions_pct, public_pct FROM shareholding WHERE {own} ORDER BY place`,
  },
  documents: {
    title: 'Documents',
    about: 'Filings, announcements, news, deals and corporate actions, each once, the newest first',
    facets: ['kind'],
    streams: ['company-filings', 'new-announcements', 'market-news', 'corporate-actions'],
    sql: `SELECT day, strftime(happened_at, '%H:%M') AS time, kind, title, url, detail FROM events
      WHERE {own} ORDER BY day DESC, happened_at DESC`,
  },
  deals: {
    ...{
      title: 'Bulk and block deals',
      about: 'The deals that the provider lists, the newest first',
      facets: ['side'],
      streams: ['bulk-block-deals'],
    },
    sql: `SELECT day, kind, if(side = 'B', 'bought', 'sold') AS side, client, quantity, price_inr, value_cr, exchange FROM deals_valued
      WHERE {own} ORDER BY day DESC, value_cr DESC NULLS LAST`,
  },
  peers: {
    ...{
      title: 'Peers',
      about: 'The stocks of the same industry, the largest first',
      facets: [],
      streams: ['fundamental-data', 'all-ohlcv'],
    },
    sql: `SELECT symbol, name, close_inr, change_pct, return_1m_pct AS month_pct, return_1y_pct AS year_pct, market_cap_cr, pe_ttm, roe_pct, sales_yoy_pct, net_profit_yoy_pct
      FROM screener WHERE coalesce(industry, sector) = (SELECT any_value(coalesce(industry, sector)) FROM screener WHERE {own})
      ORDER BY market_cap_cr DESC NULLS LAST, symbol`,
  },
}

/** A list of one stock by `NAME/SYMBOL`; undefined for an unknown one. */
export const findListOfStock = (name: string): ListDefinition | undefined => {
  const [, kind = '', symbol = ''] = /^(\w+)\/(.+)$/.exec(name) ?? []
  const list = Object.hasOwn(STOCK_LISTS, kind) ? STOCK_LISTS[kind] : undefined
  return (
    list && {
      ...list,
      sql: list.sql.replaceAll('{own}', `isin = (SELECT any_value(isin) FROM master WHERE symbol = ${quoteText(symbol)})`),
    }
  )
}
