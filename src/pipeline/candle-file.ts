import { dayNumberOf } from '../market/same-series.js'
import { LATEST } from '../model/candle.js'

export const CANDLE_COLUMNS = ['Timestamp', 'Open', 'High', 'Low', 'Close', 'Volume'] as const

const HEADER = `${CANDLE_COLUMNS.join(',')}\n`

// As JavaScript writes numbers, so that whatever was written by us is also sound. A timestamp in milliseconds is none.
const CELLS = String.raw`([1-9]\d{0,9})(?:,-?\d+(?:\.\d+)?(?:e[+-]\d+)?){5}`

/** What a run must know of a stored candle file. */
export interface CandleFile {
  /** Its last whole rows, the newest last; two at most. */
  readonly rows: readonly string[]
  /** Why nothing can be put behind what is there. */
  readonly fault?: string
  /** Whether the last line is no whole row; what lies before it is sound. */
  readonly isTorn: boolean
}

/** Reads a stored candle file through once: every line a row of its own day, in order, under the one header. */
export const checkCandles = (text: string): CandleFile => {
  if (!text.startsWith(HEADER)) return { rows: [], fault: 'it had another header', isTorn: false }
  const row = new RegExp(`${CELLS}\n`, 'y')
  let [before, last, end, newest] = [HEADER.length, HEADER.length, HEADER.length, 0]
  row.lastIndex = end
  while (row.test(text)) {
    const time = numberAt(text, end)
    if (time > LATEST) return { rows: [], fault: 'it held a day that cannot be', isTorn: false }
    if (time <= newest) return { rows: [], fault: time === newest ? 'it held a day twice' : 'it was not in order', isTorn: false }
    before = last
    last = end
    end = row.lastIndex
    newest = time
  }
  // Only the last line can be what a write left behind that was cut off.
  const lineEnd = text.indexOf('\n', end)
  if (lineEnd >= 0 && lineEnd < text.length - 1) return { rows: [], fault: 'a line in it was torn', isTorn: false }
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

/** What can be read from a candle file in whatever state. */
export interface StoredCloses {
  readonly count: number
  /** Epoch seconds; 0 if there is no candle. */
  readonly newest: number
  /** By the number of their day. */
  readonly closes: ReadonlyMap<number, number>
}

export const closesIn = (text: string): StoredCloses => {
  const closes = new Map<number, number>()
  let newest = 0
  for (const [line, time] of text.matchAll(new RegExp(`^${CELLS}$`, 'gm'))) {
    if (Number(time) > LATEST) continue
    closes.set(dayNumberOf(Number(time)), Number(line.split(',', 5)[4]))
    newest = Math.max(newest, Number(time))
  }
  return { count: closes.size, newest, closes }
}
