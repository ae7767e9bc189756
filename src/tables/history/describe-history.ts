import type { StreamDefinition } from '../../engine/define-stream.js'
import { listSessionEvidence } from '../../engine/session-request.js'
import { TIMINGS, type Timing } from '../../market/calendar.js'
import { omitUndefined } from '../../model/row.js'
import type { Day } from '../../model/trading-day.js'
import { listNames, statFile } from '../../storage/file-system.js'
import { findRecordedList, listDays, type RecordedDay } from '../../storage/history/choose.js'
import { BASES, listRecordFiles, openHistory, type StoredRecord, toHistoryPath } from '../../storage/history/record.js'
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
  readonly records: number
  readonly streams: readonly string[]
  /** The streams whose lists it lacks, although other days have them. */
  readonly missing: readonly string[]
  /** Whether its records are of a clock that was ahead, so that the day answers nothing. */
  readonly isMisdated: boolean
  readonly damage?: string
}

export interface HistorySummary {
  readonly folder: string
  /** Oldest first, with the sessions between them that have no record. */
  readonly days: readonly HistoryDay[]
  /** The size of the bases, which days have in common. */
  readonly baseBytes: number
}

/** Lists the recorded days of a folder, and the sessions between them that have no record. */
export const describeHistory = async (
  root: string,
  { streams, exchange }: { readonly streams: readonly StreamDefinition[]; readonly exchange: string },
): Promise<HistorySummary> => {
  await requireFolder(root)
  const history = await openHistory(root)
  const recorded = listDays(history)
  const [first, last] = [recorded[0]?.day ?? '', recorded.findLast(({ isMisdated }) => !isMisdated)?.day ?? '']
  const sessions = recorded.length === 0 ? [] : await readSessionDays(root, listSessionEvidence(streams, exchange))
  const gaps = sessions.filter((day) => day > first && day < last && recorded.every((one) => one.day !== day))
  const days = [...recorded, ...gaps.map((day): RecordedDay => ({ day, records: [], damages: [], isMisdated: false }))]
  const all = listStreams(history.records)
  const bases = await listNames(toHistoryPath(root, BASES))
  return {
    folder: root,
    days: days.sort((one, other) => (one.day < other.day ? -1 : 1)).map((day) => describeRecordedDay(day, all)),
    baseBytes: bases.reduce((sum, name) => sum + (statFile(toHistoryPath(root, BASES, name))?.size ?? 0), 0),
  }
}

const listStreams = (records: readonly StoredRecord[]): readonly string[] => [
  ...new Set(records.flatMap(({ lists }) => Object.values(lists).map(({ stream }) => stream))),
]

const describeRecordedDay = ({ day, records, damages, isMisdated }: RecordedDay, all: readonly string[]): HistoryDay => {
  const files = records.flatMap((record) => listRecordFiles(record).filter(({ name }) => name.startsWith(record.name)))
  const streams = listStreams(records)
  const tables = new Set(records.flatMap(({ lists }) => Object.keys(lists)))
  const answers = [...tables].flatMap((table) => findRecordedList(records, table)?.record ?? [])
  const damage = damages.map(({ file, detail }) => `${file}: ${detail}`)
  return omitUndefined({
    ...{ day, bytes: files.reduce((sum, { bytes }) => sum + bytes, 0), records: records.length, streams, isMisdated },
    missing: all.filter((name) => !streams.includes(name)),
    knownAt: answers
      .map(({ knownAt }) => knownAt)
      .sort()
      .at(-1),
    timing: TIMINGS.findLast((one) => answers.some(({ timing }) => timing === one)),
    damage: damage.length === 0 ? undefined : damage.join('; '),
  })
}
