import { dayToNumber } from '../../../market/candle-file.js'
import { type Day, lastWeekday } from '../../../model/trading-day.js'
import type { DayRecord } from '../../../storage/history/day-file.js'
import { listDays, readUndamaged } from '../../../storage/history/history-folder.js'
import { withTemporaryHistory } from '../../history/open-history.js'
import type { CheckName, Finding, HistoryRange, Unchecked } from '../finding.js'
import { findFailingStreams } from './failing.js'
import { createDamage } from './list-check.js'
import { verifyList } from './recorded-list.js'

/** The newest recorded day is compared with these many before. */
const DAYS_BEFORE = 20
const MIN_DAYS = 2

/** The checks that compare recorded days. */
const HISTORY_CHECKS: readonly CheckName[] = ['dead-columns', 'unchanged-lists', 'restated-figures', 'blinking-members', 'failing-streams']

export interface HistoryChecks {
  readonly findings: readonly Finding[]
  readonly range: HistoryRange
  readonly unchecked: readonly Unchecked[]
}

/**
 * Checks what only the recorded days show. Reads one list after the other, and of each its base and then what changed from day to day. A day
 * or a base that is damaged is a finding; the other days are compared without it.
 *
 * @param sessions day numbers, oldest first; without any, each weekday is one
 */
export const verifyHistory = async (root: string, sessions: readonly number[]): Promise<HistoryChecks> => {
  const { records, findings } = await readRecords(root)
  const [first, last] = [records[0]?.day, records.at(-1)?.day]
  const range = { days: records.length, ...(first === undefined || last === undefined ? {} : { first, last }) }
  if (records.length < MIN_DAYS) {
    const text = `recorded days: ${HISTORY_CHECKS.join(', ')} compare at least ${MIN_DAYS}, and ${records.length} can be read`
    return { findings, range, unchecked: [{ checks: HISTORY_CHECKS, text }] }
  }
  const isSession = createSessionFilter(sessions)
  const files = new Map(records.flatMap(({ entries }) => Object.entries(entries).map(([file, { stream }]) => [file, stream] as const)))
  const found: Finding[] = []
  await withTemporaryHistory(root, async (history) => {
    for (const [file, stream] of files) {
      if (stream === undefined) continue
      const days = records.flatMap(({ day, entries }) => (entries[file] === undefined ? [] : [{ day, entry: entries[file] }]))
      found.push(...(await verifyList(history, { file, stream, days, isSession })))
    }
  })
  return { findings: [...findings, ...found, ...(await findFailingStreams(root, records))], range, unchecked: [] }
}

/** What can be read of the newest recorded days, oldest first. */
const readRecords = async (root: string): Promise<{ readonly records: readonly DayRecord[]; readonly findings: readonly Finding[] }> => {
  const records: DayRecord[] = []
  const findings: Finding[] = []
  for (const day of (await listDays(root)).slice(-1 - DAYS_BEFORE)) {
    const record = await readUndamaged(root, day, (text) => findings.push(createDamage(root, day, text)))
    if (record !== undefined) records.push(record)
  }
  return { records, findings }
}

/** Whether a day is a session; a weekday, where there are no candles. */
const createSessionFilter = (sessions: readonly number[]): ((day: Day) => boolean) => {
  const known = new Set(sessions)
  const [first = Number.POSITIVE_INFINITY, last = 0] = [sessions[0], sessions.at(-1)]
  return (day) => {
    const number = dayToNumber(day)
    return number >= first && number <= last ? known.has(number) : lastWeekday(day) === day
  }
}
