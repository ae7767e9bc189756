import { isNear, TIMINGS, type Timing } from '../../market/calendar.js'
import { DamagedFileError, UsageError } from '../../model/errors.js'
import { formatQuantity } from '../../model/format.js'
import { groupBy } from '../../model/map.js'
import { type Day, toDay } from '../../model/trading-day.js'
import { type Damage, describeDamage, type History, nameHistoryFile, type RecordedList, type StoredRecord, type Warn } from './record.js'

/** The record that answers for a list of a day. */
export interface ChosenList {
  readonly record: StoredRecord
  readonly list: RecordedList
}

export interface RecordedDay {
  readonly day: Day
  /** The first one with a list answers for it. */
  readonly records: readonly StoredRecord[]
  readonly damages: readonly Damage[]
  /** Whether all its records are of a clock that was ahead: then the day answers nothing. */
  readonly isMisdated: boolean
}

/** What answers for a table from a day on: a list, or an error. */
export interface DayAnswer {
  readonly day: Day
  readonly chosen?: ChosenList | undefined
  readonly damage?: Damage | undefined
}

type KnownRecords = Pick<History, 'records'> & Partial<Pick<History, 'damages'>>

export const isBetterTiming = (one: Timing, other: Timing): boolean => TIMINGS.indexOf(one) < TIMINGS.indexOf(other)

/**
 * All days, oldest first. Of the records of a day the first that is true to it comes first: collected after the session and before the next one.
 * Without it, the last one of the session itself; without that, the first late one. Those of a clock that was ahead come last.
 */
export const listDays = ({ records, damages = [] }: KnownRecords): readonly RecordedDay[] => {
  const misdated = findMisdated(records)
  const rank = (record: StoredRecord): number => TIMINGS.indexOf(record.timing) + (misdated.has(record) ? TIMINGS.length : 0)
  const compare = (one: StoredRecord, other: StoredRecord): number =>
    rank(one) - rank(other) || (one.number - other.number) * (one.timing === 'session' ? -1 : 1)
  const [own, damaged] = [groupBy(records, ({ day }) => day), groupBy(damages, ({ day = '' }) => day)]
  return [...new Set([...own.keys(), ...damaged.keys()])].sort().map((day) => {
    const all = own.get(day) ?? []
    const isMisdated = all.length > 0 && all.every((record) => misdated.has(record))
    return { day, records: all.toSorted(compare), damages: damaged.get(day) ?? [], isMisdated }
  })
}

/**
 * The records of a clock that was ahead: no candles or deals confirm their day, and a record that was stored later was known earlier. Only one
 * near a confirmed day shows that: otherwise its own clock may have been behind. Nor does a late one.
 */
const findMisdated = (records: readonly StoredRecord[]): ReadonlySet<StoredRecord> => {
  let confirmed: Day | undefined
  const isWitness = ({ day, isConfirmed, timing }: StoredRecord): boolean => {
    if (isConfirmed && day > (confirmed ?? '')) confirmed = day
    return timing !== 'late' && confirmed !== undefined && isNear(confirmed, day)
  }
  const witnesses = new Set(records.filter(isWitness))
  const found = new Set<StoredRecord>()
  let earliest = '~'
  for (const record of records.toReversed()) {
    if (!record.isConfirmed && record.knownAt > earliest) found.add(record)
    if (witnesses.has(record) && record.knownAt < earliest) earliest = record.knownAt
  }
  return found
}

/** The record that answers for a table, of those of a day. */
export const findRecordedList = (records: readonly StoredRecord[], table: string): ChosenList | undefined => {
  const record = records.find(({ lists }) => Object.hasOwn(lists, table))
  const list = record?.lists[table]
  return record && list && { record, list }
}

/** The record that answers for a table of that very day; undefined without one. */
export const chooseList = (records: readonly StoredRecord[], table: string, day: Day): ChosenList | undefined =>
  findRecordedList(listDays({ records }).find((one) => one.day === day && !one.isMisdated)?.records ?? [], table)

/** The days with a record that has any list, oldest first. */
export const listListedDays = (history: KnownRecords): readonly Day[] =>
  listDays(history).flatMap(({ day, records, isMisdated }) =>
    !isMisdated && records.some(({ lists }) => Object.keys(lists).length > 0) ? [day] : [],
  )

/** What answers for a table, by the day from which on it does, oldest first. */
export const listAnswers = (history: KnownRecords, table: string): readonly DayAnswer[] => {
  const answers: DayAnswer[] = []
  let last: ChosenList | undefined
  for (const { day, records, damages, isMisdated } of listDays(history)) {
    if (isMisdated) continue
    const chosen = findRecordedList(records, table)
    // Of the final records of a day the first one answers, whatever a later one has.
    const damage = damages.find(({ file }) => chosen?.record.timing !== 'final' || file < nameHistoryFile(chosen.record.name))
    if (damage) answers.push({ day, damage })
    // A damage concerns its day only: from the next day on, the list before it answers again.
    else if (chosen || answers.at(-1)?.damage) answers.push({ day, chosen: chosen ?? last })
    if (!damage && chosen) last = chosen
  }
  return answers
}

/** The chosen records of a table, one for each day, oldest first. */
export const chooseEachDay = (history: KnownRecords, table: string, until: Day = '9999'): readonly ChosenList[] =>
  listAnswers(history, table).flatMap(({ day, chosen }) => (chosen && chosen.record.day === day && day <= until ? [chosen] : []))

/**
 * The newest record of a table until a day; undefined without one. Other damaged days are left out with a warning.
 *
 * @throws DamagedFileError if the newest day until then is damaged
 */
export const findAnswer = (history: History, table: string, { day, warn }: { readonly day: Day; readonly warn: Warn }) => {
  const { chosen, damage } = listAnswers(history, table).findLast((one) => one.day <= day) ?? {}
  if (damage) throw new DamagedFileError(describeDamage(damage))
  for (const one of history.damages)
    if (one.day !== undefined && one.day <= day && one.day >= (chosen?.record.day ?? '')) warn(describeDamage(one))
  return chosen
}

/** The newest recorded day until a day. @throws UsageError if the history begins later */
export const findUsedDay = (history: History, day: Day): Day => {
  const days = [...new Set([...listListedDays(history), ...history.damages.flatMap((damage) => damage.day ?? [])])].sort()
  const used = days.findLast((one) => one <= day)
  if (used !== undefined) return used
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
  return days < 1 ? 'at an unknown time' : `${formatQuantity(days, 'day')} later`
}
