import { bufferOf } from '../model/bytes.js'
import { type Candles, candlesIn, LATEST } from '../model/candle.js'

const NAMES = ['"Time"', '"o"', '"h"', '"l"', '"c"', '"v"'] as const

const [TAB, LINE_FEED, RETURN, SPACE, COMMA, POINT, ZERO, NINE, CLOSE] = [9, 10, 13, 32, 44, 46, 48, 57, 93] as const

/** A decimal of so many characters is the one that JavaScript writes for the number it stands for. */
const LONGEST = 15
/** Below 0.000001 JavaScript writes an exponent. */
const LONGEST_BELOW_ONE = '0.000001'.length

/**
 * The candles of an answer as lines of CSV, from bytes to bytes: six cursors walk its columns side by side, and nothing is made of a row
 * but its line. Nothing where anything is not just as it usually is, such as a number that JavaScript would write in another way, a name
 * twice, a column that is missing or shorter, or no candle at all: then the answer must be parsed, which also tells what is wrong.
 */
export const candleLines = (answer: Uint8Array): Candles | undefined => {
  const bytes = bufferOf(answer)
  const columns = columnsIn(bytes)
  return columns && linesOf(bytes, columns)
}

/** Where the first values of the six columns stand. What is in the columns is not looked at. */
const columnsIn = (bytes: Buffer): Int32Array | undefined => {
  const columns = new Int32Array(NAMES.length)
  let at = 0
  const takes = (...tokens: readonly string[]): boolean =>
    tokens.every((token) => {
      const from = afterSpace(bytes, at)
      if (bytes.toString('latin1', from, from + token.length) !== token) return false
      at = from + token.length
      return true
    })
  const takesColumn = (): boolean => {
    const column = NAMES.findIndex((name) => takes(name))
    if (column < 0 || columns[column] !== 0 || !takes(':', '[')) return false
    columns[column] = afterSpace(bytes, at)
    at = bytes.indexOf(CLOSE, at) + 1
    return at > 0
  }
  if (!takes('{') || (takes('"success"') && !takes(':', 'true', ',')) || !takes('"data"', ':', '{')) return undefined
  do if (!takesColumn()) return undefined
  while (takes(','))
  return takes('}', '}') && afterSpace(bytes, at) === bytes.length && !columns.includes(0) ? columns : undefined
}

/**
 * Walks the columns to their common end, moving the cursors. Digits are copied as they come; whether they were a number as JavaScript
 * writes it shows where they end.
 */
const linesOf = (bytes: Buffer, cursors: Int32Array): Candles | undefined => {
  // A column's values and what separates them are as long as its part of the lines, or longer.
  const csv = Buffer.allocUnsafe(bytes.length)
  let [to, length, newest] = [0, 0, 0]
  let follows: number | undefined = COMMA
  for (; follows === COMMA; length += 1) {
    const time = timeAt(bytes, cursors[0] as number)
    if (time <= newest || time > LATEST) return undefined
    newest = time
    for (let column = 0; column < NAMES.length; column += 1) {
      const at = cursors[column] as number
      const point = copyDigits(bytes, at, csv, to)
      let end = point
      to += point - at
      if (bytes[point] === POINT) {
        csv[to++] = POINT
        end = copyDigits(bytes, point + 1, csv, to)
        to = withoutZeros(csv, to + end - point - 1)
      }
      if (point === at || end === point + 1 || end - at > LONGEST) return undefined
      if (bytes[at] === ZERO && (point > at + 1 || end - at > LONGEST_BELOW_ONE)) return undefined
      const next = afterSpace(bytes, end)
      if (column === 0) follows = bytes[next]
      else if (bytes[next] !== follows) return undefined
      csv[to++] = COMMA
      cursors[column] = afterSpace(bytes, next + 1)
    }
    csv[to - 1] = LINE_FEED
  }
  return follows === CLOSE ? candlesIn(csv.subarray(0, to), length) : undefined
}

/** The whole number at a place; 0 if there is none. */
const timeAt = (bytes: Buffer, from: number): number => {
  let time = 0
  for (let at = from; ; at += 1) {
    const byte = bytes[at] as number
    if (!isDigit(byte)) return byte === POINT ? 0 : time
    time = time * 10 + byte - ZERO
  }
}

/** Copies the digits at a place; where they end. */
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

/** Where a fraction ends without the zeros at its end. */
const withoutZeros = (csv: Buffer, end: number): number => {
  let to = end
  while (csv[to - 1] === ZERO) to -= 1
  return csv[to - 1] === POINT ? to - 1 : to
}

const isDigit = (byte: number): boolean => byte >= ZERO && byte <= NINE

/** Where the next token of JSON begins. */
const afterSpace = (bytes: Buffer, from: number): number => {
  let at = from
  while (isSpace(bytes[at] as number)) at += 1
  return at
}

const isSpace = (byte: number): boolean => byte <= SPACE && (byte === SPACE || byte === LINE_FEED || byte === RETURN || byte === TAB)
