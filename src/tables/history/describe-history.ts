import { listTables, type StreamDefinition } from '../../engine/define-stream.js'
import { listSessionEvidence } from '../../engine/session-request.js'
import { TIMINGS, type Timing } from '../../market/calendar.js'
import { omitUndefined } from '../../model/row.js'
import type { Day } from '../../model/trading-day.js'
import { listNames, statFile } from '../../storage/file-system.js'
import {
  describeAnswer,
  listDays,
  listRecordedLists,
  type RecordedDay,
} from '../../storage/history/choose.js'
import {
  BASES,
  byDay,
  EARLIER_BASE,
  listRecordFiles,
  openHistory,
  type StoredRecord,
  toHistoryPath,
} from '../../storage/history/record.js'
import { requireFolder } from '../../storage/run-state.js'
import { readSessionDays } from '../../storage/session-days.js'

/** A day of the history. A session without a record has neither bytes nor streams. */
export interface HistoryDay {
  readonly day: Day
  /** When the newest of the lists that answer for it was collected, ISO 8601. */
  readonly knownAt?: string
  /** The least certain of its lists; absent without one. */
  readonly timing?: Timing
  /**
   * The lists that answer only until a better record: collected before they were published, ending before the
   * day, or with drift.
   */
  readonly early: readonly string[]
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
  /** The days that are recorded in an earlier form, which is not read. */
  readonly earlier: readonly Day[]
}

/** Lists the recorded days of a folder, and the sessions between them that have no record. */
export const describeHistory = async (
  root: string,
  { streams, exchange }: { readonly streams: readonly StreamDefinition[]; readonly exchange: string },
): Promise<HistorySummary> => {
  await requireFolder(root)
  const history = await openHistory(root, listTables(streams))
  const recorded = listDays(history)
  const [first, last] = [
    recorded[0]?.day ?? '',
    recorded.findLast(({ isMisdated }) => !isMisdated)?.day ?? '',
  ]
  const sessions =
    recorded.length === 0 ? [] : await readSessionDays(root, listSessionEvidence(streams, exchange))
  const gaps = sessions.filter((day) => day > first && day < last && recorded.every((one) => one.day !== day))
  const days = [
    ...recorded,
    ...gaps.map(
      (day): RecordedDay => ({ day, records: [], misdated: new Set(), damages: [], isMisdated: false }),
    ),
  ]
  const all = listStreams(history.records)
  const bases = (await listNames(toHistoryPath(root, BASES))).filter((name) => !name.endsWith(EARLIER_BASE))
  return {
    folder: root,
    days: days.sort(byDay).map((day) => describeRecordedDay(day, all)),
    baseBytes: bases.reduce((sum, name) => sum + (statFile(toHistoryPath(root, BASES, name))?.size ?? 0), 0),
    earlier: history.earlier,
  }
}

const listStreams = (records: readonly StoredRecord[]): readonly string[] => [
  ...new Set(records.flatMap(({ lists }) => Object.values(lists).map(({ stream }) => stream))),
]

const describeRecordedDay = (recorded: RecordedDay, all: readonly string[]): HistoryDay => {
  const { day, records, damages, isMisdated } = recorded
  const files = records.flatMap((record) =>
    listRecordFiles(record).filter(({ name }) => name.startsWith(record.name)),
  )
  const streams = listStreams(records)
  const answers = listRecordedLists(recorded)
  const damage = damages.map(({ file, detail }) => `${file}: ${detail}`)
  return omitUndefined({
    day,
    bytes: files.reduce((sum, { bytes }) => sum + bytes, 0),
    records: records.length,
    streams,
    isMisdated,
    missing: all.filter((name) => !streams.includes(name)),
    knownAt: answers
      .map(({ record: { knownAt } }) => knownAt)
      .sort()
      .at(-1),
    timing: TIMINGS.findLast((one) => answers.some(({ timing }) => timing === one)),
    early: answers.flatMap(({ table, timing }) => (timing === 'early' ? [table] : [])),
    damage: damage.length === 0 ? undefined : damage.join('; '),
  })
}

/**
 * The recorded days, the newest first, each with the first record that answers for it, and when the last one
 * was collected.
 */
export const listAnsweringRecords = async (root: string, streams: readonly StreamDefinition[]) =>
  listDays(await openHistory(root, listTables(streams)))
    .flatMap((recorded) => {
      const answers = listRecordedLists(recorded)
      const timing = TIMINGS.find((one) => answers.some(({ record }) => record.timing === one))
      const records = answers.flatMap(({ record }) => (record.timing === timing ? [record] : []))
      const [first, ...later] = records.sort((one, other) => one.number - other.number)
      if (first === undefined || recorded.isMisdated) return []
      const [{ day, run }, { knownAt }] = [first, later.at(-1) ?? first]
      const early = answers.flatMap((chosen) =>
        chosen.timing === 'early' ? (describeAnswer(chosen, day) ?? []) : [],
      )
      return [
        omitUndefined({
          day,
          run,
          knownAt,
          timing: first.timing,
          early: early.length === 0 ? undefined : early,
        }),
      ]
    })
    .toReversed()
