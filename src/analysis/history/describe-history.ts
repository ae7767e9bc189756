import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { numberToDay, readCandleFile } from '../../market/candle-file.js'
import type { Day } from '../../model/trading-day.js'
import type { StreamDefinition } from '../../pipeline/define-stream.js'
import { toFilePath } from '../../pipeline/output.js'
import { statFile } from '../../storage/file-system.js'
import { listBases, toBasePath } from '../../storage/history/bases.js'
import { listDays, readRecordedDay, toDayPath } from '../../storage/history/history-folder.js'
import { listOutputFiles } from '../../storage/output-files.js'
import { requireFolder } from '../../storage/run-state.js'

/** A day of the history. A session without a record has neither bytes nor streams. */
export interface HistoryDay {
  readonly day: Day
  /** When the newest part of it was collected, ISO 8601. */
  readonly knownAt?: string
  readonly bytes: number
  /** The streams whose lists it has. */
  readonly streams: readonly string[]
  /** The streams whose lists it lacks, although other days have them. */
  readonly missing: readonly string[]
  /** Why it cannot be read. */
  readonly damage?: string
}

/** The history of a folder. */
export interface HistorySummary {
  readonly folder: string
  /** Oldest first, with the sessions between them that have no record. */
  readonly days: readonly HistoryDay[]
  /** The size of what the days have in common. */
  readonly baseBytes: number
}

interface HistorySource {
  readonly streams: readonly StreamDefinition[]
  readonly exchange: string
}

/** Lists the recorded days of a folder, and the sessions between them that have no record. */
export const describeHistory = async (root: string, source: HistorySource): Promise<HistorySummary> => {
  await requireFolder(root)
  const days = await listDays(root)
  const recorded = await Promise.all(days.map((day) => describeDay(root, day)))
  const known = [...new Set(recorded.flatMap(({ streams }) => streams))]
  const [first = '', last = ''] = [days[0], days.at(-1)]
  const sessions = days.length < 2 ? [] : await listSessions(root, source)
  const gaps = sessions.filter((day) => day > first && day < last && !days.includes(day))
  const all = [
    ...recorded.map((one) => (one.damage === undefined ? { ...one, missing: known.filter((name) => !one.streams.includes(name)) } : one)),
    ...gaps.map((day): HistoryDay => ({ day, bytes: 0, streams: [], missing: known })),
  ]
  const baseBytes = (await listBases(root)).reduce((sum, { name }) => sum + sizeOf(toBasePath(root, name)), 0)
  return { folder: root, days: all.sort((one, other) => (one.day < other.day ? -1 : 1)), baseBytes }
}

const describeDay = async (root: string, day: Day): Promise<HistoryDay> => {
  const bytes = sizeOf(toDayPath(root, day))
  try {
    const entries = Object.values((await readRecordedDay(root, day))?.entries ?? {})
    const knownAt = entries
      .map((entry) => entry.knownAt)
      .sort()
      .at(-1)
    const streams = [...new Set(entries.flatMap(({ stream }) => stream ?? []))]
    return { day, bytes, streams, missing: [], ...(knownAt === undefined ? {} : { knownAt }) }
  } catch (error) {
    return { day, bytes, streams: [], missing: [], damage: (error as Error).message }
  }
}

const sizeOf = (path: string): number => statFile(path)?.size ?? 0

/** Series that are read to find the sessions: one alone may have gaps. */
const MAX_SERIES = 20

/** The days on which at least half of the first candle series between their ends have a candle; indices go before stocks. */
const listSessions = async (root: string, { streams, exchange }: HistorySource): Promise<readonly Day[]> => {
  const patterns = streams
    .flatMap(({ outputs }) => outputs.filter(({ shape }) => shape === 'candles-per-item'))
    .map((output) => toFilePath(output, exchange, { fileName: '*' }))
    .sort((one, other) => other.length - one.length)
  const files = (await Promise.all(patterns.map((pattern) => listOutputFiles(root, pattern)))).flat().slice(0, MAX_SERIES)
  const counts = new Map<number, number>()
  for (const file of files) {
    const { candles } = readCandleFile(await readFile(join(root, file)))
    for (const day of new Set(candles.day.subarray(0, candles.length))) counts.set(day, (counts.get(day) ?? 0) + 1)
  }
  return [...counts].filter(([, count]) => count >= files.length / 2).map(([day]) => numberToDay(day))
}
