import { z } from 'zod'
import { json } from '../http/answer.js'
import { post } from '../http/endpoint.js'
import { type Candle, type Candles, MAX_EPOCH_SECONDS } from '../model/candle.js'
import { BadAnswerError } from '../model/errors.js'
import { column, row } from '../model/row-schema.js'
import { toCandleCsv } from './candle-csv.js'

const required = <S extends z.ZodType>(schema: S): S => column(schema, { usual: true, required: true })
const EmptyList = z.array(z.unknown()).length(0)
const Columns = row({
  Time: required(z.array(z.int()).nullish()),
  o: required(z.array(z.number()).nullish()),
  h: required(z.array(z.number()).nullish()),
  l: required(z.array(z.number()).nullish()),
  c: required(z.array(z.number()).nullish()),
  v: required(z.array(z.number()).nullish()),
})
const CandleAnswer = z.looseObject({ data: z.union([Columns, EmptyList]).nullish() })

const AnswerShape = row({
  success: z.union([z.boolean(), z.string()]).optional(),
  code: z.number().optional(),
  data: column(z.union([z.array(Columns), Columns]).optional(), { required: true }),
})

/** Defines the candle endpoint, for stocks or for indices. Candles are ascending and unique by timestamp; there may be none. */
export const createCandleEndpoint = (name: string, instrument: z.ZodType<string>) =>
  post({
    name,
    host: 'ticks',
    path: '/getDataH',
    input: z.strictObject({
      EXCH: z.string().min(1),
      SYM: z.string().min(1),
      SEG: z.string().min(1),
      INST: instrument,
      SEC_ID: z.string().min(1),
      EXPCODE: z.literal(0),
      INTERVAL: z.literal('D'),
      START: z.int().positive(),
      END: z.int().positive(),
    }),
    read: (text, _, inspect): Candles => toCandles(json(CandleAnswer)(text, undefined, inspect).data ?? []),
    shape: AnswerShape,
    readBytes: toCandleCsv,
    sample: ({ SEC_ID, START, END }, market) => ({ success: true, data: market.candles(SEC_ID, START, END) }),
  })

const toCandles = (data: z.output<typeof Columns> | readonly unknown[]): readonly Candle[] => {
  if (Array.isArray(data)) return []
  const { Time, o, h, l, c, v } = data as z.output<typeof Columns>
  const columns = [Time ?? [], o ?? [], h ?? [], l ?? [], c ?? [], v ?? []]
  const lengths = columns.map(({ length }) => length)
  if (new Set(lengths).size > 1) throw new BadAnswerError('schema', `the six candle columns differ in length: ${lengths.join(', ')}`)
  if (Time?.some((time) => time > MAX_EPOCH_SECONDS)) throw new BadAnswerError('schema', 'the timestamps of the candles are not in seconds')
  const rows = (Time ?? []).map((_, index) => columns.map((column) => column[index]) as unknown as Candle)
  return hasAscendingTimes(rows) ? rows : sortUnique(rows)
}

const hasAscendingTimes = (rows: readonly Candle[]): boolean =>
  rows.every(([time], index) => index === 0 || time > (rows[index - 1] as Candle)[0])

/** Of two candles with the same timestamp, the last one in the answer wins. */
const sortUnique = (rows: readonly Candle[]): readonly Candle[] =>
  [...new Map(rows.map((row) => [row[0], row])).values()].sort((one, other) => one[0] - other[0])
