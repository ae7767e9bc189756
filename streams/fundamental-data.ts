import { map } from 'rxjs'
import { z } from 'zod'
import { json } from '../src/http/answer.js'
import { post } from '../src/http/endpoint.js'
import { oneOrMore, record } from '../src/http/shape.js'
import { assertSameIsin } from '../src/market/same-isin.js'
import type { Random } from '../src/model/market.js'
import { createResult } from '../src/model/outcome.js'
import { Row } from '../src/model/row.js'
import { toStockRecord } from '../src/model/stock.js'
import { defineStream } from '../src/pipeline/define-stream.js'
import { perStock } from '../src/pipeline/work.js'

/** Columns of equal length, each with its figures separated by `|`, newest first; `YEAR` (`202512|202509|…`) is the quarter or year. */
export type FigureTable = Readonly<Record<string, string | undefined>>

/**
 * Results, balance sheet and ratios of one stock, with the fields observed in answers. `_cq` and `_cy` are consolidated quarters and years,
 * `_sq` and `_sy` standalone; the case of column names varies from stock to stock.
 */
export interface Fundamentals extends Row {
  readonly isin?: string
  readonly incomeStat_cq?: FigureTable
  readonly incomeStat_cy?: FigureTable
  readonly incomeStat_sq?: FigureTable
  readonly incomeStat_sy?: FigureTable
  readonly TTM_cy?: FigureTable
  readonly CV?: FigureTable
  readonly roce_roe?: FigureTable
  readonly sHp?: FigureTable
  readonly bs_c?: FigureTable
}

const FundamentalAnswer = z.looseObject({ data: z.union([z.array(Row), Row]).nullable() })

const REPORT_SHAPE = {
  isin: 'text',
  ...{ incomeStat_cq: 'record', incomeStat_cy: 'record', 'incomeStat_sq?': 'record', 'incomeStat_sy?': 'record', TTM_cy: 'record' },
  ...{ 'TTM_sy?': 'record', CV: 'record', roce_roe: 'record', sHp: 'record', bs_c: 'record', 'bs_s?': 'record' },
}

const fundamental = post({
  name: 'fundamental',
  host: 'fundamental',
  path: '/scanx/fundamental',
  headers: 'bare',
  input: z.strictObject({ data: z.strictObject({ isin: z.string().length(12) }) }),
  read: (text, { data: { isin } }, seen): readonly Row[] =>
    assertSameIsin(isin, [json(FundamentalAnswer)(text, undefined, seen).data ?? []].flat()),
  shape: record({ 'status?': 'text', 'code?': 'number', data: oneOrMore(REPORT_SHAPE) }),
  sample: ({ data: { isin } }, market) => {
    const stock = market.stockByIsin(isin)
    if (stock === undefined) return undefined
    const random = market.random('fundamental', isin)
    if (random.chance(0.01)) return { status: 'success', data: [] }
    const record = {
      isin,
      incomeStat_cq: sampleTable(random, 5, QUARTERS, ['NET_PROFIT', 'EPS', 'SALES', 'OPM', 'REVENUE', 'EBITDA']),
      incomeStat_cy: sampleTable(random, 6, QUARTERS, ['NET_PROFIT', 'EPS', 'SALES', 'OPM', 'REVENUE', 'EBITDA']),
      TTM_cy: { EPS: String(random.decimal(1, 90)), OPM: String(random.decimal(-5, 40)), SALES: String(random.decimal(10, 90_000)) },
      CV: {
        PE: String(random.decimal(4, 90)),
        ROE: String(random.decimal(-5, 40)),
        ROCE: String(random.decimal(-5, 40)),
        SECTOR: 'Diversified',
      },
      roce_roe: sampleTable(random, 6, QUARTERS, ['ROCE', 'ROE']),
      sHp: sampleTable(random, 5, QUARTERS, ['FII', 'DII', 'PROMOTER', 'PUBLIC']),
      bs_c: sampleTable(random, 6, QUARTERS, ['TOTAL_ASSETS', 'TOTAL_EQUITY', 'NON_CURRENT_LIABILITIES']),
    }
    return { status: 'success', data: random.chance(0.1) ? record : [record] }
  },
})

const QUARTERS = '202512|202509|202506|202503|202412'

const sampleTable = (random: Random, columns: number, year: string, keys: readonly string[]): Row => ({
  ...Object.fromEntries(keys.map((key) => [key, Array.from({ length: columns }, () => random.decimal(-50, 9_000)).join('|')])),
  YEAR: year,
})

/** Results, balance sheet and ratios of each stock, one record per stock. */
export const fundamentalData = defineStream({
  name: 'fundamental-data',
  summary: 'results, balance sheet and ratios of each stock',
  phase: 'core',
  workers: 20,
  timeoutMs: 30_000,
  endpoints: [fundamental],
  work: perStock((stock, { ask }) =>
    ask(fundamental, { data: { isin: stock.ISIN } }).pipe(
      map((records) => createResult(records.map((record) => toStockRecord<Fundamentals>(stock, record)))),
    ),
  ),
  outputs: [{ shape: 'rows-in-one-file', file: 'fundamental_data.json' }],
})
