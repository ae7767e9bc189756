import { formatNumber, formatPrice } from '../model/format.js'
import { omitUndefined, readText } from '../model/row.js'
import { quoteText } from '../storage/duckdb.js'
import { compareWithBaseline, readBaseline } from '../verify/life-of-findings.js'
import { checkSeries } from '../verify/series-checks.js'
import type {
  About,
  CandlesAnswer,
  Holding,
  IndexAnswer,
  PriceFacts,
  Quarter,
  StockAnswer,
  StockEvent,
  StockFacts,
  StockFindings,
} from './answers.js'
import {
  averagesOf,
  type ChartWishes,
  type Factors,
  readShownCandles,
  type ShownCandles,
  toCandlesAnswer,
} from './candles.js'
import { type DataSource, type MarketFolder, tellUnreadable } from './folder.js'
import { describeAbout, readRunFacts } from './freshness.js'
import { nameIndex, readActionLists, readIndices, readSid, readStockNames } from './stocks.js'
import { listOf, readAnswer, rowOf } from './tables.js'

interface FactsRow extends Omit<StockFacts, 'problems'> {
  readonly price: Omit<PriceFacts, 'about'>
}

interface EventRow extends StockEvent {
  readonly value?: number
  readonly unit?: string
}

interface StockDeal extends StockEvent {
  readonly quantity: number
  readonly price: number
}

/** The streams whose tables are shown beside the prices, and these tables. */
export const EVENT_STREAMS = {
  'company-filings': 'filings',
  'market-news': 'news',
  'corporate-actions': 'corporate_actions',
  'bulk-block-deals': 'deals',
  'new-announcements': 'announcements',
} as const
const LIST_STREAMS = {
  'surveillance-lists': 'surveillance',
  'complete-price-bands': 'bands',
  'circuit-stocks': 'circuits',
  'listing-dates': 'listing_dates',
} as const

/** The columns of the views `screener` and `index_prices` that a price line has. */
const PRICE_LINE = `{ day: price_day, close: close_inr, changePct: change_pct, volume: volume, volumeTimes: rvol, high52: high_52w_inr, low52: low_52w_inr, place52Pct: place_52w_pct,
  returns: { '1W': return_1w_pct, '1M': return_1m_pct, '3M': return_3m_pct, '6M': return_6m_pct, '1Y': return_1y_pct } } AS price`

const EVENT_MARK = `CASE kind WHEN 'filing' THEN 'F' WHEN 'news' THEN 'N' WHEN 'announcement' THEN 'A'
  ELSE CASE WHEN title LIKE '%dividend%' THEN 'D' WHEN regexp_matches(title, 'split|bonus|right') THEN 'S' ELSE 'A' END END`

/**
 * Reads what the tables say about a stock; its own files only. `filled`: whether the table of a stream has
 * rows.
 */
const readStockTables = (
  source: DataSource,
  { symbol, isin }: { readonly symbol: string; readonly isin: string },
) => {
  const own = `WHERE isin = ${quoteText(isin)}`
  const filled = Object.entries({ ...EVENT_STREAMS, ...LIST_STREAMS }).map(
    ([stream, table]) => `EXISTS (FROM ${table}) AS "${stream}"`,
  )
  return readAnswer(
    source,
    {
      facts:
        rowOf<FactsRow>(`SELECT ${PRICE_LINE}, sector, industry, series, listed_on AS "listedOn", face_value_inr AS "faceValue", fno = 1 AS "hasDerivatives",
        market_cap_cr AS "marketCapCr", pe_ttm AS "peTtm", pe, roe_pct AS "roePct", roce_pct AS "rocePct", dividend_yield_pct AS "dividendYieldPct", band,
        list_filter(['ASM: ' || asm_stage, 'GSM: ' || gsm_stage], lambda stage: stage IS NOT NULL) AS surveillance, circuit,
        (SELECT any_value(title) FROM events ${own} AND kind = 'price band') AS "bandChange",
        (SELECT any_value({ price: price, changePct: change_percent }) FROM circuits WHERE symbol = ${quoteText(symbol)} AND side = circuit) AS "atLimit"
        FROM screener ${own} AND symbol = ${quoteText(symbol)}`),
      events: listOf<EventRow>(
        `SELECT day, strftime(happened_at, '%H:%M') AS time, if(kind = 'corporate action', 'action', kind) AS kind, ${EVENT_MARK} AS mark,
          if(kind = 'corporate action', upper(title[1]) || title[2:], title) AS title,
          if(kind = 'news', nullif(summary, ''), nullif(nullif(detail, 'NA'), title)) AS detail, if(kind = 'news', lower(detail), NULL) AS sentiment,
          value, unit, url FROM events ${own} AND kind NOT IN ('deal', 'price band')`,
        'r.day DESC, r.time DESC',
      ),
      deals: listOf<StockDeal>(
        `SELECT day, 'deal' AS kind, 'B' AS mark, lower(kind) || ' deal' AS detail, net_value_cr AS "valueCr", client || if(side = 'S', ' sold', ' bought') AS title,
          quantity, price_inr AS price FROM deals_valued ${own}`,
        'r.day DESC',
      ),
      // Consolidated ones, or standalone ones if there are no others; newest first.
      quarters: listOf<Quarter & { readonly basis: 'consolidated' | 'standalone' }>(
        `SELECT basis, place, quarter, day, sales_cr AS "salesCr", net_profit_cr AS "profitCr", opm_pct AS "marginPct", eps_inr AS eps, sales_yoy_pct AS "salesGrowthPct",
          net_profit_yoy_pct AS "profitGrowthPct" FROM quarters ${own} QUALIFY basis = min(basis) OVER ()`,
        'r.place',
      ),
      shareholding: listOf<Holding>(
        `SELECT place, day, promoter_pct AS "promoterPct", fii_pct AS "fiiPct", dii_pct AS "diiPct", public_pct AS "publicPct" FROM shareholding ${own}`,
        'r.place',
      ),
      filled: rowOf<Readonly<Record<string, boolean>>>(`SELECT ${filled.join(', ')}`),
    },
    { symbol },
  )
}

/** The events of the page, newest first: corporate actions may lie ahead. */
const toStockEvents = (
  events: readonly EventRow[] = [],
  deals: readonly StockDeal[] = [],
): readonly StockEvent[] => {
  const all = [...events.map(toStockEvent), ...deals.map(toDeal)]
  const keyOf = ({ day, time = '' }: StockEvent) => `${day} ${time}`
  return all.toSorted((one, other) => (keyOf(one) < keyOf(other) ? 1 : keyOf(one) > keyOf(other) ? -1 : 0))
}

const toStockEvent = ({ value, unit, url, ...event }: EventRow): StockEvent =>
  omitUndefined({
    ...event,
    detail: unit === 'rupees a share' ? `${formatPrice(value)} a share` : event.detail,
    url: toLink(url),
  })

/** Only addresses of the web; a text of the provider must not become a script. */
export const toLink = (url: unknown): string | undefined =>
  /^https?:\/\//i.test(readText(url)) ? readText(url) : undefined

const toDeal = ({ quantity, price, ...event }: StockDeal): StockEvent => ({
  ...event,
  title: `${event.title} ${formatNumber(quantity)} at ${formatPrice(price)}`,
})

/** The stock of a symbol, also of one that it had earlier; undefined without one. */
const findStock = async (folder: MarketFolder, symbol: string) => {
  const names = await readStockNames(folder)
  const capitals = symbol.toUpperCase()
  const item = names.find(symbol) ?? names.find(capitals)
  return (
    item && {
      item,
      file: `ohlcv_data/${item.fileName}.csv`,
      oldSymbol: names.former.has(capitals) ? capitals : undefined,
    }
  )
}

/** Everything that the page of a stock shows, besides its candles; undefined for an unknown symbol. */
export const readStock = async (folder: MarketFolder, symbol: string): Promise<StockAnswer | undefined> => {
  const found = await findStock(folder, symbol)
  if (found === undefined) return undefined
  const { item, oldSymbol, file } = found
  const { ISIN: isin, Name: name } = item.value
  const runs = await readRunFacts(folder)
  const { answer, damage, problem } = await readStockTables(folder, { symbol: item.key, isin })
  const { facts, quarters = [], shareholding = [], filled = {} } = answer
  const describe = (stream: string, table: string, isOptional = false) => {
    const isMissing =
      problem === undefined &&
      filled[stream] === false &&
      !(isOptional && runs.report?.scripts[stream] !== undefined)
    return describeAbout(runs, stream, { isMissing, damage: damage.get(table) })
  }
  const about = describe('fundamental-data', 'fundamentals')
  const problems = Object.entries(LIST_STREAMS).flatMap(
    ([stream, table]) => describe(stream, table).problem ?? [],
  )
  const { price, ...own } = facts ?? { hasDerivatives: item.value.FnoFlag === 1, surveillance: [] }
  return omitUndefined({
    symbol: item.key,
    name,
    isin,
    oldSymbol,
    problem,
    price: toPrice(price, describeAbout(runs, 'all-ohlcv')),
    facts: omitUndefined({
      ...own,
      listDay: describe('circuit-stocks', 'circuits').day,
      problems: [...new Set(problems)],
    }),
    events: {
      about: [
        ...new Map(
          Object.entries(EVENT_STREAMS)
            .map(([stream, table]) => describe(stream, table, true))
            .flatMap((one) => (one.problem === undefined ? [] : [[one.problem, one]])),
        ).values(),
      ],
      rows: toStockEvents(answer.events, answer.deals),
    },
    quarters: omitUndefined({ about, basis: quarters[0]?.basis, rows: quarters }),
    shareholding: { about, rows: shareholding },
    findings: await findInCandles(folder, item.key, {
      file,
      shown: await readShownCandles(folder, file),
      isStock: true,
    }),
  })
}

/** A stock or an index without candles has no price. */
const toPrice = (price: Partial<PriceFacts> | undefined, about: About): PriceFacts | undefined =>
  price?.day === undefined ? undefined : ({ ...price, about: { ...about, day: price.day } } as PriceFacts)

/** The candles of a stock for a chart; undefined for an unknown symbol. */
export const readCandles = async (
  folder: MarketFolder,
  symbol: string,
  wishes: ChartWishes,
): Promise<CandlesAnswer | undefined> => {
  const found = await findStock(folder, symbol)
  if (found === undefined) return undefined
  const shown = await readShownCandles(folder, found.file)
  const stock = found.item.key
  const rows = `SELECT max(day) AS until, factor FROM candles_adjusted WHERE symbol = ${quoteText(stock)} AND factor <> 1 GROUP BY factor`
  const { answer, problem } = await readAnswer(
    folder,
    {
      factors: listOf<Factors[number]>(rows, 'r.until'),
      averages: averagesOf('candle_averages', `symbol = ${quoteText(stock)}`),
    },
    { symbol: stock },
  )
  const cleaned =
    problem === undefined
      ? shown.cleaned
      : [...shown.cleaned, 'prices are as stored, because they cannot be adjusted without DuckDB']
  const about = describeAbout(await readRunFacts(folder), 'all-ohlcv', { isMissing: shown.raw.length === 0 })
  return toCandlesAnswer({ ...shown, cleaned }, { ...answer, ...wishes, about })
}

const findIndex = async (folder: MarketFolder, key: string) => {
  const item = (await readIndices(folder)).rows.find(({ fileName }) => fileName === key)
  if (item === undefined) return undefined
  const file = `ohlcv_data/indices/${item.fileName}.csv`
  const shown = await readShownCandles(folder, file)
  const about = describeAbout(await readRunFacts(folder), 'indices-ohlcv', {
    isMissing: shown.raw.length === 0,
  })
  const own = `symbol = ${quoteText(item.key)} AND sid = ${quoteText(readSid(item))}`
  return { item, file, shown, about, own, isStock: false }
}

/** What the page of an index shows; undefined for an unknown one. */
export const readIndex = async (folder: MarketFolder, key: string): Promise<IndexAnswer | undefined> => {
  const found = await findIndex(folder, key)
  if (found === undefined) return undefined
  const { item, about } = found
  const row = `SELECT ${PRICE_LINE} FROM index_prices WHERE ${found.own}`
  const { answer, problem } = await readAnswer(folder, {
    facts: rowOf<{ readonly price: Partial<PriceFacts> }>(row),
  })
  return omitUndefined({
    key,
    symbol: item.key,
    name: nameIndex(item),
    price: toPrice(answer.facts?.price, about),
    findings: await findInCandles(folder, item.key, found),
    problem: about.problem ?? problem,
  })
}

export const readIndexChart = async (
  folder: MarketFolder,
  key: string,
  wishes: ChartWishes,
): Promise<CandlesAnswer | undefined> => {
  const found = await findIndex(folder, key)
  if (found === undefined) return undefined
  const { answer } = await readAnswer(folder, { averages: averagesOf('index_averages', found.own) })
  return toCandlesAnswer(found.shown, { ...answer, ...wishes, about: found.about })
}

/**
 * A stock or an index that a name of a request means. Files are found by it, never by the text of the
 * request.
 */
interface FoundFile {
  readonly file: string
  readonly shown: ShownCandles
  /** Indices may move freely: only impossible candles are checked. */
  readonly isStock: boolean
}

/**
 * What `verify` finds in the candles of one stock. Checks that compare with other stocks need the whole
 * market, and are left out.
 */
const findInCandles = async (
  folder: MarketFolder,
  symbol: string,
  { file, shown, isStock }: FoundFile,
): Promise<StockFindings> => {
  const known = await readActionLists(folder)
  const actions = known.bySymbol.get(symbol) ?? []
  const { findings: found } = checkSeries(
    { symbol, file },
    { candles: shown.raw, fault: shown.fault },
    { isStock, actions },
  )
  const accepted = await tellUnreadable(readBaseline(folder.root))
  // Without the list of accepted findings, every finding counts as new.
  const { fresh } = compareWithBaseline(found, accepted.value ?? [])
  const rows = found
    .map((finding) => {
      const { severity, check, day, detail } = finding
      return omitUndefined({ severity, check, day, detail, isAccepted: !fresh.includes(finding) })
    })
    .toSorted(
      (one, other) =>
        Number(one.isAccepted) - Number(other.isAccepted) || ((one.day ?? '') < (other.day ?? '') ? 1 : -1),
    )
  return { rows, problems: [...known.problems, ...accepted.problems] }
}
