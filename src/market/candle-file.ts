import { CANDLE_COLUMNS, type Candle, MAX_EPOCH_SECONDS } from '../model/candle.js'
import { thresholds } from './never-worse.js'
import { epochToDayNumber } from './same-series.js'

const HEADER_LINE = `${CANDLE_COLUMNS.join(',')}\n`

// Accepts numbers as JavaScript prints them, so that every row that a run wrote is valid. A timestamp in milliseconds is not.
const ROW_PATTERN = String.raw`([1-9]\d{0,9})(?:,-?\d+(?:\.\d+)?(?:e[+-]\d+)?){5}`

/** The end of a stored candle file, and whether new candles can be appended. */
export interface CandleFile {
  /** The last complete rows, at most two, the newest last. */
  readonly rows: readonly string[]
  /** Why no candle can be appended. */
  readonly fault?: string
  /** Whether the last line is truncated; the lines before it are valid. */
  readonly isTruncated: boolean
}

/** Checks a stored candle file in one pass: the header, then one row per day in ascending order. */
export const checkCandles = (text: string): CandleFile => {
  if (!text.startsWith(HEADER_LINE)) return { rows: [], fault: 'unexpected header', isTruncated: false }
  const row = new RegExp(`${ROW_PATTERN}\n`, 'y')
  let [before, last, end, newest] = [HEADER_LINE.length, HEADER_LINE.length, HEADER_LINE.length, 0]
  row.lastIndex = end
  while (row.test(text)) {
    const time = readNumber(text, end)
    if (time > MAX_EPOCH_SECONDS) return { rows: [], fault: 'impossible timestamp', isTruncated: false }
    if (time <= newest) return { rows: [], fault: time === newest ? 'duplicate timestamp' : 'timestamps not in order', isTruncated: false }
    before = last
    last = end
    end = row.lastIndex
    newest = time
  }
  // An interrupted write can truncate the last line only.
  const lineEnd = text.indexOf('\n', end)
  if (lineEnd >= 0 && lineEnd < text.length - 1) return { rows: [], fault: 'malformed line', isTruncated: false }
  const rows = [text.slice(before, last), text.slice(last, end)].filter((line) => line !== '').map((line) => line.trimEnd())
  return { rows, isTruncated: end < text.length }
}

const readNumber = (text: string, from: number): number => {
  let number = 0
  for (let at = from; ; at += 1) {
    const digit = text.charCodeAt(at) - 48
    if (digit < 0 || digit > 9) return number
    number = number * 10 + digit
  }
}

/** The closes that can be read from a candle file, even a damaged one. */
export interface StoredCloses {
  readonly count: number
  /** Epoch seconds; 0 if there is no candle. */
  readonly newest: number
  /** By the number of their day. */
  readonly closes: ReadonlyMap<number, number>
  /** The newest candles, by the number of their day. */
  readonly recent: ReadonlyMap<number, Candle>
}

export const readCloses = (text: string): StoredCloses => {
  const closes = new Map<number, number>()
  const lines: string[] = []
  let newest = 0
  for (const [line, time] of text.matchAll(new RegExp(`^${ROW_PATTERN}$`, 'gm'))) {
    if (Number(time) > MAX_EPOCH_SECONDS) continue
    closes.set(epochToDayNumber(Number(time)), Number(line.split(',', 5)[4]))
    newest = Math.max(newest, Number(time))
    lines.push(line)
  }
  const recent = lines.slice(-thresholds.prices.newest).map((line) => line.split(',').map(Number) as unknown as Candle)
  return { count: closes.size, newest, closes, recent: new Map(recent.map((candle) => [epochToDayNumber(candle[0]), candle])) }
}
