import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { keepLastOfDays, parseCandles, pickCandles } from '../../analysis/verify/candle-series.js'
import { findImpossibleCandles } from '../../analysis/verify/odd-candles.js'
import { type CandleArrays, numberToDay } from '../../market/candle-file.js'
import { getErrorCode } from '../../storage/file-system.js'
import type { About } from '../api/about.js'
import type { CandlesAnswer } from '../api/stock.js'
import { type Adjustment, adjustCandles, findFactorSteps } from './adjustments.js'

/** A candle file, put in order for display. */
export interface ShownCandles {
  /** Ascending by day, each day once, without impossible ones, as stored. */
  readonly stored: CandleArrays
  /** In rupees and shares of today; the same if nothing is to be adjusted. */
  readonly adjusted: CandleArrays
  /** What was left out or put in order, as sentences. */
  readonly cleaned: readonly string[]
  /** As in the file, for the checks. */
  readonly raw: CandleArrays
  /** Why the file cannot be read, or the first defect of it. */
  readonly fault?: string
}

/** Reads a candle file of a stock or an index. A chart needs ascending days and possible prices: other candles are left out, and named. */
export const readShownCandles = async (root: string, file: string, adjustments: readonly Adjustment[] = []): Promise<ShownCandles> => {
  const { candles: raw, fault } = parseCandles(await readBytes(join(root, file)))
  const ordered = keepLastOfDays(raw)
  const steps = findFactorSteps(ordered, adjustments)
  const { days: impossible } = findImpossibleCandles({ symbol: '', file, candles: ordered })
  const indices = [...ordered.day.subarray(0, ordered.length).keys()].filter((index) => !impossible.has(ordered.day[index] as number))
  const stored = impossible.size === 0 ? ordered : pickCandles(ordered, indices)
  return {
    stored,
    adjusted: adjustCandles(stored, steps),
    cleaned: describeCleaning({ raw, ordered, impossible: impossible.size }),
    raw,
    ...(fault === undefined ? {} : { fault }),
  }
}

/** An empty file for one that does not exist. */
const readBytes = async (path: string): Promise<Buffer> => {
  try {
    return await readFile(path)
  } catch (error) {
    if (getErrorCode(error) === 'ENOENT') return Buffer.alloc(0)
    throw error
  }
}

interface Cleaning {
  readonly raw: CandleArrays
  readonly ordered: CandleArrays
  readonly impossible: number
}

const describeCleaning = ({ raw, ordered, impossible }: Cleaning): readonly string[] => {
  const repeated = raw.length - ordered.length
  const isUnordered = ordered !== raw && [...raw.day.subarray(1, raw.length)].some((day, index) => day < (raw.day[index] as number))
  return [
    ...(repeated > 0
      ? [`${repeated} ${repeated === 1 ? 'candle repeats a day' : 'candles repeat a day'}: the last one in the file is shown`]
      : []),
    ...(isUnordered ? ['the days were not in order'] : []),
    ...(impossible > 0 ? [`${impossible} impossible ${impossible === 1 ? 'candle is' : 'candles are'} left out`] : []),
  ]
}

/** The candles as columns for a chart. */
export const toCandlesAnswer = (
  shown: ShownCandles,
  { isAdjusted, about }: { readonly isAdjusted: boolean; readonly about: About },
): CandlesAnswer => {
  const candles = isAdjusted ? shown.adjusted : shown.stored
  const column = (values: Float64Array): readonly number[] => Array.from(values.subarray(0, candles.length), round)
  const days = Array.from(candles.day.subarray(0, candles.length), numberToDay)
  const last = days.at(-1)
  return {
    // Candles are about their newest day, not about the day of the run.
    about: last === undefined ? about : { ...about, day: last },
    days,
    open: column(candles.open),
    high: column(candles.high),
    low: column(candles.low),
    close: column(candles.close),
    volume: column(candles.volume),
    isAdjusted: shown.adjusted !== shown.stored,
    cleaned: [...shown.cleaned, ...(shown.fault === undefined ? [] : [`the file is damaged: ${shown.fault}`])],
  }
}

/** Six digits after the point are more than any price has; divided prices have more, which only cost space. */
const round = (value: number): number => Math.round(value * 1e6) / 1e6
