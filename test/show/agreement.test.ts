import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { callTool } from '../../src/cli/mcp/tools.js'
import { readMorning } from '../../src/show/index.js'
import { readStock } from '../../src/show/stock.js'
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

/** The columns of whole lists that have another name in the screener. */
const LISTED: Readonly<Record<string, string>> = {
  volume_x: 'rvol',
  month_pct: 'return_1m_pct',
  year_pct: 'return_1y_pct',
  eps_inr: 'eps_q0_inr',
  sales_cr: 'sales_q0_cr',
  net_profit_cr: 'net_profit_q0_cr',
  price_that_day_pct: 'results_day_return_pct',
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
  beforeAll(async () => {
    if (captured === undefined) ({ out, remove } = await collected(12, 300))
    else out = captured
    screener = new Map((await objectsOf('from screener', out, 0)).map((row) => [row.symbol, row]))
  })
  afterAll(() => remove())

  it('on the page of a stock, with show, mcp, in the morning and in whole lists', async () => {
    const folder = openFolder(out)
    for (const [symbol, row] of screener) {
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
    for (const name of ['stocks', 'quarters', 'results']) {
      const { columns = [], rows = [] } = (await readWholeList(folder, name)) ?? {}
      for (const cells of rows)
        for (const [place, { name: column }] of columns.entries()) {
          const row = screener.get(cells[0])
          const own = LISTED[column] ?? column
          const isOlder =
            name === 'results' && row?.figures_are_of_results !== 1 && /sales|profit/.test(column)
          if (row && own in row && !isOlder && column !== 'fno')
            compare(`list ${name} ${column}`, cells[0], cells[place], row[own])
        }
    }
    expect(differences.slice(0, 20)).toEqual([])
    expect(compared).toBeGreaterThan(150 * screener.size)
    process.stderr.write(
      `${compared} figures of ${screener.size} stocks, ${differences.length} differences\n`,
    )
  })
})
