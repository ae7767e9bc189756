import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as othersTurn } from 'node:timers/promises'
import type { Day } from '../model/trading-day.js'
import { type CandleColumns, dayOfNumber, readCandles, type Series } from './candle-columns.js'
import { daysInOrder } from './days-in-order.js'
import type { Finding } from './finding.js'
import { median } from './price-moves.js'

/** What is kept of a file to find others that hold some of its candles. */
export interface Printed extends Pick<Series, 'symbol' | 'file'> {
  /** A number for each stretch of days that is filled with trade; two files that hold the same candles then have the same number. */
  readonly prints: Float64Array
}

/** Candles of one stock in the file of another. */
export interface Shared {
  readonly finding: Finding
  /** The days on which that file passes from one series to the other. */
  readonly cuts: ReadonlySet<Day>
}

/** What two files share for twice as long holds a whole such stretch. */
const STRETCH_DAYS = 16
const FEWEST_IN_STRETCH = 8
/** No two stocks close at one price with one volume on so many days on end. */
const FEWEST_SHARED = 10

export const printsOf = ({ day, close, volume, length }: CandleColumns): Float64Array => {
  const prints: number[] = []
  for (let place = 0; place < length; ) {
    const stretch = Math.floor((day[place] as number) / STRETCH_DAYS)
    let [print, traded] = [0, 0]
    for (; place < length && Math.floor((day[place] as number) / STRETCH_DAYS) === stretch; place += 1) {
      if (volume[place] === 0) continue
      traded += 1
      for (const value of [day[place], Math.round((close[place] as number) * 100), volume[place]] as number[])
        print = Math.imul(print ^ value ^ (print >>> 15), 0x01000193)
    }
    if (traded >= FEWEST_IN_STRETCH) prints.push(stretch * 2 ** 32 + (print >>> 0))
  }
  return Float64Array.from(prints)
}

/**
 * Finds candles that two files share, and reads those files once more to be sure. Of the two, the finding is
 * about the one whose price and volume step further where those candles begin or end.
 */
export const sharedCandles = async (root: string, all: readonly Printed[]): Promise<readonly Shared[]> => {
  const found: Shared[] = []
  for (const [one, other] of pairsAlike(all)) {
    const [candles, others] = [one, other].map((series) => candlesIn(root, series))
    const runs = candles && others ? runsShared(candles, others) : []
    if (candles && others && runs.length > 0) {
      const mine = { candles, runs: runs.map(([run]) => run) }
      const theirs = { candles: others, runs: runs.map(([, run]) => run) }
      found.push(breakAt(mine) > breakAt(theirs) ? sharedOf(one, other, mine) : sharedOf(other, one, theirs))
    }
    await othersTurn()
  }
  return found
}

const pairsAlike = (all: readonly Printed[]): Iterable<readonly [Printed, Printed]> => {
  const twice = thereTwice(all.map(({ prints }) => prints))
  const first = new Map<number, Printed>()
  const pairs = new Map<string, readonly [Printed, Printed]>()
  if (twice.size === 0) return []
  for (const one of all)
    for (const print of one.prints) {
      if (!twice.has(print)) continue
      const other = first.get(print)
      if (other === undefined) first.set(print, one)
      else pairs.set(`${other.file}\n${one.file}`, [other, one])
    }
  return pairs.values()
}

const thereTwice = (all: readonly Float64Array[]): ReadonlySet<number> => {
  const sorted = new Float64Array(all.reduce((sum, { length }) => sum + length, 0))
  let end = 0
  for (const prints of all) {
    sorted.set(prints, end)
    end += prints.length
  }
  sorted.sort()
  return new Set(sorted.filter((print, place) => place > 0 && print === sorted[place - 1]))
}

const candlesIn = (root: string, { symbol, file }: Printed): CandleColumns | undefined =>
  daysInOrder({ symbol, file, candles: readCandles(readFileSync(join(root, file))).candles }).candles

/** Candles on end, by the place of the first. */
interface Run {
  readonly place: number
  readonly length: number
}

/** The candles of a series, and those among them that another one has too. */
interface Sharing {
  readonly candles: CandleColumns
  readonly runs: readonly Run[]
}

/** What two series have in common, as it lies in the one and in the other. */
const runsShared = (one: CandleColumns, other: CandleColumns): readonly (readonly [Run, Run])[] => {
  const runs: (readonly [Run, Run])[] = []
  let [place, otherPlace] = [0, 0]
  while (place < one.length && otherPlace < other.length) {
    let [length, traded] = [0, 0]
    for (; areSame(one, place + length, other, otherPlace + length); length += 1) if (one.volume[place + length] !== 0) traded += 1
    const run = { place, length }
    if (traded >= FEWEST_SHARED) runs.push([run, { place: otherPlace, length }])
    place += length
    otherPlace += length
    const ahead = (one.day[place] ?? 0) - (other.day[otherPlace] ?? 0)
    if (ahead <= 0) place += 1
    if (ahead >= 0) otherPlace += 1
  }
  return runs
}

const areSame = (one: CandleColumns, place: number, other: CandleColumns, otherPlace: number): boolean =>
  place < one.length &&
  otherPlace < other.length &&
  one.day[place] === other.day[otherPlace] &&
  one.close[place] === other.close[otherPlace] &&
  one.volume[place] === other.volume[otherPlace]

/** Where a series passes from its own candles to those of the other, or back. */
const edgesOf = ({ candles: { length }, runs }: Sharing): readonly number[] =>
  runs.flatMap((run) => [run.place, run.place + run.length]).filter((place) => place > 0 && place < length)

const AROUND = 20

/** How far price and volume step at the edge where they do so most. */
const breakAt = (sharing: Sharing): number => {
  const { close, volume, length } = sharing.candles
  const steps = edgesOf(sharing).map((place) => {
    const before = median(volume.subarray(Math.max(0, place - AROUND), place))
    const after = median(volume.subarray(place, Math.min(length, place + AROUND)))
    return Math.abs(Math.log((close[place] as number) / (close[place - 1] as number))) + Math.abs(Math.log((after + 1) / (before + 1)))
  })
  return Math.max(0, ...steps)
}

const sharedOf = ({ symbol, file }: Printed, { symbol: other }: Printed, sharing: Sharing): Shared => {
  const { candles, runs } = sharing
  const dayAt = (place: number): Day => dayOfNumber(candles.day[place] as number)
  const [first, last] = [runs[0] as Run, runs.at(-1) as Run]
  const [day, until] = [dayAt(first.place), dayAt(last.place + last.length - 1)]
  const count = runs.reduce((sum, { length }) => sum + length, 0)
  const detail = `${count} candles from ${day} to ${until} are those of ${other} too: one of the two files holds another stock's series`
  return {
    finding: { check: 'spliced-series', severity: 'error', symbol, other, day, file, detail },
    cuts: new Set(edgesOf(sharing).map(dayAt)),
  }
}
