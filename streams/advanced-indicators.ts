import { map } from 'rxjs'
import { z } from 'zod'
import { json } from '../src/http/answer.js'
import { post } from '../src/http/endpoint.js'
import { dataEnvelope, rows } from '../src/http/shape.js'
import { assertSameIsin } from '../src/market/same-isin.js'
import { createResult } from '../src/model/outcome.js'
import { type Row, Rows } from '../src/model/row.js'
import { requireSid, toStockRecord } from '../src/model/stock.js'
import { defineStream } from '../src/pipeline/define-stream.js'
import { perStock } from '../src/pipeline/work.js'

const INDICATOR_SHAPE = { Indicator: 'text', Value: 'number|text', Action: 'text' }

/** A technical indicator: its name (`20-EMA`, `RSI(14)`), its value in rupees or on its own scale, and its signal. */
export interface IndicatorValue extends Row {
  readonly Indicator?: string
  readonly Value?: number
  readonly Action?: 'Bullish' | 'Bearish' | 'Neutral' | (string & {})
}

/** The daily indicators of one stock, with the fields observed in answers. `Pivot` has levels in rupees by method, such as `Classic`. */
export interface Indicators extends Row {
  readonly EMA?: readonly IndicatorValue[]
  readonly SMA?: readonly IndicatorValue[]
  readonly Indicator?: readonly IndicatorValue[]
  readonly Pivot?: readonly Readonly<Record<string, Readonly<Record<string, number>>>>[]
}

const indicator = post({
  name: 'indicator',
  host: 'static',
  path: '/staticscanx/indicator',
  input: z.strictObject({
    exchange: z.string().min(1),
    segment: z.literal('E'),
    security_id: z.string().min(1),
    isin: z.string().length(12),
    symbol: z.string().min(1),
    minute: z.literal('D'),
  }),
  read: (text, { isin }, seen): readonly Row[] => assertSameIsin(isin, json(Rows)(text, undefined, seen).data ?? []),
  shape: dataEnvelope({
    EMA: rows(INDICATOR_SHAPE),
    SMA: rows(INDICATOR_SHAPE),
    Indicator: rows(INDICATOR_SHAPE),
    Pivot: rows({ 'Classic~': 'record', 'Fibonacci?': 'record', 'Camarilla?': 'record' }),
  }),
  sample: ({ security_id }, market) => {
    const stock = market.stockBySid(security_id)
    const random = market.random('indicator', security_id)
    if (stock === undefined || random.chance(0.03)) return { data: [] }
    const line = (Indicator: string): Row => ({
      Indicator,
      Value: random.decimal(stock.Ltp * 0.8, stock.Ltp * 1.2),
      Action: random.pick(['Bullish', 'Bearish', 'Neutral']),
    })
    const averages = (kind: string): readonly Row[] => [5, 10, 20, 50, 100, 200].map((days) => line(`${days}-${kind}`))
    return {
      data: [
        {
          EMA: averages('EMA'),
          SMA: averages('SMA'),
          Indicator: [line('RSI(14)'), line('MACD(12,26)')],
          Pivot: [
            { Classic: { PP: stock.Ltp, R1: random.decimal(stock.Ltp, stock.Ltp * 1.1), S1: random.decimal(stock.Ltp * 0.9, stock.Ltp) } },
          ],
        },
      ],
    }
  },
})

/** Daily technical indicators of each stock: averages, RSI, MACD and pivots. */
export const advancedIndicators = defineStream({
  name: 'advanced-indicators',
  summary: 'technical indicators of each stock',
  phase: 'enrichment',
  workers: 50,
  timeoutMs: 10_000,
  endpoints: [indicator],
  work: perStock((stock, { ask, settings: { exchange } }) =>
    ask(indicator, { exchange, segment: 'E', security_id: requireSid(stock), isin: stock.ISIN, symbol: stock.Symbol, minute: 'D' }).pipe(
      map((rows) => createResult(rows.map((row) => toStockRecord<Indicators>(stock, row)))),
    ),
  ),
  outputs: [{ shape: 'rows-in-one-file', file: 'advanced_indicator_data.json' }],
})
