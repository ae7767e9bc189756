import { join } from 'node:path'
import { type CandleArrays, numberToDay } from '../market/candle-file.js'
import { formatQuantity } from '../model/format.js'
import { median } from '../model/map.js'
import type { Day } from '../model/trading-day.js'
import { disk } from '../storage/disk.js'
import { yieldTurn } from '../storage/file-system.js'
import { parseCandles, type SeriesFile } from './candle-series.js'
import type { Finding } from './finding.js'
import { orderDays } from './series-checks.js'

/** A file with fingerprints, to find other files with the same candles. */
export interface Fingerprinted extends SeriesFile {
  /**
   * One fingerprint per stretch of days with enough trade. Files with the same candles have the same
   * fingerprints.
   */
  readonly fingerprints: Float64Array
}

/** Candles of one stock in the file of another. */
export interface SharedCandles {
  readonly finding: Finding
  /**
   * Whether a day has a shared candle, or is the first one after them: what is found there is of the other
   * stock, or of the switch.
   */
  readonly isShared: (day: Day) => boolean
}

/** Any shared range of twice this length contains a whole stretch. */
const STRETCH_DAYS = 16
const MIN_IN_STRETCH = 8
/** No two stocks have the same close and volume on this many consecutive days. */
const MIN_SHARED = 10

export const createFingerprints = ({ day, close, volume, length }: CandleArrays): Float64Array => {
  const fingerprints: number[] = []
  for (let index = 0; index < length; ) {
    const stretch = Math.floor((day[index] as number) / STRETCH_DAYS)
    let [print, traded] = [0, 0]
    for (; index < length && Math.floor((day[index] as number) / STRETCH_DAYS) === stretch; index += 1) {
      if (volume[index] === 0) continue
      traded += 1
      for (const value of [day[index], Math.round((close[index] as number) * 100), volume[index]] as number[])
        print = Math.imul(print ^ value ^ (print >>> 15), 0x01000193)
    }
    if (traded >= MIN_IN_STRETCH) fingerprints.push(stretch * 2 ** 32 + (print >>> 0))
  }
  return Float64Array.from(fingerprints)
}

/**
 * Finds candles that two files share; reads both files again to confirm. The finding is about the file whose
 * price and volume change more where the shared candles start or end.
 */
export const findSharedCandles = async (
  root: string,
  all: readonly Fingerprinted[],
): Promise<readonly SharedCandles[]> => {
  const found: SharedCandles[] = []
  for (const [one, other] of findPairs(all)) {
    const [candles, others] = [one, other].map((series) => readOrderedCandles(root, series))
    const runs = candles && others ? findSharedRuns(candles, others) : []
    if (candles && others && runs.length > 0) {
      const mine = { candles, runs: runs.map(([run]) => run) }
      const theirs = { candles: others, runs: runs.map(([, run]) => run) }
      found.push(
        measureBreak(mine) > measureBreak(theirs)
          ? createSharedFinding(one, other, mine)
          : createSharedFinding(other, one, theirs),
      )
    }
    await yieldTurn()
  }
  return found
}

const findPairs = (all: readonly Fingerprinted[]): Iterable<readonly [Fingerprinted, Fingerprinted]> => {
  const twice = findRepeated(all.map(({ fingerprints: prints }) => prints))
  const first = new Map<number, Fingerprinted>()
  const pairs = new Map<string, readonly [Fingerprinted, Fingerprinted]>()
  if (twice.size === 0) return []
  for (const one of all)
    for (const print of one.fingerprints) {
      if (!twice.has(print)) continue
      const other = first.get(print)
      if (other === undefined) first.set(print, one)
      else pairs.set(`${other.file}\n${one.file}`, [other, one])
    }
  return pairs.values()
}

const findRepeated = (all: readonly Float64Array[]): ReadonlySet<number> => {
  const sorted = new Float64Array(all.reduce((sum, { length }) => sum + length, 0))
  let end = 0
  for (const prints of all) {
    sorted.set(prints, end)
    end += prints.length
  }
  sorted.sort()
  return new Set(sorted.filter((print, index) => index > 0 && print === sorted[index - 1]))
}

const readOrderedCandles = (root: string, { file }: SeriesFile): CandleArrays | undefined =>
  orderDays(parseCandles(disk.readFileSync(join(root, file))).candles).candles

/** Consecutive candles, from the index of the first. */
interface SharedRun {
  readonly index: number
  readonly length: number
}

/** The candles of a series, and the runs of them that another series has too. */
interface Sharing {
  readonly candles: CandleArrays
  readonly runs: readonly SharedRun[]
}

/** The shared runs of two series, with their indices in each. */
const findSharedRuns = (
  one: CandleArrays,
  other: CandleArrays,
): readonly (readonly [SharedRun, SharedRun])[] => {
  const runs: (readonly [SharedRun, SharedRun])[] = []
  let [index, otherIndex] = [0, 0]
  while (index < one.length && otherIndex < other.length) {
    let [length, traded] = [0, 0]
    for (; areSame(one, index + length, other, otherIndex + length); length += 1)
      if (one.volume[index + length] !== 0) traded += 1
    const run = { index, length }
    if (traded >= MIN_SHARED) runs.push([run, { index: otherIndex, length }])
    index += length
    otherIndex += length
    const ahead = (one.day[index] ?? 0) - (other.day[otherIndex] ?? 0)
    if (ahead <= 0) index += 1
    if (ahead >= 0) otherIndex += 1
  }
  return runs
}

const areSame = (one: CandleArrays, index: number, other: CandleArrays, otherIndex: number): boolean =>
  index < one.length &&
  otherIndex < other.length &&
  one.day[index] === other.day[otherIndex] &&
  one.close[index] === other.close[otherIndex] &&
  one.volume[index] === other.volume[otherIndex]

const EDGE_CANDLES = 20

/**
 * The greatest change of price and volume where a series switches between its own candles and the shared
 * ones.
 */
const measureBreak = ({ candles: { close, volume, length }, runs }: Sharing): number => {
  const edges = runs
    .flatMap((run) => [run.index, run.index + run.length])
    .filter((index) => index > 0 && index < length)
  const steps = edges.map((index) => {
    const before = median(volume.subarray(Math.max(0, index - EDGE_CANDLES), index))
    const after = median(volume.subarray(index, Math.min(length, index + EDGE_CANDLES)))
    return (
      Math.abs(Math.log((close[index] as number) / (close[index - 1] as number))) +
      Math.abs(Math.log((after + 1) / (before + 1)))
    )
  })
  return Math.max(0, ...steps)
}

const createSharedFinding = (
  { symbol, file }: Fingerprinted,
  { symbol: other }: Fingerprinted,
  sharing: Sharing,
): SharedCandles => {
  const { candles, runs } = sharing
  const dayAt = (index: number): Day => numberToDay(candles.day[index] as number)
  const [first, last] = [runs[0] as SharedRun, runs.at(-1) as SharedRun]
  const [day, until] = [dayAt(first.index), dayAt(last.index + last.length - 1)]
  const ranges = runs.map(
    ({ index, length }) => [dayAt(index), dayAt(Math.min(index + length, candles.length - 1))] as const,
  )
  const count = runs.reduce((sum, { length }) => sum + length, 0)
  const detail = `${formatQuantity(count, 'candle')} from ${day} to ${until} are the same as those of ${other}: one of the two files has another stock's series`
  return {
    finding: { check: 'spliced-series', severity: 'error', symbol, other, day, file, detail },
    isShared: (wanted) => ranges.some(([from, to]) => wanted >= from && wanted <= to),
  }
}
