import { map } from 'rxjs'
import { z } from 'zod'
import { defineStream, perStock } from '../src/engine/define-stream.js'
import { json } from '../src/http/answer.js'
import { post } from '../src/http/endpoint.js'
import { assertSameIsin } from '../src/market/listings.js'
import { describeNewQuarter, describeRestated, RESULT_TABLES } from '../src/market/quarterly-results.js'
import { toCents } from '../src/model/format.js'
import type { Random, SampleQuarter, SampleStock } from '../src/model/market.js'
import { createResult } from '../src/model/outcome.js'
import { toNumber } from '../src/model/row.js'
import { column, oneOrMore, Row, type RowOf, row, type TableColumn } from '../src/model/row-schema.js'
import { toStockRecord } from '../src/model/stock.js'
import { addDays, addMonths, type Day, readDay } from '../src/model/trading-day.js'

/**
 * Columns of equal length, each with its figures separated by `|`, newest first; `YEAR` (`202512|202509|…`)
 * is the quarter or year.
 */
export type FigureTable = Readonly<Record<string, string | undefined>>
const figureTable = () => z.record(z.string(), z.string().optional())

/** A period (`202512`) ends on the last day of its month. */
const YEAR = { past: (month: string) => parseMonthEnd(month) ?? '' }
const INCOME = { figures: { YEAR, SALES: { from: 0, times: 50 }, NET_PROFIT: { times: 50 } } }
const incomeTable = () => column(figureTable().optional(), { possible: INCOME })

/**
 * Results, balance sheet and ratios of one stock, with the fields observed in answers. `_cq` and `_cy` are
 * consolidated quarters and years, `_sq` and `_sy` standalone; the case of column names varies from stock to
 * stock.
 */
export const Fundamentals = row({
  isin: z.string(),
  incomeStat_cq: column(figureTable(), {
    about: 'consolidated results by quarter',
    sql: 'quarters',
    possible: INCOME,
  }),
  incomeStat_cy: column(figureTable(), {
    about: 'consolidated results by year',
    sql: 'years',
    possible: INCOME,
  }),
  incomeStat_sq: incomeTable(),
  incomeStat_sy: incomeTable(),
  TTM_cy: column(figureTable(), { about: 'the trailing twelve months', sql: 'ttm' }),
  TTM_sy: figureTable().optional(),
  CV: column(figureTable(), { about: 'ratios, sector and industry', sql: 'ratios' }),
  roce_roe: column(figureTable(), { about: 'ROE and ROCE by period', sql: 'returns' }),
  sHp: column(figureTable(), {
    about: 'shares of promoters, institutions and the public by quarter, percent',
    sql: 'shareholding',
    possible: { figures: { YEAR, '*': { from: 0, to: 100 } }, sum: 100 },
  }),
  bs_c: column(figureTable(), {
    about: 'consolidated balance sheet by year',
    sql: 'balance_sheet',
    possible: { figures: { YEAR, TOTAL_ASSETS: { from: 0 } } },
  }),
  bs_s: figureTable().optional(),
})
export interface Fundamentals extends RowOf<typeof Fundamentals> {}

/** A figure within a block; its key may have several spellings. */
const figureColumn = (name: string, paths: readonly string[], comment: string): TableColumn => ({
  name,
  type: 'DOUBLE',
  comment,
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
  read: (text, { data: { isin } }, seen, earlier): readonly Row[] =>
    assertSameIsin(isin, [json(FundamentalAnswer)(text, undefined, seen).data ?? []].flat(), earlier),
  shape: row({ status: z.string().optional(), code: z.number().optional(), data: oneOrMore(Fundamentals) }),
  sample: ({ data: { isin } }, market) => {
    const stock = market.stockByIsin(isin)
    if (stock === undefined) return undefined
    const random = market.random('fundamental', isin)
    if (random.chance(0.01)) return { status: 'success', data: [] }
    const [quarters, years] = [market.results(stock, QUARTERS), market.years(stock, YEARS)]
    const sum = (figure: 'eps' | 'sales' | 'ebitda') =>
      toCents(quarters.slice(0, 4).reduce((all, quarter) => all + quarter[figure], 0))
    const balances = sampleBalances(stock, years, random)
    const [newest] = balances
    const record = {
      isin,
      incomeStat_cq: sampleIncome(quarters),
      incomeStat_cy: sampleIncome(years),
      TTM_cy: {
        EPS: String(sum('eps')),
        OPM: String(toCents((sum('ebitda') / sum('sales')) * 100)),
        SALES: String(sum('sales')),
      },
      CV: {
        PE: String(market.quote(stock)?.pe ?? ''),
        SECTOR: stock.sector,
        ROE: String(newest?.roe ?? ''),
        ROCE: String(newest?.roce ?? ''),
      },
      roce_roe: sampleTable(balances, { ROCE: ({ roce }) => roce, ROE: ({ roe }) => roe }),
      sHp: sampleShareholding(random, quarters.slice(0, 5)),
      bs_c: sampleTable(balances, {
        TOTAL_ASSETS: ({ assets }) => assets,
        TOTAL_EQUITY: ({ equity }) => equity,
        NON_CURRENT_LIABILITIES: ({ liabilities }) => liabilities,
      }),
    }
    return { status: 'success', data: random.chance(0.1) ? record : [record] }
  },
})

/** So many quarters have those of a whole year, whatever the newest one is. */
const QUARTERS = 9
const YEARS = 6

const sampleTable = <T extends Pick<SampleQuarter, 'period'>>(
  periods: readonly T[],
  figures: Readonly<Record<string, (of: T) => number>>,
): Row => ({
  ...Object.fromEntries(Object.entries(figures).map(([key, figure]) => [key, periods.map(figure).join('|')])),
  YEAR: periods.map(({ period }) => period).join('|'),
})

const sampleIncome = (periods: readonly SampleQuarter[]): Row =>
  sampleTable(periods, {
    NET_PROFIT: ({ profit }) => profit,
    EPS: ({ eps }) => eps,
    SALES: ({ sales }) => sales,
    OPM: ({ sales, ebitda }) => toCents((ebitda / sales) * 100),
    REVENUE: ({ sales }) => sales,
    EBITDA: ({ ebitda }) => ebitda,
  })

/** The part of a profit that stays in the company. */
const RETAINED = 0.7

/** The balance sheet at the end of each year: the equity grows by what is retained of the profit. */
const sampleBalances = (stock: SampleStock, years: readonly SampleQuarter[], random: Random) => {
  const debt = random.decimal(0.1, 0.9)
  let equity = stock.Mcap / stock.pb
  return years.map(({ period, profit, ebitda }) => {
    const end = equity
    equity = Math.max(end / 2, end - profit * RETAINED)
    const liabilities = end * debt
    return {
      period,
      equity: toCents(end),
      liabilities: toCents(liabilities),
      assets: toCents((end + liabilities) * 1.3),
      roe: toCents((profit / end) * 100),
      roce: toCents(((ebitda * 0.85) / (end + liabilities)) * 100),
    }
  })
}

/** Shares in per cent that add up to 100. */
const sampleShareholding = (random: Random, quarters: readonly SampleQuarter[]): Row => {
  const [promoters, foreign, domestic] = [random.int(20, 70), random.int(1, 12), random.int(1, 12)]
  return sampleTable(quarters, {
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
      keepsWhenEmpty: true,
      tables: [
        {
          name: 'fundamentals',
          about:
            'results, balance sheet and ratios, one row for each stock; in the JSON columns, one text lists the periods of a figure, 10|5|4',
          columns: [...FIGURE_COLUMNS, Fundamentals],
          // A stock without earlier figures has no new ones.
          changes: {
            section: 'results',
            key: ['ISIN'],
            columns: RESULT_TABLES,
            changed: (row, { earlier }) => [
              ...describeNewQuarter(row, earlier),
              ...describeRestated(row, earlier),
            ],
          },
          position: 3,
        },
      ],
    },
  ],
})
