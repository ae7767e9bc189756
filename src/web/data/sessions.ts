import { join } from 'node:path'
import { BREADTH_DAYS } from '../../analysis/tables/breadth.js'
import { keepLastOfDays } from '../../analysis/verify/candle-series.js'
import { type CandleArrays, createCandleArrays, dayToNumber, numberToDay, readCandleFile } from '../../market/candle-file.js'
import type { Item } from '../../model/outcome.js'
import { DAYS_OF_52_WEEKS } from '../../model/trading-day.js'
import { disk } from '../../storage/disk.js'
import { getErrorCode, yieldTurn } from '../../storage/file-system.js'
import { type Adjustment, adjustCandles, findAdjustments, findFactorSteps, readActions } from './adjustments.js'
import { getRunDay, readRunFacts } from './freshness.js'
import type { MarketFolder } from './market-folder.js'
import { readStockNames } from './stocks.js'

/** A stock or an index with the end of its candles. */
export interface SummarizedItem {
  readonly item: Item
  readonly summary: PriceSummary
}

interface SummaryRequest {
  /** Where the candle files are, relative to the root. */
  readonly candles: string
  readonly items: readonly Item[]
  readonly adjustmentsOf?: Awaited<ReturnType<typeof readAdjustments>>
  /** Only candles after this day number. */
  readonly since: number
}

/** Summaries by path, with the size and time of the file and what they were made with. */
type SummaryCache = Map<string, { readonly stamp: string; readonly summary: PriceSummary | undefined }>

const FILES_PER_TURN = 25

/** Reads the ends of all candle files; of files that have not changed since, nothing. Gives way every few milliseconds. */
export const summarizeItems = async (
  { root }: MarketFolder,
  cache: SummaryCache,
  { candles, items, adjustmentsOf, since }: SummaryRequest,
): Promise<readonly SummarizedItem[]> => {
  const found: SummarizedItem[] = []
  const memory = createTailMemory()
  for (const [place, item] of items.entries()) {
    const path = join(root, candles, `${item.fileName}.csv`)
    const adjustments = adjustmentsOf?.get(item.key) ?? []
    const summary = summarize(
      path,
      cache,
      (size) => readPriceSummary(path, { size, adjustments, since, memory }),
      `${since} ${JSON.stringify(adjustments)}`,
    )
    if (summary !== undefined) found.push({ item, summary })
    if (place % FILES_PER_TURN === 0) await yieldTurn()
  }
  return found
}

const summarize = (
  path: string,
  cache: SummaryCache,
  read: (size: number) => PriceSummary | undefined,
  context: string,
): PriceSummary | undefined => {
  try {
    const { size, mtimeMs } = disk.statSync(path)
    const stamp = `${size} ${mtimeMs} ${context}`
    const known = cache.get(path)
    if (known?.stamp === stamp) return known.summary
    const summary = read(size)
    cache.set(path, { stamp, summary })
    return summary
  } catch (error) {
    // A file may be gone, or not readable: the stock counts as one without candles.
    if (getErrorCode(error) === undefined) throw error
    cache.delete(path)
    return undefined
  }
}

/** The splits and bonuses of all stocks, by present symbol. */
export const readAdjustments = async (folder: MarketFolder) =>
  findAdjustments((await readActions(folder)).rows, await readStockNames(folder))

/** The day number after which candles count. */
export const findSince = async (folder: MarketFolder): Promise<number> => {
  const runDay = getRunDay(await readRunFacts(folder))
  return runDay === undefined ? 0 : dayToNumber(runDay) - BREADTH_DAYS
}

/** Stocks that did not trade for longer do not decide what the newest session is. */
const RECENT_DAYS = 10

/**
 * The newest session: the newest day on which at least half of the stocks with candles of late have one. While a run is fetching, a few
 * have a newer one.
 */
export const findNewestSession = (all: readonly SummarizedItem[]): number | undefined => {
  const newest = all.reduce((most, { summary }) => Math.max(most, summary.sessions[0]?.day ?? 0), 0)
  const counts = new Map<number, number>()
  let recent = 0
  for (const { summary } of all) {
    if ((summary.sessions[0]?.day ?? 0) < newest - RECENT_DAYS) continue
    recent += 1
    for (const { day } of summary.sessions) counts.set(day, (counts.get(day) ?? 0) + 1)
  }
  const days = [...counts].filter(([, count]) => count * 2 >= recent).map(([day]) => day)
  return days.length === 0 ? (newest === 0 ? undefined : newest) : Math.max(...days)
}

/** The facts of a day; undefined if the stock has none. */
export const getSession = ({ summary }: SummarizedItem, day: number | undefined): SessionFacts | undefined =>
  summary.sessions.find((session) => session.day === day)

/** Advances and declines of the sessions of all stocks, oldest first. Days on which fewer than half of them trade are no sessions. */
export const countSessions = (all: readonly SummarizedItem[]): readonly (readonly [day: string, advances: number, declines: number])[] => {
  const counts = new Map<number, [all: number, advances: number, declines: number]>()
  for (const { summary } of all)
    for (const [place, day] of summary.days.entries()) {
      const count = counts.get(day) ?? counts.set(day, [0, 0, 0]).get(day)
      if (count === undefined) continue
      count[0] += 1
      if ((summary.signs[place] as number) > 0) count[1] += 1
      if ((summary.signs[place] as number) < 0) count[2] += 1
    }
  const most = Math.max(0, ...[...counts.values()].map(([count]) => count))
  return [...counts]
    .filter(([, [count]]) => count * 2 >= most)
    .sort(([one], [other]) => one - other)
    .slice(-60)
    .map(([day, [, advances, declines]]) => [numberToDay(day), advances, declines])
}

/** What the market view needs of a candle: its change, its volume, and where it stands in the sessions before. */
export interface SessionFacts {
  readonly day: number
  readonly close: number
  readonly change: number | undefined
  readonly volume: number
  /** Against the average of the 20 sessions before. */
  readonly volumeTimes: number | undefined
  readonly isAbove50: boolean | undefined
  readonly isAbove200: boolean | undefined
  readonly isNewHigh: boolean
  readonly isNewLow: boolean
}

/** The end of a candle file in a few hundred bytes. */
interface PriceSummary {
  /** The newest session and the one before: during a run, only some stocks have the newest one. */
  readonly sessions: readonly SessionFacts[]
  /** The days of the last 60 sessions, and whether each rose (1), fell (-1) or neither. */
  readonly days: Int32Array
  readonly signs: Int8Array
  readonly closes: Float64Array
}

/** A candle takes 40 to 60 bytes, and 52 weeks have at most 262 of them. */
const TAIL_BYTES = 16_000
/** The newest two sessions, with their averages of 200. */
const MIN_CANDLES = 202
const RECENT = 60

/** The shortest line of a candle is `1,1,1,1,1,1`. */
const MIN_LINE_BYTES = 12

/** Memory for the end of a file. Each file overwrites that of the one before: collecting new memory for each took as long as reading. */
interface TailMemory {
  readonly bytes: Buffer
  readonly candles: CandleArrays
}

const createTailMemory = (): TailMemory => ({
  bytes: Buffer.allocUnsafeSlow(TAIL_BYTES),
  candles: createCandleArrays(Math.ceil(TAIL_BYTES / MIN_LINE_BYTES)),
})

interface SummaryOptions {
  readonly size: number
  readonly adjustments: readonly Adjustment[]
  /** Older candles do not count. */
  readonly since: number
  readonly memory: TailMemory
}

/** Reads the last candles of a file of `size` bytes; undefined if it has none. Synchronous: several times faster than awaiting each file. */
const readPriceSummary = (path: string, { size, adjustments, since, memory }: SummaryOptions): PriceSummary | undefined => {
  const stored = readTail(path, size, memory)
  const candles = dropBefore(adjustCandles(stored, findFactorSteps(stored, adjustments)), since)
  const { length, day, close } = candles
  if (length === 0) return undefined
  const from = Math.max(0, length - RECENT)
  return {
    sessions: [length - 1, length - 2].filter((index) => index >= 0).map((index) => describeSession(candles, index)),
    days: day.slice(from, length),
    signs: Int8Array.from({ length: length - from }, (_, place) =>
      from + place === 0 ? 0 : Math.sign((close[from + place] as number) - (close[from + place - 1] as number)),
    ),
    closes: close.slice(from, length),
  }
}

const dropBefore = (candles: CandleArrays, since: number): CandleArrays => {
  let from = 0
  while (from < candles.length && (candles.day[from] as number) <= since) from += 1
  if (from === 0) return candles
  const { length, ...columns } = candles
  const cut = Object.fromEntries(Object.entries(columns).map(([name, values]) => [name, values.subarray(from, length)]))
  return { ...(cut as unknown as CandleArrays), length: length - from }
}

/** Reads more of the file if the end has too few candles, and all of it if they are not in order. */
const readTail = (path: string, size: number, memory: TailMemory): CandleArrays => {
  const file = disk.openSync(path, 'r')
  try {
    for (let bytes = TAIL_BYTES; ; bytes *= 2) {
      const { candles, isWhole } = readEnd(file, { size, bytes, memory })
      const ordered = keepLastOfDays(candles)
      if (isWhole || (hasEnough(candles) && ordered === candles)) return ordered
      if (ordered !== candles) return keepLastOfDays(readEnd(file, { size, bytes: size, memory }).candles)
    }
  } finally {
    disk.closeSync(file)
  }
}

/** Whether the newest two sessions have their averages and their 52 weeks. */
const hasEnough = ({ length, day }: CandleArrays): boolean =>
  length >= MIN_CANDLES && (day[0] as number) <= (day[length - 2] as number) - DAYS_OF_52_WEEKS

const readEnd = (file: number, { size, bytes, memory }: { readonly size: number; readonly bytes: number; readonly memory: TailMemory }) => {
  const length = Math.min(bytes, size)
  const buffer = length <= TAIL_BYTES ? memory.bytes.subarray(0, length) : Buffer.allocUnsafe(length)
  const end = buffer.subarray(0, disk.readSync(file, buffer, 0, length, size - length))
  const isWhole = bytes >= size
  const lines = isWhole ? end : end.subarray(end.indexOf('\n') + 1)
  return { candles: readCandleFile(lines, length <= TAIL_BYTES ? memory.candles : undefined).candles, isWhole }
}

const describeSession = ({ day, high, low, close, volume }: CandleArrays, index: number): SessionFacts => {
  const at = (values: Float64Array | Int32Array, place: number): number => values[place] as number
  const before = index > 0 ? at(close, index - 1) : undefined
  const last = at(close, index)
  const averageOf = (values: Float64Array, sessions: number, end: number): number | undefined => {
    if (end < sessions - 1) return undefined
    let sum = 0
    for (let place = end - sessions + 1; place <= end; place += 1) sum += at(values, place)
    return sum / sessions
  }
  const [sma50, sma200] = [averageOf(close, 50, index), averageOf(close, 200, index)]
  const usual = averageOf(volume, 20, index - 1)
  const yearStart = at(day, index) - DAYS_OF_52_WEEKS
  const hasYear = at(day, 0) <= yearStart && index > 0
  let [first, highest, lowest] = [index, Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY]
  for (; first > 0 && at(day, first - 1) >= yearStart; first -= 1) {
    highest = Math.max(highest, at(high, first - 1))
    lowest = Math.min(lowest, at(low, first - 1))
  }
  return {
    day: day[index] as number,
    close: last,
    change: before !== undefined && before !== 0 ? last / before - 1 : undefined,
    volume: at(volume, index),
    volumeTimes: usual !== undefined && usual > 0 ? at(volume, index) / usual : undefined,
    isAbove50: sma50 === undefined ? undefined : last > sma50,
    isAbove200: sma200 === undefined ? undefined : last > sma200,
    isNewHigh: hasYear && at(high, index) > highest,
    isNewLow: hasYear && at(low, index) < lowest,
  }
}
