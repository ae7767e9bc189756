import { z } from 'zod'
import { json } from '../http/answer.js'
import { post } from '../http/endpoint.js'
import { CANDLE_COLUMNS, type Candle, type Candles, MAX_EPOCH_SECONDS } from '../model/candle.js'
import { BadAnswerError } from '../model/errors.js'
import { column, row } from '../model/row-schema.js'
import { asBuffer } from '../model/text.js'
import { type Day, toDay } from '../model/trading-day.js'
import { thresholds } from './refusal-policy.js'

const HEADER = Buffer.from(`${CANDLE_COLUMNS.join(',')}\n`)
const [LINE_FEED, COMMA, POINT, ZERO, NINE] = [10, 44, 46, 48, 57] as const

/**
 * Candles that stay CSV and are parsed during iteration. Each of the `length` lines has six plain numbers and
 * ends in `\n`.
 */
export const createCsvCandles = (lines: Uint8Array, length: number): Candles => {
  const csv = asBuffer(lines)
  return {
    csv,
    length,
    at: (index) => {
      if (length === 0) return undefined
      return parseCandle(csv, index === 0 ? 0 : csv.lastIndexOf(LINE_FEED, -2) + 1)
    },
    *[Symbol.iterator]() {
      for (let from = 0; from < csv.length; from = csv.indexOf(LINE_FEED, from) + 1)
        yield parseCandle(csv, from)
    },
  }
}

const parseCandle = (csv: Buffer, from: number): Candle =>
  csv.toString('latin1', from, csv.indexOf(LINE_FEED, from)).split(',').map(Number) as unknown as Candle

/** The candles of a file as columns, in the order of the file. */
export interface CandleArrays {
  readonly length: number
  /** Epoch seconds. */
  readonly time: Float64Array
  /** The day in India, in days since 1970; see `numberToDay`. */
  readonly day: Int32Array
  readonly open: Float64Array
  readonly high: Float64Array
  readonly low: Float64Array
  readonly close: Float64Array
  readonly volume: Float64Array
}

/** A candle file as it was read. Lines that are no candles are left out, whatever they contain. */
export interface CandleFile {
  readonly candles: CandleArrays
  /** Whether the first line is the header; without it, every line is read as a candle. */
  readonly hasHeader: boolean
  /** The first complete line that is no candle. */
  readonly badLine?: {
    /** The number of the line in the file, from 1. */
    readonly number: number
    /** How many candles precede it. */
    readonly candlesBefore: number
    readonly isLast: boolean
  }
  /** Whether the last line has no line end, so that it may lack characters. It is left out. */
  readonly isTruncated: boolean
}

/**
 * Reads a candle file from its bytes: ten times faster than from text. Who reads thousands of files passes
 * arrays with room for all lines, which the next file overwrites: new ones for each file cost more than the
 * reading.
 */
export const readCandleFile = (
  bytes: Buffer,
  columns = createCandleArrays(countLines(bytes)),
): CandleFile => {
  const hasHeader = bytes.subarray(0, HEADER.length).equals(HEADER)
  const cells = new Float64Array(CANDLE_COLUMNS.length)
  let [at, line, length] = hasHeader ? [HEADER.length, 2, 0] : [0, 1, 0]
  let badLine: CandleFile['badLine']
  // Behind the last line end, nothing is read: V8 reads an array twice as fast in a loop that never reads
  // past its end.
  for (const last = bytes.lastIndexOf(LINE_FEED); at <= last; line += 1) {
    const read = readCandleLine(bytes, at, cells)
    const end = read < 0 ? bytes.indexOf(LINE_FEED, at) : read
    if (read >= 0) setCandle(columns, length++, cells)
    else badLine ??= { number: line, candlesBefore: length, isLast: end === bytes.length - 1 }
    at = end + 1
  }
  return {
    candles: { ...columns, length },
    hasHeader,
    ...(badLine ? { badLine } : {}),
    isTruncated: at < bytes.length,
  }
}

const countLines = (bytes: Buffer): number => {
  let lines = 0
  for (let at = bytes.indexOf(LINE_FEED); at >= 0; at = bytes.indexOf(LINE_FEED, at + 1)) lines += 1
  return lines
}

export const createCandleArrays = (room: number): CandleArrays => ({
  length: 0,
  time: new Float64Array(room),
  day: new Int32Array(room),
  open: new Float64Array(room),
  high: new Float64Array(room),
  low: new Float64Array(room),
  close: new Float64Array(room),
  volume: new Float64Array(room),
})

const setCandle = (
  { time, day, open, high, low, close, volume }: CandleArrays,
  index: number,
  cells: Float64Array,
): void => {
  time[index] = cells[0] as number
  day[index] = toDayNumber(cells[0] as number)
  open[index] = cells[1] as number
  high[index] = cells[2] as number
  low[index] = cells[3] as number
  close[index] = cells[4] as number
  volume[index] = cells[5] as number
}

// Numbers as JavaScript prints them, so that every line that a run wrote is valid.
const NUMBER_PATTERN = /^-?\d+(?:\.\d+)?(?:e[+-]\d+)?$/

/**
 * Reads the numbers of a line that has an end into `cells`. Returns its end, or -1 unless they are the six of
 * a candle; a timestamp in milliseconds is not.
 */
const readCandleLine = (bytes: Buffer, from: number, cells: Float64Array): number => {
  let at = from
  for (let cell = 0; cell < cells.length; cell += 1) {
    const start = at
    let digits = 0
    let decimals = 0
    let byte = bytes[at] as number
    for (; byte >= ZERO && byte <= NINE; byte = bytes[++at] as number) digits = digits * 10 + byte - ZERO
    if (byte === POINT && at > start) {
      byte = bytes[++at] as number
      for (; byte >= ZERO && byte <= NINE; byte = bytes[++at] as number) {
        digits = digits * 10 + byte - ZERO
        decimals += 1
      }
      if (decimals === 0) return -1
    }
    const isPlain = byte === COMMA || byte === LINE_FEED
    while (byte !== COMMA && byte !== LINE_FEED) byte = bytes[++at] as number
    if (at === start || byte !== (cell < cells.length - 1 ? COMMA : LINE_FEED)) return -1
    if (cell === 0 && !(isPlain && decimals === 0 && bytes[start] !== ZERO && digits <= MAX_EPOCH_SECONDS))
      return -1
    // Fast path: an integer below 2^53 divided by an exact power of ten equals `Number(text)`. Anything else
    // uses `Number`.
    const isExact = isPlain && digits < Number.MAX_SAFE_INTEGER && decimals < POWERS.length
    const value = isExact
      ? digits / (POWERS[decimals] as number)
      : parseCell(bytes.toString('latin1', start, at))
    if (!Number.isFinite(value)) return -1
    cells[cell] = value
    at += 1
  }
  return at - 1
}

const POWERS = Array.from({ length: 16 }, (_, power) => 10 ** power)

const parseCell = (text: string): number => (NUMBER_PATTERN.test(text) ? Number(text) : Number.NaN)

export const candleAt = (
  { length, time, open, high, low, close, volume }: CandleArrays,
  index: number,
): Candle | undefined =>
  index < 0 || index >= length
    ? undefined
    : ([time, open, high, low, close, volume].map((column) => column[index] as number) as unknown as Candle)

/**
 * Why no candle can be appended to a file; `undefined` if its candles ascend, one per day or session, and
 * only its last line is incomplete: an interrupted write can truncate no other line.
 */
export const findFileFault = ({
  candles,
  hasHeader,
  badLine,
  isTruncated,
}: CandleFile): string | undefined => {
  if (!hasHeader) return 'unexpected header'
  const { time } = candles
  const length = badLine?.candlesBefore ?? candles.length
  for (let index = 1; index < length; index += 1) {
    if (time[index] === time[index - 1]) return 'duplicate timestamp'
    if ((time[index] as number) < (time[index - 1] as number)) return 'timestamps not in order'
  }
  return badLine !== undefined && (isTruncated || !badLine.isLast) ? 'malformed line' : undefined
}

export const formatCandleFile = (candles: Candles): readonly (string | Uint8Array)[] => [
  HEADER,
  formatCandles(candles),
]

/**
 * The chunks of a file in which new candles replace the stored ones from the first new timestamp on. Stored
 * bytes without the header are dropped. Searches backwards, because new candles overlap only the end.
 */
export const formatAppended = (stored: Uint8Array, candles: Candles): readonly (string | Uint8Array)[] => {
  const bytes = asBuffer(stored)
  if (!bytes.subarray(0, HEADER.length).equals(HEADER)) return formatCandleFile(candles)
  const from = candles.at(0)?.[0] ?? Number.POSITIVE_INFINITY
  const cells = new Float64Array(CANDLE_COLUMNS.length)
  let end = bytes.length
  while (end > HEADER.length) {
    const start = bytes.lastIndexOf(LINE_FEED, end - 2) + 1
    // A truncated line may start with part of a timestamp, which would look like an older one.
    const isWhole = bytes[end - 1] === LINE_FEED && readCandleLine(bytes, start, cells) === end - 1
    if (isWhole && (cells[0] as number) < from) break
    end = start
  }
  return [bytes.subarray(0, end), formatCandles(candles)]
}

/** Numbers need no quotes in CSV. */
const formatCandles = (candles: Candles): string | Uint8Array =>
  candles.csv ?? Array.from(candles, (candle) => `${candle.join(',')}\n`).join('')

const INDIA_OFFSET_SECONDS = 19_800
export const DAY_SECONDS = 86_400

/** The day of a candle in days since 1970 in India, whatever hour its timestamp has. */
export const toDayNumber = (time: number): number => Math.floor((time + INDIA_OFFSET_SECONDS) / DAY_SECONDS)

export const toCandleDay = ([time]: Candle): Day => toDay(time * 1_000)

/** Whether two ascending times are on one day. */
export const isSameDay = (earlier: number, later: number): boolean =>
  later - earlier < DAY_SECONDS && toDayNumber(later) === toDayNumber(earlier)

export const numberToDay = (number: number): Day => toDay(number * DAY_SECONDS * 1_000)

export const dayToNumber = (day: Day): number => Date.parse(`${day}T00:00:00Z`) / (DAY_SECONDS * 1_000)

const list = <S extends z.ZodType>(cell: S) =>
  column(z.array(cell).nullish(), { usual: true, required: true })
const [whole, decimal] = [z.int(), z.number()]
const AnsweredColumns = row({
  Time: list(whole),
  o: list(decimal),
  h: list(decimal),
  l: list(decimal),
  c: list(decimal),
  v: list(decimal),
})
const EmptyList = z.array(z.unknown()).length(0)
const CandleAnswer = z.looseObject({ data: z.union([AnsweredColumns, EmptyList]).nullish() })

const AnswerShape = row({
  success: z.union([z.boolean(), z.string()]).optional(),
  code: z.number().optional(),
  data: column(z.union([z.array(AnsweredColumns), AnsweredColumns]).optional(), { required: true }),
})

/**
 * Defines the candle endpoint, for stocks or for indices. Candles are ascending and unique by timestamp;
 * there may be none.
 */
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
    read: (text, _, inspect): Candles =>
      readCandleRows(json(CandleAnswer)(text, undefined, inspect).data ?? []),
    shape: AnswerShape,
    readBytes: toCandleCsv,
    sample: ({ SEC_ID, START, END }, market) => ({ success: true, data: market.candles(SEC_ID, START, END) }),
  })

const readCandleRows = (data: z.output<typeof AnsweredColumns> | readonly unknown[]): readonly Candle[] => {
  if (Array.isArray(data)) return []
  const { Time, o, h, l, c, v } = data as z.output<typeof AnsweredColumns>
  const columns = [Time ?? [], o ?? [], h ?? [], l ?? [], c ?? [], v ?? []]
  const lengths = columns.map(({ length }) => length)
  if (new Set(lengths).size > 1)
    throw new BadAnswerError('schema', `the six candle columns differ in length: ${lengths.join(', ')}`)
  if (Time?.some((time) => time > MAX_EPOCH_SECONDS))
    throw new BadAnswerError('schema', 'the timestamps of the candles are not in seconds')
  const rows = (Time ?? []).map((_, index) => columns.map((column) => column[index]) as unknown as Candle)
  const misfit = rows.find(
    (row) =>
      !Number.isSafeInteger(row[VOLUME]) || row.some((cell) => Math.abs(cell) > Number.MAX_SAFE_INTEGER),
  )
  if (misfit)
    throw new BadAnswerError(
      'schema',
      `the candle of ${toDay(misfit[0] * 1_000)} does not fit its columns: ${misfit.slice(1).join(', ')}`,
    )
  return hasAscendingTimes(rows) ? rows : sortUnique(rows)
}

const hasAscendingTimes = (rows: readonly Candle[]): boolean =>
  rows.every(([time], index) => index === 0 || time > (rows[index - 1] as Candle)[0])

/** Of two candles with the same timestamp, the last one in the answer wins. */
const sortUnique = (rows: readonly Candle[]): readonly Candle[] =>
  [...new Map(rows.map((row) => [row[0], row])).values()].sort((one, other) => one[0] - other[0])

const VOLUME = 5

const HEADS = ['{"success":true,"data":{', '{"data":{'] as const
const COLUMN_STARTS: readonly string[] = ['"Time":[', '"o":[', '"h":[', '"l":[', '"c":[', '"v":[']
const MAX_START_LENGTH = 8

const [LIST_START, LIST_END, OBJECT_END] = [91, 93, 125] as const

/** A decimal of up to this many characters is exactly what JavaScript prints for its number. */
const MAX_DIGITS = 15
/** Below 0.000001 JavaScript prints an exponent. */
const MAX_DIGITS_BELOW_ONE = '0.000001'.length

/**
 * Converts the candles of an answer to CSV lines, from bytes to bytes: six cursors walk the columns side by
 * side, and no row becomes an object. Returns nothing for anything unusual (white space, a number that
 * JavaScript would print differently, a volume with a fraction, two new candles of a day, a duplicate name, a
 * missing or shorter column, no candle at all): then the answer must be parsed as JSON, which also finds the
 * error.
 */
export const toCandleCsv = (answer: Uint8Array): Candles | undefined => {
  const bytes = asBuffer(answer)
  const starts = findColumns(bytes)
  return starts && copyCandleRows(bytes, starts)
}

/** Finds the first value of each of the six columns, without reading the columns. */
const findColumns = (bytes: Buffer): readonly number[] | undefined => {
  const starts = [0, 0, 0, 0, 0, 0]
  let at = HEADS.find((head) => bytes.toString('latin1', 0, head.length) === head)?.length ?? 0
  do {
    const first = bytes.indexOf(LIST_START, at) + 1
    const column =
      first - at > MAX_START_LENGTH ? -1 : COLUMN_STARTS.indexOf(bytes.toString('latin1', at, first))
    if (column < 0 || starts[column] !== 0) return undefined
    starts[column] = first
    at = bytes.indexOf(LIST_END, first) + 1
    if (at === 0) return undefined
  } while (bytes[at++] === COMMA)
  const isWhole = bytes[at - 1] === OBJECT_END && bytes[at] === OBJECT_END && bytes.length === at + 1
  return isWhole && !starts.includes(0) ? starts : undefined
}

/**
 * Walks the columns to their common end. Cursors in local variables, each declared alone as an integer, are
 * 1.4 times as fast as an array: a list of initial values with a number that is no integer would make all of
 * them floating-point numbers.
 */
const copyCandleRows = (bytes: Buffer, starts: readonly number[]): Candles | undefined => {
  let [t, o, h, l, c, v] = starts as [number, number, number, number, number, number]
  // Large enough: a value and its separator in the answer are never shorter than in the CSV.
  const csv = Buffer.allocUnsafe(bytes.length)
  let to = 0
  let length = 0
  let newest = 0
  let repeated = -thresholds.prices.newest
  let end: number = COMMA
  for (; end === COMMA; length += 1) {
    if (bytes[t] === ZERO) return undefined
    let time = 0
    for (end = bytes[t] as number; end >= ZERO && end <= NINE; end = bytes[++t] as number) {
      time = time * 10 + end - ZERO
      csv[to++] = end
    }
    if (time <= newest || time > MAX_EPOCH_SECONDS) return undefined
    if (length > 0 && isSameDay(newest, time)) repeated = length
    newest = time
    t += 1
    csv[to++] = COMMA
    const open = copyCell(bytes, o, csv, to, end)
    to += open & WRITTEN
    const high = copyCell(bytes, h, csv, to, end)
    to += high & WRITTEN
    const low = copyCell(bytes, l, csv, to, end)
    to += low & WRITTEN
    const close = copyCell(bytes, c, csv, to, end)
    to += close & WRITTEN
    const from = to
    const volume = copyCell(bytes, v, csv, to, end)
    to += volume & WRITTEN
    if (open === 0 || high === 0 || low === 0 || close === 0 || volume === 0) return undefined
    o += open >> READ
    h += high >> READ
    l += low >> READ
    c += close >> READ
    v += volume >> READ
    for (let at = from; at < to; at += 1) if (csv[at] === POINT) return undefined
    csv[to - 1] = LINE_FEED
  }
  return end === LIST_END && length - repeated >= thresholds.prices.newest
    ? createCsvCandles(csv.subarray(0, to), length)
    : undefined
}

/**
 * The two numbers that `copyCell` returns as one: written bytes in the low bits, read bytes in the high ones.
 */
const [READ, WRITTEN] = [5, 31] as const

/**
 * Copies a number and a comma. Returns how many bytes it has read, up to and including `end`, and written; 0
 * for a number that JavaScript would print differently, or another end.
 */
const copyCell = (bytes: Buffer, start: number, csv: Buffer, from: number, end: number): number => {
  let at = start
  let to = from
  let byte = bytes[at] as number
  while (byte >= ZERO && byte <= NINE) {
    csv[to++] = byte
    byte = bytes[++at] as number
  }
  const whole = at - start
  if (byte === POINT) {
    const point = to
    csv[to++] = POINT
    byte = bytes[++at] as number
    while (byte >= ZERO && byte <= NINE) {
      csv[to++] = byte
      byte = bytes[++at] as number
    }
    if (to === point + 1) return 0
    while (csv[to - 1] === ZERO) to -= 1
    if (to === point + 1) to = point
  }
  const read = at - start
  if (byte !== end || whole === 0 || read > MAX_DIGITS) return 0
  if (bytes[start] === ZERO && (whole > 1 || read > MAX_DIGITS_BELOW_ONE)) return 0
  csv[to] = COMMA
  return ((read + 1) << READ) | (to + 1 - from)
}
