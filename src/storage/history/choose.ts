import { TIMINGS, type Timing } from '../../market/place.js'
import { DamagedFileError, UsageError } from '../../model/errors.js'
import { type Day, toDay } from '../../model/trading-day.js'
import { describeDamage, type History, nameHistoryFile, type RecordedList, type StoredRecord, type Warn } from './record.js'

/** The record that answers for a list of a day. */
export interface ChosenList {
  readonly record: StoredRecord
  readonly list: RecordedList
}

export const isBetterTiming = (one: Timing, other: Timing): boolean => TIMINGS.indexOf(one) < TIMINGS.indexOf(other)

/**
 * Chooses among the records of one day. The first that is true to its day wins: collected after the session and before the next one. Without
 * it, the last one of the session itself; without that, the first late one.
 */
const isBetter = (one: StoredRecord, other: StoredRecord): boolean => {
  if (one.timing !== other.timing) return isBetterTiming(one.timing, other.timing)
  // A clock that was some days ahead has left an unconfirmed record of a day that came later.
  if (one.isConfirmed !== other.isConfirmed) return one.isConfirmed
  return one.timing === 'session' ? one.number > other.number : one.number < other.number
}

/** The record that answers for a table of that very day; undefined without one. */
export const chooseList = (records: readonly StoredRecord[], table: string, day: Day): ChosenList | undefined => {
  let best: StoredRecord | undefined
  for (const record of records)
    if (record.day === day && Object.hasOwn(record.lists, table) && (best === undefined || isBetter(record, best))) best = record
  const list = best?.lists[table]
  return best && list && { record: best, list }
}

/** The days with a record that has any list, oldest first. */
export const listListedDays = ({ records }: Pick<History, 'records'>): readonly Day[] =>
  [...new Set(records.filter(({ lists }) => Object.keys(lists).length > 0).map(({ day }) => day))].sort()

/** The chosen records of a table, one for each day, oldest first. */
export const chooseEachDay = ({ records }: History, table: string, until: Day = '9999'): readonly ChosenList[] => {
  const own = records.filter(({ day, lists }) => day <= until && Object.hasOwn(lists, table))
  return [...new Set(own.map(({ day }) => day))].sort().flatMap((day) => chooseList(own, table, day) ?? [])
}

/**
 * The newest record of a table until a day; undefined without one. Other damaged days are left out with a warning.
 *
 * @throws DamagedFileError if the newest day until then is damaged
 */
export const findAnswer = (history: History, table: string, { day, warn }: { readonly day: Day; readonly warn: Warn }) => {
  const found = chooseEachDay(history, table, day).at(-1)
  for (const damage of history.damages) {
    const { day: damaged } = damage
    if (damaged === undefined || damaged > day || damaged < (found?.record.day ?? '')) continue
    const text = describeDamage(damage)
    // Of the final records of a day the first one answers, whatever a later one has.
    const isFirst = found?.record.day === damaged && found.record.timing === 'final' && damage.file > nameHistoryFile(found.record.name)
    if (!isFirst && history.records.every((record) => record.day > day || record.day <= damaged)) throw new DamagedFileError(text)
    warn(text)
  }
  return found
}

/** Days of the former format are neither read nor deleted. */
export const createFormerError = ({ root }: History): UsageError =>
  new UsageError(`the recorded days in ${root} have the format of an earlier version; the next complete run moves them to the present one`)

/** The newest recorded day until a day. @throws UsageError if the history begins later */
export const findUsedDay = (history: History, day: Day): Day => {
  const days = [...new Set([...listListedDays(history), ...history.damages.flatMap((damage) => damage.day ?? [])])].sort()
  const used = days.findLast((one) => one <= day)
  if (used !== undefined) return used
  if (history.former.length > 0) throw createFormerError(history)
  throw new UsageError(
    days.length === 0
      ? `no day is recorded in ${history.root}; each complete run records its day`
      : `the history begins on ${days[0]}; there is no record of ${day}`,
  )
}

/** What a reader must know about an answer for a day; undefined if it is of that day, and was collected on it. */
export const describeAnswer = ({ record: { day, knownAt, timing } }: ChosenList, asked: Day): string | undefined => {
  const parts = [
    ...(day === asked ? [] : [`no record of ${asked}; the one before is of ${day}`]),
    ...(timing === 'late' ? [`the record of ${day} was collected ${nameDelay(day, toDay(Date.parse(knownAt)))}`] : []),
    ...(timing === 'session' ? [`the record of ${day} was collected before the end of the session`] : []),
  ]
  return parts.length === 0 ? undefined : parts.join('; ')
}

const nameDelay = (day: Day, known: Day): string => {
  const days = Math.round((Date.parse(known) - Date.parse(day)) / 86_400_000)
  return days < 1 ? 'at an unknown time' : `${days} ${days === 1 ? 'day' : 'days'} later`
}
