import { forkJoin, map, switchMap } from 'rxjs'
import { z } from 'zod'
import { defineStream, MASTER, once } from '../src/engine/define-stream.js'
import { post } from '../src/http/endpoint.js'
import { readFormerStocks } from '../src/market/former-stocks.js'
import { keepUnits, rejectShrunk, rejectTruncated } from '../src/market/list-rules.js'
import { condition, constants, exchangeCondition, readCountedRows } from '../src/market/list-sources.js'
import {
  compareIdentifiers,
  findIdentifierProblems,
  listingWarnings,
  MASTER_FIGURES,
  MASTER_MAP,
  readStoredStocks,
} from '../src/market/listings.js'
import { refuse } from '../src/market/refusal-policy.js'
import { BadAnswerError } from '../src/model/errors.js'
import { formatQuantity, toCents } from '../src/model/format.js'
import type { SampleMarket, SampleStock } from '../src/model/market.js'
import { isRow } from '../src/model/row.js'
import { column, dataEnvelope, type Possible, type RowOf, row, textColumn } from '../src/model/row-schema.js'
import { Stock, toStockItems, toStocks } from '../src/model/stock.js'

const figureField = (sql: string, about: string, possible?: Possible) =>
  column(z.number().nullable(), { about, sql, usual: true, possible })

/**
 * A stock of the master list, with the fields observed in answers. Figures can be null; `Mcap` is in ₹ crore,
 * rates in percent.
 */
export const MasterRow = row({
  Sym: textColumn('trading symbol', 'symbol', { required: true, key: true }),
  Isin: textColumn('ISIN of the stock', 'isin', { required: true, key: true }),
  DispSym: textColumn('name of the company', 'name', { required: true }),
  Sid: column(z.union([z.number(), z.string()]), {
    about: "the provider's id of the security",
    sql: ['sid', 'VARCHAR'],
    required: true,
    key: true,
  }),
  FnoFlag: column(z.int().optional(), {
    about: '1 where futures and options are traded on it',
    sql: 'fno',
    or: 'text',
    possible: { from: 0, to: 1 },
  }),
  Mcap: figureField('market_cap', 'market capitalisation, ₹ crore', { from: 0 }),
  Pe: figureField('pe', 'price to earnings'),
  DivYeild: figureField('dividend_yield', 'percent'),
  Revenue: figureField('revenue', '₹ crore'),
  Year1RevenueGrowth: figureField('revenue_growth', 'percent against the year before'),
  NetProfitMargin: figureField('net_profit_margin', 'percent'),
  YoYLastQtrlyProfitGrowth: figureField(
    'profit_growth',
    'profit of the newest quarter, percent against the year before',
  ),
  EBIDTAMargin: figureField('ebitda_margin', 'percent'),
  volume: figureField('volume', 'shares traded', { from: 0 }),
  PricePerchng1year: figureField('price_change_1y', 'percent against the year before'),
})
export interface MasterRow extends RowOf<typeof MasterRow> {}

// biome-ignore format: as in the interface document
const MASTER_FIELDS = [
  'Isin', 'DispSym', 'Mcap', 'Pe', 'DivYeild', 'Revenue', 'Year1RevenueGrowth', 'NetProfitMargin', 'YoYLastQtrlyProfitGrowth',
  'EBIDTAMargin', 'volume', 'PricePerchng1year', 'Sym', 'Sid', 'FnoFlag',
] as const

const MAX_STOCKS = 5000

const MASTER_SCAN = { sort: 'Mcap', sorder: 'desc', count: MAX_STOCKS, fields: MASTER_FIELDS } as const

const master = post({
  name: 'master',
  host: 'analytics',
  path: '/customscan/fetchdt',
  headers: 'origin',
  input: z.strictObject({
    data: z.strictObject({
      ...constants(MASTER_SCAN),
      params: z.tuple([condition('OgInst', 'ES'), exchangeCondition]),
      pgno: z.literal(0),
    }),
  }),
  read: (text, _, seen) => {
    const answer = readCountedRows<MasterRow>(text, seen)
    if (toStocks(answer.rows).length === 0) throw new BadAnswerError('schema', 'the master list has no stock')
    return answer
  },
  shape: dataEnvelope(z.array(MasterRow)),
  sample: (_, market) => ({
    code: 0,
    // In the order of the turn of the year: that of the day would be another one each day.
    data: [...market.stocks]
      .sort((one, other) => other.Mcap - one.Mcap)
      .map((stock) => sampleRow(stock, market)),
    tot_rec: market.stocks.length,
  }),
})

/** The figures of the newest candle and of the published results; some are missing. */
const sampleRow = (stock: SampleStock, market: SampleMarket): MasterRow => {
  const random = market.random('master', stock.ISIN)
  const quote = market.quote(stock)
  const [now, , , , before] = market.results(stock, 5)
  const [year, earlier] = market.years(stock, 2)
  const yearAgo = market.asOf / 1_000 - 365 * 86_400
  const old = market.candles(stock.Sid, yearAgo - 7 * 86_400, yearAgo).c.at(-1)
  const percent = (value = Number.NaN, base = Number.NaN): number => toCents((value / base) * 100)
  const growth = (value?: number, base?: number): number => toCents(percent(value, base) - 100)
  const figures = {
    Pe: quote?.pe,
    DivYeild: quote?.dividendYield,
    Revenue: year?.sales,
    Year1RevenueGrowth: growth(year?.sales, earlier?.sales),
    NetProfitMargin: percent(year?.profit, year?.sales),
    YoYLastQtrlyProfitGrowth: growth(now?.profit, before?.profit),
    EBIDTAMargin: percent(year?.ebitda, year?.sales),
    volume: quote?.volume,
    PricePerchng1year: growth(quote?.close, old),
  }
  const filled = Object.entries(figures).map(([name, figure]) => [
    name,
    random.chance(0.1) ? null : (figure ?? null),
  ])
  return {
    Isin: stock.ISIN,
    DispSym: stock.Name,
    Mcap: toCents(quote?.marketCap ?? stock.Mcap),
    ...Object.fromEntries(filled),
    Sym: stock.Symbol,
    Sid: Number(stock.Sid),
    ...(stock.FnoFlag === 0 && random.chance(0.5) ? {} : { FnoFlag: stock.FnoFlag }),
  }
}

const toStockIdentifiers = ({ Symbol: symbol, ISIN, Sid }: Stock) => ({ symbol, ISIN, Sid })

/**
 * The list of all stocks, as answered and as the map that every other script uses. The run stops without it.
 */
export const masterData = defineStream({
  name: MASTER,
  summary: 'the list of all stocks',
  phase: 'core',
  position: 1,
  workers: 1,
  timeoutMs: 30_000,
  endpoints: [master],
  work: once((tools, file) =>
    tools
      .ask(master, {
        data: {
          ...MASTER_SCAN,
          params: [
            { field: 'OgInst', op: '', val: 'ES' },
            { field: 'Exch', op: '', val: tools.settings.exchange },
          ],
          pgno: 0,
        },
      })
      .pipe(
        rejectTruncated(MAX_STOCKS, tools),
        rejectShrunk(file, tools, { countRecords: (rows) => toStocks(rows.filter(isRow)).length }),
        keepUnits(tools),
        switchMap((found) =>
          forkJoin([readStoredStocks(tools.stored), readFormerStocks(tools.stored)]).pipe(
            map(([earlier, former]) => {
              const stocks = toStocks([...found.rows])
              const comparison = compareIdentifiers(
                earlier.map(toStockIdentifiers),
                stocks.map(toStockIdentifiers),
              )
              for (const [code, message] of findIdentifierProblems(comparison)) {
                // A list that is known to be incomplete was accepted.
                if (code !== 'shrink' || !tools.accepts('count')) refuse(tools, code, message)
              }
              for (const text of listingWarnings(earlier, stocks, former)) tools.warn(text)
              return found
            }),
          ),
        ),
      ),
  ),
  offers: (rows, warn) => {
    const stocks = toStocks(rows)
    if (stocks.length < rows.length)
      warn(
        `skipped ${formatQuantity(rows.length - stocks.length, 'row')} without symbol or ISIN, or duplicate`,
      )
    return toStockItems(stocks)
  },
  outputs: [
    {
      shape: 'array-per-item',
      file: MASTER_FIGURES,
      tables: [
        {
          name: 'master_data',
          about: 'the figures in the list of all stocks, one row each',
          columns: [MasterRow],
          position: 2,
        },
      ],
    },
    {
      shape: 'array-per-item',
      file: MASTER_MAP,
      select: toStocks,
      tables: [
        { name: 'master', about: 'the list of all stocks, one row each', columns: [Stock], position: 1 },
      ],
    },
  ],
})
