import { map } from 'rxjs'
import { z } from 'zod'
import { defineStream, perStock } from '../src/engine/define-stream.js'
import { json } from '../src/http/answer.js'
import { post } from '../src/http/endpoint.js'
import { assertSameIsin } from '../src/market/listings.js'
import { toCents } from '../src/model/format.js'
import { createResult } from '../src/model/outcome.js'
import {
  column,
  dataEnvelope,
  type Row,
  type RowOf,
  Rows,
  row,
  type TableColumn,
  textSuchAs,
} from '../src/model/row-schema.js'
import { requireSid, StockRecord, toStockRecord } from '../src/model/stock.js'
import { toDocumentColumns } from '../src/model/table.js'

/**
 * A technical indicator: its name (`20-EMA`, `RSI(14)`), its value in rupees or on its own scale, and its
 * signal.
 */
export const IndicatorValue = row({
  Indicator: column(z.string(), { about: 'such as 20-EMA, 200-SMA or RSI(14)', sql: 'indicator' }),
  Value: column(z.number(), {
    about: 'rupees for averages, points for the others',
    sql: 'value',
    or: 'text',
  }),
  Action: column(textSuchAs('Bullish', 'Bearish', 'Neutral'), {
    about: 'Bullish, Bearish or Neutral',
    sql: 'action',
  }),
})
export interface IndicatorValue extends RowOf<typeof IndicatorValue> {}

const Levels = z.record(z.string(), z.number())
const Pivot = z.object({
  Classic: column(Levels, { usual: true }),
  Fibonacci: Levels.optional(),
  Camarilla: Levels.optional(),
})

/**
 * The daily indicators of one stock, with the fields observed in answers. `Pivot` has levels in rupees by
 * method, such as `Classic`.
 */
export const Indicators = row({
  EMA: z.array(IndicatorValue),
  SMA: z.array(IndicatorValue),
  Indicator: z.array(IndicatorValue),
  Pivot: column(z.array(Pivot.catchall(Levels)), { about: 'all pivot points as answered', sql: 'pivots' }),
})
export interface Indicators extends RowOf<typeof Indicators> {}

/** A level of the classic method. */
const pivot = (name: string, key: string, about: string): TableColumn => ({
  name,
  type: 'DOUBLE',
  comment: `${about}, rupees`,
  from: { row: [`$.Pivot[0].Classic.${key}`] },
})

const PIVOTS = [
  pivot('pivot', 'PP', 'classic pivot point'),
  pivot('r1', 'R1', 'first resistance'),
  pivot('r2', 'R2', 'second resistance'),
  pivot('r3', 'R3', 'third resistance'),
  pivot('s1', 'S1', 'first support'),
  pivot('s2', 'S2', 'second support'),
  pivot('s3', 'S3', 'third support'),
]

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
  read: (text, { isin }, seen, earlier): readonly Row[] =>
    assertSameIsin(isin, json(Rows)(text, undefined, seen).data ?? [], earlier),
  shape: dataEnvelope(z.array(Indicators)),
  sample: ({ security_id }, market) => {
    const now = market.asOf / 1_000
    const { h, l, c } = market.candles(security_id, now - 400 * 86_400, now)
    const [high = 0, low = 0, last] = [h.at(-1), l.at(-1), c.at(-1)]
    if (last === undefined || market.random('indicator', security_id).chance(0.03)) return { data: [] }
    const line = (Indicator: string, value: number, sign: number): Row => ({
      Indicator,
      Value: toCents(value),
      Action: sign > 0 ? 'Bullish' : sign < 0 ? 'Bearish' : 'Neutral',
    })
    const averages = (
      kind: string,
      average: (closes: readonly number[], days: number) => number,
    ): readonly Row[] =>
      [5, 10, 20, 50, 100, 200]
        .filter((days) => c.length >= days)
        .map((days) => line(`${days}-${kind}`, average(c, days), last - average(c, days)))
    const moves = c.slice(-14).map((close, place, own) => close - (own[place - 1] ?? close))
    // The share of the rises in all moves.
    const rsi = (sumOf(moves.map((move) => Math.max(0, move))) / (sumOf(moves.map(Math.abs)) || 1)) * 100
    const macd = computeEma(c, 12) - computeEma(c, 26)
    const [PP, range] = [(high + low + last) / 3, high - low]
    const [first, third] = [
      { R1: 2 * PP - low, S1: 2 * PP - high },
      { R3: high + 2 * (PP - low), S3: low - 2 * (high - PP) },
    ]
    const pivots = Object.entries({ PP, ...first, R2: PP + range, S2: PP - range, ...third })
    return {
      data: [
        {
          EMA: averages('EMA', computeEma),
          SMA: averages('SMA', (closes, days) => sumOf(closes.slice(-days)) / days),
          Indicator: [line('RSI(14)', rsi, Math.round((rsi - 50) / 10)), line('MACD(12,26)', macd, macd)],
          Pivot: [{ Classic: Object.fromEntries(pivots.map(([name, level]) => [name, toCents(level)])) }],
        },
      ],
    }
  },
})

const sumOf = (list: readonly number[]): number => list.reduce((sum, one) => sum + one, 0)

const computeEma = (closes: readonly number[], days: number): number =>
  closes.reduce((average, close) => average + ((close - average) * 2) / (days + 1))

/** Daily technical indicators of each stock: averages, RSI, MACD and pivots. */
export const advancedIndicators = defineStream({
  name: 'advanced-indicators',
  summary: 'technical indicators of each stock',
  phase: 'enrichment',
  position: 6,
  workers: 50,
  timeoutMs: 10_000,
  endpoints: [indicator],
  work: perStock((stock, { ask, settings: { exchange } }) =>
    ask(indicator, {
      exchange,
      segment: 'E',
      security_id: requireSid(stock),
      isin: stock.ISIN,
      symbol: stock.Symbol,
      minute: 'D',
    }).pipe(map((rows) => createResult(rows.map((row) => toStockRecord<Indicators>(stock, row))))),
  ),
  outputs: [
    {
      shape: 'rows-in-one-file',
      file: 'advanced_indicator_data.json',
      tables: [
        {
          name: 'indicators',
          about: 'technical indicators on daily candles, one row for each stock and indicator',
          lists: ['SMA', 'EMA', 'Indicator'],
          elsewhere: ['Pivot'],
          columns: [...toDocumentColumns(StockRecord), IndicatorValue],
          position: 7,
        },
        {
          name: 'pivots',
          about: 'daily pivot points, one row for each stock',
          elsewhere: ['SMA', 'EMA', 'Indicator'],
          columns: [StockRecord, ...PIVOTS, Indicators],
          position: 8,
        },
      ],
    },
  ],
})
