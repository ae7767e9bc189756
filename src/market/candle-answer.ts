import { z } from 'zod'
import { json } from '../http/answer.js'
import { post } from '../http/endpoint.js'
import { CANDLE_COLUMNS, type Candle, type Candles, MAX_EPOCH_SECONDS } from '../model/candle.js'
import { BadAnswerError } from '../model/errors.js'
import { formatNumber, formatQuantity } from '../model/format.js'
import { column, row } from '../model/row-schema.js'
import { asBuffer } from '../model/text.js'
import { toDay } from '../model/trading-day.js'
import { COMMA, createCsvCandles, isSameDay, LINE_FEED, NINE, POINT, ZERO } from './candle-file.js'
import { thresholds } from './refusal-policy.js'

const list = <S extends z.ZodType>(cell: S) =>
  column(z.array(cell).nullish(), { usual: true, required: true })
const [whole, decimal] = [z.int(), z.number().nullable()]
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
  const all = (Time ?? []).map((_, index) => columns.map((column) => column[index]) as unknown as Candle)
  const { rows, leftOut } = leaveOut(hasAscendingTimes(all) ? all : sortUnique(all))
  return leftOut.size === 0 ? rows : Object.assign(rows, { leftOut })
}

/**
 * Leaves out the days without prices, and the candles that do not fit their columns: one bad candle must not
 * cost a stock all others.
 *
 * @throws BadAnswerError if that is all of the answer, or many of its candles do not fit
 */
const leaveOut = (candles: readonly Candle[]) => {
  const rows: Candle[] = []
  const leftOut = new Map<number, string>()
  for (const candle of candles) {
    const fault = isBlank(candle) ? '' : findMisfit(candle)
    if (fault === undefined) rows.push(candle)
    else leftOut.set(candle[0], fault)
  }
  const misfits = [...leftOut].filter(([, fault]) => fault !== '')
  const areMany = misfits.length > 2 && misfits.length > thresholds.maxMisfits * candles.length
  for (const [time, fault] of rows.length === 0 || areMany ? misfits : [])
    throw new BadAnswerError(
      'schema',
      `the candle of ${toDay(time * 1_000)} does not fit its columns: ${fault}`,
    )
  return { rows, leftOut }
}

/** Whether a candle says that nothing was traded: it has no price, or zeros alone. */
const isBlank = ([, ...cells]: Candle): boolean => {
  const [prices, volume] = [cells.slice(0, -1) as readonly (number | null)[], cells.at(-1)]
  return prices.every((price) => price === null) || (!volume && prices.every((price) => !price))
}

const findMisfit = ([, ...cells]: Candle): string | undefined => {
  const place = cells.findIndex((cell: number | null, index) =>
    index === VOLUME - 1 || cell === null
      ? !Number.isSafeInteger(cell)
      : Math.abs(cell) > Number.MAX_SAFE_INTEGER,
  )
  return place < 0 ? undefined : `${CANDLE_COLUMNS[place + 1]?.toLowerCase()} is ${cells[place]}`
}

const DAYS_NAMED = 3

/** A warning for the days without prices, and one for the candles that do not fit their columns. */
export const describeLeftOut = (symbol: string, leftOut: ReadonlyMap<number, string>): readonly string[] => {
  const days = [...leftOut].map(([time, fault]) => ({ day: toDay(time * 1_000), fault }))
  const describe = (what: string, some: typeof days): readonly string[] => {
    if (some.length === 0) return []
    const named = some
      .slice(0, DAYS_NAMED)
      .map(({ day, fault }) => (fault === '' ? day : `${day} (${fault})`))
    const more = some.length > DAYS_NAMED ? ` and ${formatNumber(some.length - DAYS_NAMED)} more` : ''
    return [`${formatQuantity(some.length, 'candle')} ${what}: ${symbol} ${named.join(', ')}${more}`]
  }
  return [
    ...describe(
      'without prices left out',
      days.filter(({ fault }) => fault === ''),
    ),
    ...describe(
      'refused',
      days.filter(({ fault }) => fault !== ''),
    ),
  ]
}

const hasAscendingTimes = (rows: readonly Candle[]): boolean =>
  rows.every(([time], index) => index === 0 || time > (rows[index - 1] as Candle)[0])

/** Of two candles with the same timestamp, the last one in the answer wins. */
const sortUnique = (rows: readonly Candle[]): readonly Candle[] =>
  [...new Map(rows.map((row) => [row[0], row])).values()].sort((one, other) => one[0] - other[0])

const VOLUME = 5
/** The values of a candle without any trade. */
const ZEROS = Buffer.from('0,0,0,0,0\n')

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
 * JavaScript would print differently, a volume with a fraction, a candle of zeros, two new candles of a day,
 * a duplicate name, a missing or shorter column, no candle at all): then the answer must be parsed as JSON,
 * which also finds the error.
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
 * Walks the columns to their common end, row by row. One loop over cursors in a typed array: a function for a
 * number, called for each of the five, takes 1.6 times as long, because V8 inlines the first two calls only.
 */
const copyCandleRows = (bytes: Buffer, starts: readonly number[]): Candles | undefined => {
  const cursors = Int32Array.from(starts)
  let timeAt = cursors[0] as number
  // Large enough: a value and its separator in the answer are never shorter than in the CSV.
  const csv = Buffer.allocUnsafe(bytes.length)
  let to = 0
  let length = 0
  let newest = 0
  let repeated = -thresholds.prices.newest
  let end: number = COMMA
  for (; end === COMMA; length += 1) {
    if (bytes[timeAt] === ZERO) return undefined
    let time = 0
    for (end = bytes[timeAt] as number; end >= ZERO && end <= NINE; end = bytes[++timeAt] as number) {
      time = time * 10 + end - ZERO
      csv[to++] = end
    }
    if (time <= newest || time > MAX_EPOCH_SECONDS) return undefined
    if (length > 0 && isSameDay(newest, time)) repeated = length
    newest = time
    timeAt += 1
    csv[to++] = COMMA
    const values = to
    for (let column = 1; column <= VOLUME; column += 1) {
      const start = cursors[column] as number
      let at = start
      let byte = bytes[at] as number
      for (; byte >= ZERO && byte <= NINE; byte = bytes[++at] as number) csv[to++] = byte
      const whole = at - start
      if (byte === POINT) {
        const point = to
        csv[to++] = POINT
        for (byte = bytes[++at] as number; byte >= ZERO && byte <= NINE; byte = bytes[++at] as number)
          csv[to++] = byte
        if (to === point + 1) return undefined
        while (csv[to - 1] === ZERO) to -= 1
        if (to === point + 1) to = point
        else if (column === VOLUME) return undefined
      }
      const read = at - start
      if (byte !== end || whole === 0 || read > MAX_DIGITS) return undefined
      if (bytes[start] === ZERO && (whole > 1 || read > MAX_DIGITS_BELOW_ONE)) return undefined
      csv[to++] = COMMA
      cursors[column] = at + 1
    }
    csv[to - 1] = LINE_FEED
    if (to === values + ZEROS.length && csv.subarray(values, to).equals(ZEROS)) return undefined
  }
  return end === LIST_END && length - repeated >= thresholds.prices.newest
    ? createCsvCandles(csv.subarray(0, to), length)
    : undefined
}
