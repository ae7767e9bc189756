import { thresholds } from '../market/never-worse.js'
import { dayNumberOf } from '../market/same-series.js'
import { type Candle, LATEST } from '../model/candle.js'
import { CANDLE_COLUMNS } from '../model/candle-row.js'

const HEADER = `${CANDLE_COLUMNS.join(',')}\n`

// Accepts numbers as JavaScript prints them, so that every row that a run wrote is valid. A timestamp in milliseconds is not.
const CELLS = String.raw`([1-9]\d{0,9})(?:,-?\d+(?:\.\d+)?(?:e[+-]\d+)?){5}`

/** The end of a stored candle file, and whether new candles can be appended. */
export interface CandleFile {
  /** The last complete rows, at most two, the newest last. */
  readonly rows: readonly string[]
  /** Why no candle can be appended. */
  readonly fault?: string
  /** Whether the last line is truncated; the lines before it are valid. */
  readonly isTorn: boolean
}

/** Checks a stored candle file in one pass: the header, then one row per day in ascending order. */
export const checkCandles = (text: string): CandleFile => {
  if (!text.startsWith(HEADER)) return { rows: [], fault: 'unexpected header', isTorn: false }
  const row = new RegExp(`${CELLS}\n`, 'y')
  let [before, last, end, newest] = [HEADER.length, HEADER.length, HEADER.length, 0]
  row.lastIndex = end
  while (row.test(text)) {
    const time = numberAt(text, end)
    if (time > LATEST) return { rows: [], fault: 'impossible timestamp', isTorn: false }
    if (time <= newest) return { rows: [], fault: time === newest ? 'duplicate timestamp' : 'timestamps not in order', isTorn: false }
    before = last
    last = end
    end = row.lastIndex
    newest = time
  }
  // An interrupted write can truncate the last line only.
  const lineEnd = text.indexOf('\n', end)
  if (lineEnd >= 0 && lineEnd < text.length - 1) return { rows: [], fault: 'malformed line', isTorn: false }
  const rows = [text.slice(before, last), text.slice(last, end)].filter((line) => line !== '').map((line) => line.trimEnd())
  return { rows, isTorn: end < text.length }
}

const numberAt = (text: string, from: number): number => {
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

export const closesIn = (text: string): StoredCloses => {
  const closes = new Map<number, number>()
  const lines: string[] = []
  let newest = 0
  for (const [line, time] of text.matchAll(new RegExp(`^${CELLS}$`, 'gm'))) {
    if (Number(time) > LATEST) continue
    closes.set(dayNumberOf(Number(time)), Number(line.split(',', 5)[4]))
    newest = Math.max(newest, Number(time))
    lines.push(line)
  }
  const recent = lines.slice(-thresholds.prices.newest).map((line) => line.split(',').map(Number) as unknown as Candle)
  return { count: closes.size, newest, closes, recent: new Map(recent.map((candle) => [dayNumberOf(candle[0]), candle])) }
}
