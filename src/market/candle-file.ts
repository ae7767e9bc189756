import { CANDLE_COLUMNS, type Candle, type Candles, MAX_EPOCH_SECONDS } from '../model/candle.js'
import { formatNumber } from '../model/format.js'

import { asBuffer } from '../model/text.js'
import { type Day, toDay } from '../model/trading-day.js'

const HEADER = Buffer.from(`${CANDLE_COLUMNS.join(',')}\n`)
export const [LINE_FEED, COMMA, POINT, ZERO, NINE] = [10, 44, 46, 48, 57] as const

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
    ...(badLine && { badLine }),
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

/**
 * Whether two prices differ by more than rounding to paise (up to 2 % of a low price) or to four digits
 * explains.
 */
export const isDifferentPrice = (one: number, other: number): boolean =>
  Math.abs(one - other) > Math.max(Math.min(0.011, Math.abs(one) * 0.02), Math.abs(one) * 1e-4)

/**
 * How the first `length` candles of an answered history differ from the stored ones: in a price, or because
 * they are not stored.
 */
export const describeRewriting = (
  stored: CandleArrays,
  answered: CandleArrays,
  length: number,
): string | undefined => {
  const prices = (['open', 'high', 'low', 'close'] as const).map(
    (name) => [stored[name], answered[name]] as const,
  )
  const changed: number[] = []
  for (let [at, index] = [0, 0]; index < length; index += 1) {
    const time = answered.time[index] as number
    while (at < stored.length && (stored.time[at] as number) < time) at += 1
    const isStored = at < stored.length && stored.time[at] === time
    if (
      !isStored ||
      prices.some(([one, other]) => isDifferentPrice(one[at] as number, other[index] as number))
    )
      changed.push(time)
  }
  const counts = `${formatNumber(changed.length)} of ${formatNumber(length)} earlier candles differ`
  return changed[0] === undefined ? undefined : `${counts}, from ${toDay(changed[0] * 1_000)} on`
}
