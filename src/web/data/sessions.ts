import { statSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as yieldTurn } from 'node:timers/promises'
import { dayToNumber, numberToDay } from '../../market/candle-file.js'
import type { Item } from '../../model/outcome.js'
import { getErrorCode } from '../../storage/file-system.js'
import { findAdjustments, readActions } from './adjustments.js'
import { getRunDay, readRunFacts } from './freshness.js'
import type { MarketFolder } from './market-folder.js'
import { createTailMemory, type PriceSummary, readPriceSummary, type SessionFacts } from './price-summary.js'
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
    const { size, mtimeMs } = statSync(path)
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

/** Averages and highs of a year need no older candles; the SQL view `breadth` has the same limit. */
const NEEDED_DAYS = 766

/** The day number after which candles count. */
export const findSince = async (folder: MarketFolder): Promise<number> => {
  const runDay = getRunDay(await readRunFacts(folder))
  return runDay === undefined ? 0 : dayToNumber(runDay) - NEEDED_DAYS
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
