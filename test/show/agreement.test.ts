import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { callTool } from '../../src/cli/mcp/tools.js'
import type { CandlesAnswer } from '../../src/show/answers.js'
import { readMorning } from '../../src/show/index.js'
import { readMarket, readToday } from '../../src/show/market.js'
import { readCandles, readIndexChart, readStock } from '../../src/show/stock.js'
import { readWholeList } from '../../src/show/whole-lists.js'
import { streams } from '../../streams/registry.js'
import { collected, duckdb, objectsOf } from '../tables/support.js'
import { openFolder } from './support.js'

type Json = Readonly<Record<string, unknown>>

/**
 * The columns of the screener that an answer shows, by the name that the answer has for each; `a.b` is within
 * `a`.
 */
const FIGURES: Readonly<Record<'page' | 'own' | 'result', Readonly<Record<string, string>>>> = {
  page: {
    'price.day': 'price_day',
    'price.close': 'close_inr',
    'price.changePct': 'change_pct',
    'price.volume': 'volume',
    'price.volumeTimes': 'rvol',
    'price.high52': 'high_52w_inr',
    'price.low52': 'low_52w_inr',
    'price.place52Pct': 'place_52w_pct',
    ...Object.fromEntries(
      ['1w', '1m', '3m', '6m', '1y'].map((period) => [
        `price.returns.${period.toUpperCase()}`,
        `return_${period}_pct`,
      ]),
    ),
    'facts.sector': 'sector',
    'facts.industry': 'industry',
    'facts.series': 'series',
    'facts.listedOn': 'listed_on',
    'facts.faceValue': 'face_value_inr',
    'facts.marketCapCr': 'market_cap_cr',
    'facts.peTtm': 'pe_ttm',
    'facts.pe': 'pe',
    'facts.roePct': 'roe_pct',
    'facts.rocePct': 'roce_pct',
    'facts.dividendYieldPct': 'dividend_yield_pct',
    'facts.band': 'band',
    'facts.circuit': 'circuit',
    'quarters.basis': 'results_basis',
    name: 'name',
    isin: 'isin',
    'quarters.rows.0.quarter': 'quarter',
    'quarters.rows.0.day': 'quarter_end',
    'quarters.rows.0.salesCr': 'sales_q0_cr',
    'quarters.rows.0.profitCr': 'net_profit_q0_cr',
    'quarters.rows.0.marginPct': 'opm_q0_pct',
    'quarters.rows.0.eps': 'eps_q0_inr',
    'quarters.rows.0.salesGrowthPct': 'sales_yoy_pct',
    'quarters.rows.0.profitGrowthPct': 'net_profit_yoy_pct',
    'shareholding.rows.0.promoterPct': 'promoter_pct',
    'shareholding.rows.0.fiiPct': 'fii_pct',
    'shareholding.rows.0.diiPct': 'dii_pct',
    'shareholding.rows.0.publicPct': 'public_pct',
  },
  own: {
    name: 'name',
    day: 'price_day',
    close: 'close_inr',
    changePct: 'change_pct',
    volumeTimes: 'rvol',
    circuit: 'circuit',
    asm: 'asm_stage',
    gsm: 'gsm_stage',
  },
  result: { quarter: 'results_quarter', dayReturnPct: 'results_day_return_pct' },
}

/** The lists whose rows are stocks with figures of the screener. */
const STOCK_LISTS = ['stocks', 'quarters', 'results', 'circuits'] as const

/** The columns of whole lists that have another name in the screener. */
const LISTED: Readonly<Record<string, string>> = {
  eps_inr: 'eps_q0_inr',
  sales_cr: 'sales_q0_cr',
  net_profit_cr: 'net_profit_q0_cr',
  side: 'circuit',
}

/** The columns of `breadth` that the page shows. */
const BREADTH: Readonly<Record<string, string>> = {
  'about.day': 'day',
  traded: 'stocks',
  advances: 'advances',
  declines: 'declines',
  unchanged: 'unchanged',
  newHighs: 'new_highs',
  newLows: 'new_lows',
  above50Pct: 'above_sma50_pct',
  above200Pct: 'above_sma200_pct',
  medianChangePct: 'median_change_pct',
  turnoverCr: 'turnover_cr',
}

const pick = (value: unknown, path: string): unknown =>
  path.split('.').reduce((inner: unknown, key) => (inner as Json | undefined)?.[key], value)

/** Numbers to nine digits; what is absent is NULL. */
const normalize = (value: unknown): string => {
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value
  return typeof number === 'number' && Number.isFinite(number)
    ? String(Number(number.toPrecision(9)))
    : String(value ?? null)
}

const captured = process.env.SCRIPSTREAM_CAPTURED

describe.skipIf(!duckdb)('every figure of every stock is the same wherever it is shown', () => {
  let [out, remove] = ['', (): void => undefined]
  let screener: ReadonlyMap<unknown, Json> = new Map()
  let asked: readonly (readonly [unknown, Json])[] = []
  const differences: string[] = []
  let compared = 0
  const compare = (where: string, symbol: unknown, shown: unknown, expected: unknown): void => {
    compared += 1
    if (normalize(shown) !== normalize(expected))
      differences.push(`${where} ${symbol}: ${normalize(shown)}, screener ${normalize(expected)}`)
  }
  const compareFigures = (kind: keyof typeof FIGURES, symbol: unknown, answer: unknown): void => {
    for (const [path, column] of Object.entries(FIGURES[kind]))
      compare(`${kind} ${path}`, symbol, pick(answer, path), screener.get(symbol)?.[column])
  }
  beforeEach(() => {
    compared = 0
    differences.length = 0
  })
  beforeAll(async () => {
    if (captured === undefined) ({ out, remove } = await collected(60, 300))
    else out = captured
    screener = new Map((await objectsOf('from screener', out, 0)).map((row) => [row.symbol, row]))
    // One answer about one stock takes as long as a list of all.
    asked = [...screener].filter((_, place) => captured !== undefined || place % 6 === 0)
  })
  afterAll(() => remove())

  const readList = async (name: string): Promise<readonly Json[]> => {
    const { columns = [], rows = [] } = (await readWholeList(openFolder(out), name)) ?? {}
    return rows.map((row) => Object.fromEntries(columns.map((column, place) => [column.name, row[place]])))
  }
  const expectAgreement = (least: number): void => {
    expect(differences.slice(0, 20)).toEqual([])
    expect(compared).toBeGreaterThan(least)
  }

  it('on the page of a stock, with show, mcp, in the morning and in whole lists', async () => {
    const folder = openFolder(out)
    for (const [symbol, row] of asked) {
      const stock = String(symbol)
      compareFigures('page', symbol, await readStock(folder, stock))
      const { content } = await callTool(
        { tool: 'show', input: { stock } },
        { out, exchange: 'NSE', streams },
      )
      const told = JSON.parse(content[0]?.type === 'text' ? content[0].text : '') as { readonly facts: Json }
      for (const column of Object.keys(row))
        compare(`show and mcp ${column}`, symbol, told.facts[column], row[column])
    }
    const { own, today } = await readMorning(folder, [...screener.keys()].slice(0, 200).map(String))
    for (const stock of own.rows) compareFigures('own', stock.symbol, stock)
    for (const result of today.results.rows) compareFigures('result', result.symbol, result)
    for (const name of STOCK_LISTS)
      for (const { symbol, ...cells } of await readList(name))
        for (const [column, cell] of Object.entries(cells)) {
          const row = screener.get(symbol)
          const known = LISTED[column] ?? column
          const isOlder =
            name === 'results' && row?.figures_are_of_results !== 1 && /sales|profit/.test(column)
          // The list of stocks at their limits is newer than the candles.
          const isNewer = name === 'circuits' && column === 'volume'
          if (row && known in row && !isOlder && !isNewer)
            compare(`list ${name} ${column}`, symbol, cell, row[known])
        }
    expectAgreement(150 * asked.length)
    process.stderr.write(
      `${compared} figures of ${screener.size} stocks, ${differences.length} differences\n`,
    )
  })

  it('in the lists of actions, of limits and of price bands', async () => {
    const actions = await readList('actions')
    const bands = await readList('bands')
    const circuits = await readList('circuits')
    const { actions: near } = await readToday(openFolder(out))
    expect([actions.length, bands.length, circuits.length]).not.toContain(0)
    for (const [symbol, row] of screener) {
      const own = actions.filter(
        (action) => action.symbol === symbol && !/result/.test(String(action.action)),
      )
      compare('list actions', symbol, own[0]?.ex_date, row.next_action_day)
      compare('list circuits', symbol, circuits.find((one) => one.symbol === symbol)?.side, row.circuit)
      const band = bands.find((one) => one.symbol === symbol && one.series === row.series)?.band
      compare(
        'list bands',
        symbol,
        /\d/.test(String(band)) ? `${band} %` : String(band).toLowerCase(),
        row.band,
      )
    }
    for (const { symbol, day, action, amount } of near.rows) {
      const same = actions.filter(
        (one) => one.symbol === symbol && one.ex_date === day && one.action === action,
      )
      compare(`today ${action}`, symbol, amount, same[0]?.amount_inr ?? null)
    }
    expectAgreement(2 * screener.size)
  })

  it('in the charts of days and weeks, of stocks and of indices', async () => {
    const compareChart = (
      what: string,
      symbol: unknown,
      row: Json,
      chart: CandlesAnswer | undefined,
    ): void => {
      compare(`${what} day`, symbol, chart?.days.at(-1), row.price_day)
      // A chart has fewer digits.
      const compareNumbers = (name: string, shown: unknown, column: string): void => {
        const isEqual = Math.abs(Number(shown) / Number(row[column]) - 1) < 1e-5
        compare(`${what} ${name}`, symbol, isEqual ? row[column] : shown, row[column])
      }
      compareNumbers('close', chart?.close.at(-1), 'close_inr')
      for (const { length, values } of chart?.averages ?? [])
        compareNumbers(String(length), values.at(-1), `sma_${length}_inr`)
    }
    const folder = openFolder(out)
    for (const [symbol, row] of asked)
      for (const isWeekly of [false, true])
        compareChart(
          `chart ${isWeekly}`,
          symbol,
          row,
          await readCandles(folder, String(symbol), { isWeekly }),
        )
    const paths = new Map((await readList('indices')).map(({ name, path }) => [name, String(path)]))
    const indices = (await objectsOf('from index_prices', out, 0)).slice(0, 10)
    expect(indices.length).toBeGreaterThan(5)
    for (const row of indices) {
      const key = decodeURIComponent(paths.get(row.name)?.replace('/index/', '') ?? '')
      compareChart('chart of index', row.name, row, await readIndexChart(folder, key, {}))
    }
    expectAgreement(8 * asked.length)
  })

  it('in the breadth of market, sectors and universes, and sectors add up to the market', async () => {
    const newest = await objectsOf(
      "from breadth where level <> 'index' qualify day = max(day) over (partition by level)",
      out,
      0,
    )
    const COUNTS = ['stocks', 'advances', 'declines', 'unchanged', 'new_highs', 'new_lows']
    const market = newest.find(({ level }) => level === 'market')
    const { breadth } = await readMarket(openFolder(out))
    for (const [name, column] of Object.entries(BREADTH))
      compare('breadth', name, pick(breadth, name), market?.[column])
    const sectors = await readList('sectors')
    for (const { sector, path, median_return_1m_pct, ...cells } of sectors) {
      const row = newest.find(({ name }) => name === (sector ?? 'no sector'))
      for (const [column, cell] of Object.entries(cells))
        compare(`sectors ${column}`, sector, cell, row?.[column])
    }
    for (const column of COUNTS) {
      const sum = sectors.reduce((all, row) => all + Number(row[column]), 0)
      compare('sum of sectors', column, sum, market?.[column])
    }
    const members = await objectsOf('select isin, "index" from index_members', out, 0)
    const indices = [...new Set(members.map(({ index }) => String(index)))]
    for (const universe of ['F&O', ...indices]) {
      const isOwn = ({ isin, fno }: Json): boolean =>
        universe === 'F&O' ? fno === 1 : members.some((one) => one.index === universe && one.isin === isin)
      const own = [...screener.values()].filter((row) => isOwn(row) && row.traded === 1)
      const changes = own.map(({ change_pct }) => Number(change_pct))
      const shown = (await readMarket(openFolder(out), universe)).breadth
      compare(`${universe} traded`, '', shown.traded, own.length)
      compare(`${universe} advances`, '', shown.advances, changes.filter((change) => change > 0).length)
      compare(`${universe} declines`, '', shown.declines, changes.filter((change) => change < 0).length)
    }
    // A captured market may have been collected without them.
    if (captured === undefined) expect(indices.length).toBeGreaterThan(0)
    expectAgreement(captured === undefined ? 100 : 30)
  })
})
