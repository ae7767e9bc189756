import { TIMINGS, type Timing } from '../../market/place.js'
import { omitUndefined } from '../../model/row.js'
import type { Day } from '../../model/trading-day.js'
import type { StreamDefinition } from '../../pipeline/define-stream.js'
import { listSessionEvidence } from '../../pipeline/history-request.js'
import { listNames, statFile } from '../../storage/file-system.js'
import { chooseList } from '../../storage/history/choose.js'
import { BASES, type History, listRecordFiles, openHistory, type StoredRecord, toHistoryPath } from '../../storage/history/record.js'
import { requireFolder } from '../../storage/run-state.js'
import { readSessionDays } from '../../storage/session-days.js'

/** A day of the history. A session without a record has neither bytes nor streams. */
export interface HistoryDay {
  readonly day: Day
  /** When the newest of the lists that answer for it was collected, ISO 8601. */
  readonly knownAt?: string
  /** The least certain of its lists; absent without one. */
  readonly timing?: Timing
  readonly bytes: number
  /** How many records it has. */
  readonly records: number
  /** The streams whose lists it has. */
  readonly streams: readonly string[]
  /** The streams whose lists it lacks, although other days have them. */
  readonly missing: readonly string[]
  /** What cannot be read. */
  readonly damage?: string
}

/** The history of a folder. */
export interface HistorySummary {
  readonly folder: string
  /** Oldest first, with the sessions between them that have no record. */
  readonly days: readonly HistoryDay[]
  /** The size of the bases, which days have in common. */
  readonly baseBytes: number
  /** Days of the former format, which the next run moves to the present one. */
  readonly former: readonly Day[]
}

interface HistorySource {
  readonly streams: readonly StreamDefinition[]
  readonly exchange: string
}

/** Lists the recorded days of a folder, and the sessions between them that have no record. */
export const describeHistory = async (root: string, { streams, exchange }: HistorySource): Promise<HistorySummary> => {
  await requireFolder(root)
  const history = await openHistory(root)
  const recorded = [...history.records, ...history.damages].flatMap(({ day }) => day ?? []).sort()
  const [first = '', last = ''] = [recorded[0], recorded.at(-1)]
  const sessions = recorded.length === 0 ? [] : await readSessionDays(root, listSessionEvidence(streams, exchange))
  const days = [...new Set([...recorded, ...sessions.filter((day) => day > first && day < last)])].sort()
  const bases = await listNames(toHistoryPath(root, BASES))
  const baseBytes = bases.reduce((sum, name) => sum + (statFile(toHistoryPath(root, BASES, name))?.size ?? 0), 0)
  return { folder: root, days: days.map((day) => describeDay(day, history)), baseBytes, former: history.former }
}

const listStreams = (records: readonly StoredRecord[]): readonly string[] => [
  ...new Set(records.flatMap(({ lists }) => Object.values(lists).map(({ stream }) => stream))),
]

const describeDay = (day: Day, { records, damages }: History): HistoryDay => {
  const own = records.filter((record) => record.day === day)
  const files = own.flatMap((record) => listRecordFiles(record).filter(({ name }) => name.startsWith(record.name)))
  const streams = listStreams(own)
  const answers = [...new Set(own.flatMap(({ lists }) => Object.keys(lists)))].flatMap((table) => chooseList(own, table, day)?.record ?? [])
  const damage = damages.filter((one) => one.day === day).map(({ file, detail }) => `${file}: ${detail}`)
  return omitUndefined({
    ...{ day, bytes: files.reduce((sum, { bytes }) => sum + bytes, 0), records: own.length, streams },
    missing: listStreams(records).filter((name) => !streams.includes(name)),
    knownAt: answers
      .map(({ knownAt }) => knownAt)
      .sort()
      .at(-1),
    timing: TIMINGS.findLast((one) => answers.some(({ timing }) => timing === one)),
    damage: damage.length === 0 ? undefined : damage.join('; '),
  })
}
