import { type CandleArrays, readCandleFile } from '../../market/candle-file.js'

export { type CandleArrays, dayToNumber, numberToDay } from '../../market/candle-file.js'

/** The candles of one stock or index, with their file. */
export interface CandleSeries {
  readonly symbol: string
  readonly file: string
  readonly candles: CandleArrays
}

export interface ParsedCandles {
  readonly candles: CandleArrays
  /** The first defect of the file, such as a line that is no candle. The other lines are read anyway. */
  readonly fault?: string
}

/** Reads a candle file; nothing of it if it lacks the header. */
export const parseCandles = (bytes: Buffer): ParsedCandles => {
  const { candles, hasHeader, badLine, isTruncated } = readCandleFile(bytes)
  if (!hasHeader) return { candles: { ...candles, length: 0 }, fault: 'its first line is not the header' }
  if (badLine) return { candles, fault: `line ${badLine.number} is no candle` }
  return isTruncated ? { candles, fault: 'its last line is truncated' } : { candles }
}
