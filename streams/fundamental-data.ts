import { map } from 'rxjs'
import { z } from 'zod'
import { defineStream, perStock } from '../src/engine/define-stream.js'
import { json } from '../src/http/answer.js'
import { post } from '../src/http/endpoint.js'
import { assertSameIsin } from '../src/market/listings.js'
import type { PlannedStockEvent, Random, SampleStock } from '../src/model/market.js'
import { createResult } from '../src/model/outcome.js'
import { Row, readText, toNumber } from '../src/model/row.js'
import { column, oneOrMore, type RowOf, row, type TableColumn } from '../src/model/row-schema.js'
import { toStockRecord } from '../src/model/stock.js'
import { addDays, addMonths, type Day, readDay } from '../src/model/trading-day.js'

/** Columns of equal length, each with its figures separated by `|`, newest first; `YEAR` (`202512|202509|…`) is the quarter or year. */
export type FigureTable = Readonly<Record<string, string | undefined>>
const figureTable = () => z.record(z.string(), z.string().optional())

/**
 * Results, balance sheet and ratios of one stock, with the fields observed in answers. `_cq` and `_cy` are consolidated quarters and years,
 * `_sq` and `_sy` standalone; the case of column names varies from stock to stock.
 */
export const Fundamentals = row({
  isin: z.string(),
  incomeStat_cq: column(figureTable(), { about: 'consolidated results by quarter', sql: 'quarters' }),
  incomeStat_cy: column(figureTable(), { about: 'consolidated results by year', sql: 'years' }),
  incomeStat_sq: figureTable().optional(),
  incomeStat_sy: figureTable().optional(),
  TTM_cy: column(figureTable(), { about: 'the trailing twelve months', sql: 'ttm' }),
  TTM_sy: figureTable().optional(),
  CV: column(figureTable(), { about: 'ratios, sector and industry', sql: 'ratios' }),
  roce_roe: column(figureTable(), { about: 'ROE and ROCE by period', sql: 'returns' }),
  sHp: column(figureTable(), { about: 'shares of promoters, institutions and the public by quarter, percent', sql: 'shareholding' }),
  bs_c: column(figureTable(), { about: 'consolidated balance sheet by year', sql: 'balance_sheet' }),
  bs_s: figureTable().optional(),
})
export interface Fundamentals extends RowOf<typeof Fundamentals> {}

/** A figure within a block; its key may have several spellings. */
const figureColumn = (name: string, paths: readonly string[], comment: string): TableColumn => ({
  ...{ name, type: 'DOUBLE', comment },
  from: { row: paths.map((path) => `$.${path}`) },
})

const first = (values: string): string => values.split('|', 1)[0] ?? ''

/** The last day of a month in the form `202512`. */
const parseMonthEnd = (month: string): Day | undefined => {
  const day = readDay(month.replace(/^(\d{4})(\d{2})$/, '$1-$2-01'))
  return day && addDays(addMonths(day, 1), -1)
}

/** The first value of a text such as `10|5|4`: that of the newest quarter. */
const newestColumn = (name: string, keys: readonly string[], comment: string): TableColumn => ({
  ...figureColumn(
    name,
    keys.map((key) => `incomeStat_cq.${key}`),
    comment,
  ),
  convert: {
    sql: (value) => `TRY_CAST(split_part(${value}, '|', 1) AS DOUBLE)`,
    value: (value) => toNumber(first(value)),
  },
})

const FIGURE_COLUMNS: readonly TableColumn[] = [
  { name: 'symbol', type: 'VARCHAR', comment: 'trading symbol', from: { row: ['Symbol'] } },
  { name: 'isin', type: 'VARCHAR', comment: 'ISIN of the stock', from: { row: ['ISIN', 'isin'] } },
  { name: 'sector', type: 'VARCHAR', comment: 'as the provider names it', from: { row: ['$.CV.SECTOR'] } },
  figureColumn('pe', ['CV.PE', 'CV.STOCK_PE'], 'price to earnings'),
  figureColumn('roe', ['CV.ROE'], 'return on equity, percent'),
  figureColumn('roce', ['CV.ROCE'], 'return on capital employed, percent'),
  {
    ...newestColumn('quarter', ['YEAR', 'Year'], 'newest quarter, YYYYMM'),
    type: 'VARCHAR',
    convert: { sql: (value) => `split_part(${value}, '|', 1)`, value: first },
  },
  {
    ...newestColumn('quarter_end', ['YEAR', 'Year'], 'last day of the newest quarter'),
    type: 'DATE',
    convert: {
      sql: (value) => `last_day(strptime(split_part(${value}, '|', 1) || '01', '%Y%m%d'))`,
      value: (value) => parseMonthEnd(first(value)),
    },
  },
  newestColumn('sales', ['SALES', 'Sales'], 'of the newest quarter, ₹ crore'),
  newestColumn('net_profit', ['NET_PROFIT', 'Net_Profit'], 'of the newest quarter, ₹ crore'),
  newestColumn('eps', ['EPS', 'Eps'], 'earnings a share in the newest quarter, rupees'),
  newestColumn('opm', ['OPM', 'Opm'], 'operating margin of the newest quarter, percent'),
]

const FundamentalAnswer = z.looseObject({ data: z.union([z.array(Row), Row]).nullable() })

const fundamental = post({
  name: 'fundamental',
  host: 'fundamental',
  path: '/scanx/fundamental',
  headers: 'bare',
  input: z.strictObject({ data: z.strictObject({ isin: z.string().length(12) }) }),
  read: (text, { data: { isin } }, seen): readonly Row[] =>
    assertSameIsin(isin, [json(FundamentalAnswer)(text, undefined, seen).data ?? []].flat()),
  shape: row({ status: z.string().optional(), code: z.number().optional(), data: oneOrMore(Fundamentals) }),
  sample: ({ data: { isin } }, market) => {
    const stock = market.stockByIsin(isin)
    if (stock === undefined) return undefined
    const random = market.random('fundamental', isin)
    if (random.chance(0.01)) return { status: 'success', data: [] }
    const margin = random.decimal(2, 35)
    const sales = stock.Mcap / stock.pe / (margin / 200)
    const company = { stock, margin, sales }
    const record = {
      isin,
      incomeStat_cq: restate(sampleIncome(random, company, { columns: 5, inYear: 4 }), stock.events ?? []),
      incomeStat_cy: sampleIncome(random, company, { columns: 6, inYear: 1 }),
      TTM_cy: { EPS: String(toCents(stock.Ltp / stock.pe)), OPM: String(margin), SALES: String(toCents(sales)) },
      CV: {
        PE: String(stock.pe),
        ROE: String(random.decimal(-5, 40)),
        ROCE: String(random.decimal(-5, 40)),
        SECTOR: stock.sector,
      },
      roce_roe: sampleTable(6, { ROCE: () => random.decimal(-5, 40), ROE: () => random.decimal(-5, 40) }),
      sHp: sampleShareholding(random),
      bs_c: sampleTable(6, {
        TOTAL_ASSETS: () => random.decimal(5_000, 9_000),
        TOTAL_EQUITY: () => random.decimal(1_000, 4_000),
        NON_CURRENT_LIABILITIES: () => random.decimal(100, 900),
      }),
    }
    return { status: 'success', data: random.chance(0.1) ? record : [record] }
  },
})

const QUARTERS = '202512|202509|202506|202503|202412'

const sampleTable = (columns: number, figures: Readonly<Record<string, (column: number) => number>>): Row => ({
  ...Object.fromEntries(
    Object.entries(figures).map(([key, figure]) => [key, Array.from({ length: columns }, (_, column) => figure(column)).join('|')]),
  ),
  YEAR: QUARTERS,
})

const toCents = (value: number): number => Math.round(value * 100) / 100

/** A company whose P/E follows from its net profit, half of the EBITDA. `sales`: ₹ crore in the newest year. */
interface SampleCompany {
  readonly stock: SampleStock
  /** EBITDA, percent of the sales. */
  readonly margin: number
  readonly sales: number
}

/** Figures of one company: profits and earnings per share follow from the sales. The first `inYear` columns are the newest year. */
const sampleIncome = (
  random: Random,
  { stock: { Ltp, Mcap }, margin, sales }: SampleCompany,
  { columns, inYear }: { readonly columns: number; readonly inYear: number },
): Row => {
  const sizes = Array.from({ length: columns }, () => random.decimal(0.85, 1.15))
  const yearSize = sizes.slice(0, inYear).reduce((sum, size) => sum + size)
  const share =
    (part: number) =>
    (column: number): number =>
      toCents(((sizes[column] ?? 0) / yearSize) * sales * part)
  return sampleTable(columns, {
    NET_PROFIT: share(margin / 200),
    EPS: share(((margin / 200) * Ltp) / Mcap),
    SALES: share(1),
    OPM: () => margin,
    REVENUE: share(1.02),
    EBITDA: share(margin / 100),
  })
}

/** The income with the profits that planned events restate. */
const restate = (income: Row, events: readonly PlannedStockEvent[]): Row => {
  const factors = QUARTERS.split('|').map((quarter) =>
    events.reduce((all, event) => (event.kind === 'restated-quarter' && event.quarter === quarter ? all * event.factor : all), 1),
  )
  const toRestated = (profits: unknown): string =>
    readText(profits)
      .split('|')
      .map((profit, place) => toCents(Number(profit) * (factors[place] ?? 1)))
      .join('|')
  return { ...income, NET_PROFIT: toRestated(income.NET_PROFIT), EPS: toRestated(income.EPS) }
}

/** Shares in per cent that add up to 100. */
const sampleShareholding = (random: Random): Row => {
  const [promoters, foreign, domestic] = [random.int(20, 70), random.int(1, 12), random.int(1, 12)]
  return sampleTable(5, {
    FII: () => foreign,
    DII: () => domestic,
    PROMOTER: () => promoters,
    PUBLIC: () => 100 - promoters - foreign - domestic,
  })
}

/** Results, balance sheet and ratios of each stock, one record per stock. */
export const fundamentalData = defineStream({
  name: 'fundamental-data',
  summary: 'results, balance sheet and ratios of each stock',
  phase: 'core',
  position: 2,
  workers: 20,
  timeoutMs: 30_000,
  endpoints: [fundamental],
  work: perStock((stock, { ask }) =>
    ask(fundamental, { data: { isin: stock.ISIN } }).pipe(
      map((records) => createResult(records.map((record) => toStockRecord<Fundamentals>(stock, record)))),
    ),
  ),
  outputs: [
    {
      shape: 'rows-in-one-file',
      file: 'fundamental_data.json',
      tables: [
        {
          name: 'fundamentals',
          about:
            'results, balance sheet and ratios, one row for each stock; in the JSON columns, one text lists the periods of a figure, 10|5|4',
          columns: [...FIGURE_COLUMNS, Fundamentals],
          position: 3,
        },
      ],
    },
  ],
})
