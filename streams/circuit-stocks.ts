import { map } from 'rxjs'
import { z } from 'zod'
import { defineStream, perPart } from '../src/engine/define-stream.js'
import { json } from '../src/http/answer.js'
import { post } from '../src/http/endpoint.js'
import { rejectOtherUnits, warnIfFull, withoutCopies } from '../src/market/list-rules.js'
import { condition, constants } from '../src/market/list-sources.js'
import { createWebSource } from '../src/market/web-source.js'
import { BadAnswerError } from '../src/model/errors.js'
import type { SampleMarket } from '../src/model/market.js'
import { createResult } from '../src/model/outcome.js'
import { type BuiltRowOf, column, dataEnvelope, Row, type RowOf, row } from '../src/model/row-schema.js'
import { firstThatAnswers } from '../src/operators/first-that-answers.js'

const numberOrNull = z.number().nullable()
const textOrNull = z.string().nullable()

/**
 * A stock at its circuit limit; a figure missing from the answer is null. Prices are in rupees, `MarketCap`
 * in ₹ crore, changes and yields in percent. Types are as observed in answers, and unchecked.
 */
export const CircuitStock = row({
  Symbol: column(textOrNull, { about: 'trading symbol', sql: 'symbol' }),
  Name: column(textOrNull, { about: 'name of the company', sql: 'name' }),
  LTP: column(numberOrNull, {
    about: 'last traded price, rupees',
    sql: 'price',
    unit: '₹',
    possible: { from: 0.01 },
  }),
  ChangePercent: column(numberOrNull, {
    about: 'against the close before, percent',
    sql: 'change_percent',
    unit: '%',
    isChange: true,
  }),
  MarketCap: column(numberOrNull, { about: '₹ crore', sql: 'market_cap', unit: '₹ crore' }),
  Volume: column(z.int().nullable(), { about: 'shares traded', sql: 'volume', possible: { from: 0 } }),
  High5Yr: column(numberOrNull, { about: 'highest price of five years, rupees', sql: 'high_5y' }),
  High1Yr: column(numberOrNull, { about: 'highest price of a year, rupees', sql: 'high_1y' }),
  Low1Yr: column(numberOrNull, { about: 'lowest price of a year, rupees', sql: 'low_1y' }),
  PE: column(numberOrNull, { about: 'price to earnings', sql: 'pe' }),
  PB: column(numberOrNull, { about: 'price to book value', sql: 'pb' }),
  DivYield: column(numberOrNull, { about: 'percent', sql: 'dividend_yield' }),
})
export interface CircuitStock extends BuiltRowOf<typeof CircuitStock> {}

type Side = 'upper' | 'lower'

/** Price and change are required, because every stock at its limit has them. */
const required = () => column(numberOrNull, { required: true })
/** A ratio may be missing. */
const ratio = () => column(numberOrNull, { usual: true })

/** A stock as the scan answers it, its fields in the order of the request. */
const ScannedStock = row({
  Sym: column(textOrNull, { required: true, key: true }),
  DispSym: column(textOrNull, { required: true }),
  Ltp: required(),
  PPerchange: required(),
  Mcap: required(),
  Volume: required(),
  High5yr: required(),
  Low1Yr: required(),
  High1Yr: required(),
  Pe: ratio(),
  Pb: ratio(),
  DivYeild: ratio(),
})

const CIRCUIT_FIELDS = ScannedStock.keyof().options

const FLAGS = { upper: 'LiveData.UpperCircuitBreak', lower: 'LiveData.LowerCircuitBreak' } as const

const WEB_KEYS = {
  upper: 'stocks/market/shares-with-upper-circuit',
  lower: 'stocks/market/lower-circuit-stocks',
} as const

const MAX_CIRCUIT_ROWS = 500

const CIRCUIT_SCAN = {
  sort: 'Mcap',
  sorder: 'desc',
  count: MAX_CIRCUIT_ROWS,
  fields: CIRCUIT_FIELDS,
} as const

const circuit = post({
  name: 'circuit',
  host: 'analytics',
  path: '/customscan/fetchdt',
  input: z.strictObject({
    data: z.strictObject({
      ...constants(CIRCUIT_SCAN),
      params: z.tuple([
        z.strictObject({ field: z.enum(FLAGS), op: z.literal(''), val: z.literal('1') }),
        condition('OgInst', 'ES'),
        condition('Seg', 'E'),
      ]),
      pgno: z.literal(1),
    }),
  }),
  read: (text, _, seen): readonly Row[] => {
    const { data } = json(z.looseObject({ data: z.array(Row).optional() }))(text, undefined, seen)
    if (data === undefined) throw new BadAnswerError('schema', 'the scan answer has no list')
    return data
  },
  shape: dataEnvelope(z.array(ScannedStock)),
  sample: ({ data: { params } }, market) => ({
    code: 0,
    data: sampleStocks(params[0].field === FLAGS.upper ? 'upper' : 'lower', market),
  }),
})

const sampleStocks = (side: Side, market: SampleMarket): readonly Row[] =>
  market.stocks.flatMap((stock) => {
    const quote = market.quote(stock)
    if (quote?.limit !== side) return []
    const now = market.asOf / 1_000
    const [five, one] = [5, 1].map((years) => market.candles(stock.Sid, now - years * 365 * 86_400, now))
    return [
      {
        Sym: stock.Symbol,
        DispSym: stock.Name,
        Ltp: quote.close,
        PPerchange: quote.change,
        Mcap: quote.marketCap,
        Volume: quote.volume,
        High5yr: Math.max(...(five?.h ?? [])),
        High1Yr: Math.max(...(one?.h ?? [])),
        Low1Yr: Math.min(...(one?.l ?? [])),
        Pe: quote.pe ?? null,
        Pb: quote.pb,
        DivYeild: quote.dividendYield,
      },
    ]
  })

const sampleCircuitPage = (key: string, market: SampleMarket): readonly Row[] | undefined => {
  const side = (['upper', 'lower'] as const).find((name) => key === WEB_KEYS[name])
  return side && sampleStocks(side, market)
}

const circuitPages = createWebSource(z.enum(WEB_KEYS), sampleCircuitPage)

/** A stock as answered by the scan or the web site, which has other names for two fields. */
type ScannedRow = RowOf<typeof ScannedStock> & { readonly sym?: string | null; readonly Name?: string | null }

const toCircuitStock = (row: ScannedRow): CircuitStock => ({
  Symbol: row.Sym ?? row.sym ?? null,
  Name: row.DispSym ?? row.Name ?? null,
  LTP: row.Ltp ?? null,
  ChangePercent: row.PPerchange ?? null,
  MarketCap: row.Mcap ?? null,
  Volume: row.Volume ?? null,
  High5Yr: row.High5yr ?? null,
  High1Yr: row.High1Yr ?? null,
  Low1Yr: row.Low1Yr ?? null,
  PE: row.Pe ?? null,
  PB: row.Pb ?? null,
  DivYield: row.DivYeild ?? null,
})

/**
 * Stocks at their upper and lower circuit limit: from the scan, else the data of the web site, else its page.
 * An empty list is valid.
 */
export const circuitStocks = defineStream({
  name: 'circuit-stocks',
  summary: 'stocks at their upper or lower circuit limit',
  phase: 'enrichment',
  position: 10,
  workers: 2,
  timeoutMs: 10_000,
  endpoints: [circuit, ...circuitPages.endpoints],
  work: perPart(['upper', 'lower'], (side, tools) => {
    const { ask, warn } = tools
    // Not compared with its `tot_rec`: that was 62 for both sides, although one list had 52 stocks.
    const params = [
      { field: FLAGS[side], op: '', val: '1' },
      { field: 'OgInst', op: '', val: 'ES' },
      { field: 'Seg', op: '', val: 'E' },
    ] as const
    const scan = () =>
      ask(circuit, { data: { ...CIRCUIT_SCAN, params: [...params], pgno: 1 } }, { failFast: true }).pipe(
        warnIfFull(MAX_CIRCUIT_ROWS, tools, side),
      )
    const sources = [{ name: 'scan', ask: scan }, ...circuitPages.tiers(WEB_KEYS[side], tools)]
    const tiers = sources.map((source) => ({
      ...source,
      ask: (isLast: boolean) => source.ask(isLast).pipe(rejectOtherUnits(tools)),
    }))
    return firstThatAnswers(tiers, (failure) => warn(`${side}: a source failed: ${failure}`)).pipe(
      map((rows) => createResult(withoutCopies(rows, tools, side).map(toCircuitStock))),
    )
  }),
  outputs: [
    {
      shape: 'array-per-item',
      file: '{side}_circuit_stocks.json',
      emptyWhenLost: true,
      tables: [
        {
          name: 'circuits',
          about: 'stocks at their upper or lower circuit limit',
          columns: [
            { name: 'side', type: 'VARCHAR', comment: 'upper or lower', from: { file: 'label' } },
            CircuitStock,
          ],
          changes: {
            section: 'circuits',
            key: ['Symbol'],
            entered: (_, { label }) => [{ change: 'entered', detail: `is at its ${label} limit` }],
            left: (_, { label }) => [{ change: 'left', detail: `left its ${label} limit` }],
          },
          position: 11,
        },
      ],
    },
  ],
})
