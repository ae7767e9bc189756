import { z } from 'zod'
import { json } from '../http/answer.js'
import { post } from '../http/endpoint.js'
import { type Candle, type Candles, createCsvCandles, MAX_EPOCH_SECONDS } from '../model/candle.js'
import { BadAnswerError } from '../model/errors.js'
import { column, row } from '../model/row-schema.js'
import { asBuffer } from '../model/text.js'
import { toDay } from '../model/trading-day.js'
import { isSameDay } from './candle-file.js'
import { thresholds } from './refusal-policy.js'

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
  const misfit = rows.find((row) => !Number.isSafeInteger(row[VOLUME]) || row.some((cell) => Math.abs(cell) > Number.MAX_SAFE_INTEGER))
  if (misfit)
    throw new BadAnswerError('schema', `the candle of ${toDay(misfit[0] * 1_000)} does not fit its columns: ${misfit.slice(1).join(', ')}`)
  return hasAscendingTimes(rows) ? rows : sortUnique(rows)
}

const hasAscendingTimes = (rows: readonly Candle[]): boolean =>
  rows.every(([time], index) => index === 0 || time > (rows[index - 1] as Candle)[0])

/** Of two candles with the same timestamp, the last one in the answer wins. */
const sortUnique = (rows: readonly Candle[]): readonly Candle[] =>
  [...new Map(rows.map((row) => [row[0], row])).values()].sort((one, other) => one[0] - other[0])

const VOLUME = 5

const NAMES = ['"Time"', '"o"', '"h"', '"l"', '"c"', '"v"'] as const

const [TAB, LINE_FEED, RETURN, SPACE, COMMA, POINT, ZERO, NINE, CLOSE] = [9, 10, 13, 32, 44, 46, 48, 57, 93] as const

/** A decimal of up to this many characters is exactly what JavaScript prints for its number. */
const MAX_DIGITS = 15
/** Below 0.000001 JavaScript prints an exponent. */
const MAX_DIGITS_BELOW_ONE = '0.000001'.length

/**
 * Converts the candles of an answer to CSV lines, from bytes to bytes: six cursors walk the columns side by side, and no row becomes an
 * object. Returns nothing for anything unusual (a number that JavaScript would print differently, a volume with a fraction, two new
 * candles of a day, a duplicate name, a missing or shorter column, no candle at all): then the answer must be parsed as JSON, which also finds the error.
 */
export const toCandleCsv = (answer: Uint8Array): Candles | undefined => {
  const bytes = asBuffer(answer)
  const columns = findColumns(bytes)
  return columns && copyRows(bytes, columns)
}

/** Finds the first value of each of the six columns, without reading the columns. */
const findColumns = (bytes: Buffer): Int32Array | undefined => {
  const columns = new Int32Array(NAMES.length)
  let at = 0
  const takes = (...tokens: readonly string[]): boolean =>
    tokens.every((token) => {
      const from = skipSpace(bytes, at)
      if (bytes.toString('latin1', from, from + token.length) !== token) return false
      at = from + token.length
      return true
    })
  const takesColumn = (): boolean => {
    const column = NAMES.findIndex((name) => takes(name))
    if (column < 0 || columns[column] !== 0 || !takes(':', '[')) return false
    columns[column] = skipSpace(bytes, at)
    at = bytes.indexOf(CLOSE, at) + 1
    return at > 0
  }
  if (!takes('{') || (takes('"success"') && !takes(':', 'true', ',')) || !takes('"data"', ':', '{')) return undefined
  do if (!takesColumn()) return undefined
  while (takes(','))
  return takes('}', '}') && skipSpace(bytes, at) === bytes.length && !columns.includes(0) ? columns : undefined
}

/** Walks the columns to their common end, moving the cursors. Digits are copied first and validated at the end of each number. */
const copyRows = (bytes: Buffer, cursors: Int32Array): Candles | undefined => {
  // Large enough: a value and its separator in the answer are never shorter than in the CSV.
  const csv = Buffer.allocUnsafe(bytes.length)
  let [to, length, newest, repeated] = [0, 0, 0, Number.NEGATIVE_INFINITY]
  let follows: number | undefined = COMMA
  for (; follows === COMMA; length += 1) {
    const time = readTime(bytes, cursors[0] as number)
    if (time <= newest || time > MAX_EPOCH_SECONDS) return undefined
    if (length > 0 && isSameDay(newest, time)) repeated = length
    newest = time
    for (let column = 0; column < NAMES.length; column += 1) {
      const at = cursors[column] as number
      const point = copyDigits(bytes, at, csv, to)
      let end = point
      to += point - at
      if (bytes[point] === POINT) {
        const whole = to
        csv[to++] = POINT
        end = copyDigits(bytes, point + 1, csv, to)
        to = trimZeros(csv, to + end - point - 1)
        if (column === VOLUME && to > whole) return undefined
      }
      if (point === at || end === point + 1 || end - at > MAX_DIGITS) return undefined
      if (bytes[at] === ZERO && (point > at + 1 || end - at > MAX_DIGITS_BELOW_ONE)) return undefined
      const next = skipSpace(bytes, end)
      if (column === 0) follows = bytes[next]
      else if (bytes[next] !== follows) return undefined
      csv[to++] = COMMA
      cursors[column] = skipSpace(bytes, next + 1)
    }
    csv[to - 1] = LINE_FEED
  }
  return follows === CLOSE && length - repeated >= thresholds.prices.newest ? createCsvCandles(csv.subarray(0, to), length) : undefined
}

/** Reads the whole number at an offset; 0 without one. */
const readTime = (bytes: Buffer, from: number): number => {
  let time = 0
  for (let at = from; ; at += 1) {
    const byte = bytes[at] as number
    if (!isDigit(byte)) return byte === POINT ? 0 : time
    time = time * 10 + byte - ZERO
  }
}

/** Copies the digits at an offset; returns the offset behind them. */
const copyDigits = (bytes: Buffer, from: number, csv: Buffer, start: number): number => {
  let at = from
  let to = start
  let byte = bytes[at] as number
  while (isDigit(byte)) {
    csv[to++] = byte
    byte = bytes[++at] as number
  }
  return at
}

/** The end of a fraction without its trailing zeros. */
const trimZeros = (csv: Buffer, end: number): number => {
  let to = end
  while (csv[to - 1] === ZERO) to -= 1
  return csv[to - 1] === POINT ? to - 1 : to
}

const isDigit = (byte: number): boolean => byte >= ZERO && byte <= NINE

/** The offset of the next JSON token. */
const skipSpace = (bytes: Buffer, from: number): number => {
  let at = from
  while (isSpace(bytes[at] as number)) at += 1
  return at
}

const isSpace = (byte: number): boolean => byte <= SPACE && (byte === SPACE || byte === LINE_FEED || byte === RETURN || byte === TAB)
