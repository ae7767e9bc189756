import { omitUndefined, readText } from '../model/row.js'
import { quoteText } from '../storage/duckdb.js'
import type { Holding, PriceFacts, Quarter, StockEvent, StockFacts } from './answers.js'
import type { DataSource } from './folder.js'
import { listOf, readAnswer, rowOf, type StatementAnswers } from './tables.js'

export interface StockTables {
  readonly facts: Omit<StockFacts, 'problems' | 'surveillance' | 'bandChange'> & {
    readonly price: Omit<PriceFacts, 'about'>
    readonly asm?: string
    readonly gsm?: string
  }
  readonly events: readonly EventRow[]
  readonly deals: readonly StockDeal[]
  /** Consolidated ones, or standalone ones if there are no others; newest first. */
  readonly quarters: readonly (Quarter & { readonly basis: 'consolidated' | 'standalone' })[]
  readonly shareholding: readonly Holding[]
  /** Whether the table of a stream has rows. */
  readonly filled: Readonly<Record<string, boolean>>
}

interface EventRow {
  readonly day: string
  readonly time?: string
  readonly kind: string
  readonly title: string
  readonly detail?: string
  readonly value?: number
  readonly unit?: string
  readonly url?: string
  readonly summary?: string
}

interface StockDeal {
  readonly day: string
  readonly client: string
  readonly side: string
  readonly kind: string
  readonly quantity: number
  readonly price: number
  readonly value: number
}

/** The streams whose tables are shown beside the prices, and these tables. */
export const EVENT_STREAMS = {
  ...{ 'company-filings': 'filings', 'market-news': 'news', 'corporate-actions': 'corporate_actions' },
  ...{ 'bulk-block-deals': 'deals', 'new-announcements': 'announcements' },
} as const
export const LIST_STREAMS = {
  ...{ 'surveillance-lists': 'surveillance', 'complete-price-bands': 'bands' },
  ...{ 'circuit-stocks': 'circuits', 'listing-dates': 'listing_dates' },
} as const

/** The columns of the views `screener` and `index_prices` that a price line has. */
export const PRICE_LINE = `{ day: price_day, close: close_inr, changePct: change_pct, volume: volume, volumeTimes: rvol, high52: high_52w_inr, low52: low_52w_inr,
  returns: { '1W': return_1w_pct, '1M': return_1m_pct, '3M': return_3m_pct, '6M': return_6m_pct, '1Y': return_1y_pct } } AS price`

/** Reads what the tables say about a stock; its own files only. */
export const readStockTables = (
  source: DataSource,
  { symbol, isin }: { readonly symbol: string; readonly isin: string },
): Promise<StatementAnswers<StockTables>> => {
  const own = `WHERE isin = ${quoteText(isin)}`
  const filled = Object.entries({ ...EVENT_STREAMS, ...LIST_STREAMS }).map(([stream, table]) => `EXISTS (FROM ${table}) AS "${stream}"`)
  return readAnswer<StockTables>(
    source,
    {
      facts:
        rowOf(`SELECT ${PRICE_LINE}, sector, industry, series, listed_on AS "listedOn", face_value_inr AS "faceValue", fno = 1 AS "hasDerivatives",
        market_cap_cr AS "marketCapCr", pe_ttm AS "peTtm", pe, roe_pct AS "roePct", roce_pct AS "rocePct", dividend_yield_pct AS "dividendYieldPct", band,
        asm_stage AS asm, gsm_stage AS gsm, circuit,
        (SELECT any_value({ price: price, changePct: change_percent }) FROM circuits WHERE symbol = ${quoteText(symbol)} AND side = circuit) AS "atLimit"
        FROM screener ${own} AND symbol = ${quoteText(symbol)}`),
      events: listOf(
        `SELECT day, strftime(happened_at, '%H:%M') AS time, kind, title, detail, value, unit, url, summary FROM events ${own} AND kind <> 'deal'`,
        'r.day DESC, r.time DESC',
      ),
      deals: listOf(
        `SELECT day, client, side, kind, quantity, price_inr AS price, net_value_cr AS value FROM deals_valued ${own}`,
        'r.day DESC',
      ),
      quarters: listOf(
        `SELECT basis, place, quarter, day, sales_cr AS "salesCr", net_profit_cr AS "profitCr", opm_pct AS "marginPct", eps_inr AS eps, sales_yoy_pct AS "salesGrowthPct",
          net_profit_yoy_pct AS "profitGrowthPct" FROM quarters ${own} QUALIFY basis = min(basis) OVER ()`,
        'r.place',
      ),
      shareholding: listOf(
        `SELECT place, day, promoter_pct AS "promoterPct", fii_pct AS "fiiPct", dii_pct AS "diiPct", public_pct AS "publicPct" FROM shareholding ${own}`,
        'r.place',
      ),
      filled: rowOf(`SELECT ${filled.join(', ')}`),
    },
    { symbol },
  )
}

/** The events of the page, newest first: corporate actions may lie ahead. */
export const toStockEvents = ({ events = [], deals = [] }: Partial<StockTables>): readonly StockEvent[] => {
  const all = [...events.flatMap(toStockEvent), ...deals.map(toDeal)]
  const keyOf = ({ day, time = '' }: StockEvent): string => `${day} ${time}`
  return all.toSorted((one, other) => (keyOf(one) < keyOf(other) ? 1 : keyOf(one) > keyOf(other) ? -1 : 0))
}

const toStockEvent = ({ day, time, kind, title, detail, value, unit, url, summary }: EventRow): readonly StockEvent[] => {
  const event = { day, time, title, detail }
  switch (kind) {
    case 'filing':
      return [omitUndefined({ ...event, kind, mark: 'F', detail: detail === title ? undefined : detail, url: toLink(url) } as const)]
    case 'news':
      return [omitUndefined({ ...event, kind, mark: 'N', detail: summary || undefined, sentiment: detail?.toLowerCase() } as const)]
    case 'announcement':
      return [omitUndefined({ ...event, kind, mark: 'A' } as const)]
    case 'corporate action': {
      const mark = /dividend/.test(title) ? 'D' : /split|bonus|right/.test(title) ? 'S' : 'A'
      const terms = unit === 'rupees a share' ? `₹ ${value} a share` : detail === 'NA' ? undefined : detail
      return [omitUndefined({ day, kind: 'action', mark, title: title.slice(0, 1).toUpperCase() + title.slice(1), detail: terms } as const)]
    }
    default:
      return []
  }
}

/** Only addresses of the web; a text of the provider must not become a script. */
export const toLink = (url: unknown): string | undefined => (/^https?:\/\//i.test(readText(url)) ? readText(url) : undefined)

const toDeal = ({ day, client, side, kind, quantity, price, value }: StockDeal): StockEvent => {
  const terms = `${quantity.toLocaleString('en-IN')} at ₹ ${price.toLocaleString('en-IN', { minimumFractionDigits: 2 })}`
  return {
    ...({ day, kind: 'deal', mark: 'B', detail: `${kind.toLowerCase()} deal`, valueCr: value } as const),
    title: `${client} ${side === 'S' ? 'sold' : 'bought'} ${terms}`,
  }
}

/** `from 10 % to no band`: the change of the price band on the day of the run. */
export const findBandChange = ({ events = [] }: Partial<StockTables>): string | undefined =>
  events
    .find(({ kind }) => kind === 'price band')
    ?.title.toLowerCase()
    .replace(/[\d.]+/g, '$& %')
