import { bufferOf } from './bytes.js'
import type { RowList } from './outcome.js'

/** Timestamp (epoch seconds), open, high, low, close, volume. */
export type Candle = readonly [number, number, number, number, number, number]

/** The year 2100, epoch seconds: what lies beyond was not meant in seconds. */
export const LATEST = 4_102_444_800

/** Candles ascending by timestamp, each once: an array of them, or the lines of CSV that hold them. */
export interface Candles extends RowList<Candle> {
  /** The first or the last one. */
  at(place: 0 | -1): Candle | undefined
}

const LINE_FEED = 10

/** Candles that stay lines of CSV until someone walks them. Each of the `length` lines holds six plain numbers and ends in `\n`. */
export const candlesIn = (lines: Uint8Array, length: number): Candles => {
  const csv = bufferOf(lines)
  return {
    csv,
    length,
    at: (place) => {
      if (length === 0) return undefined
      return candleAt(csv, place === 0 ? 0 : csv.lastIndexOf(LINE_FEED, -2) + 1)
    },
    *[Symbol.iterator]() {
      for (let from = 0; from < csv.length; from = csv.indexOf(LINE_FEED, from) + 1) yield candleAt(csv, from)
    },
  }
}

const candleAt = (csv: Buffer, from: number): Candle =>
  csv.toString('latin1', from, csv.indexOf(LINE_FEED, from)).split(',').map(Number) as unknown as Candle
