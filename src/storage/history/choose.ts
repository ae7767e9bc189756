import { isNear, TIMINGS, type Timing } from '../../market/calendar.js'
import { DamagedFileError, UsageError } from '../../model/errors.js'
import { formatQuantity } from '../../model/format.js'
import { getOrAdd, groupBy } from '../../model/map.js'
import { type Day, toDay, toInstant } from '../../model/trading-day.js'
import {
  type Damage,
  describeDamage,
  type History,
  nameHistoryFile,
  nameRecord,
  type Publication,
  type RecordedList,
  type StoredRecord,
  type Warn,
} from './record.js'

/** The record that answers for a list of a day. */
export interface ChosenList {
  readonly table: string
  readonly record: StoredRecord
  readonly list: RecordedList
  /** That of the record, or `early`. */
  readonly timing: Timing
}

export interface RecordedDay {
  readonly day: Day
  readonly records: readonly StoredRecord[]
  /** Those of them that are of a clock that was ahead. */
  readonly misdated: ReadonlySet<StoredRecord>
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

export const isBetterTiming = (one: Timing, other: Timing): boolean =>
  TIMINGS.indexOf(one) < TIMINGS.indexOf(other)

type Collected = Pick<StoredRecord, 'day' | 'timing' | 'knownAt'>

/** A run that was under way when a list was published may have requested it before. */
const isTooSoon = (
  { day, knownAt }: Collected,
  { publishedAt, requestedAt = knownAt }: Publication,
): boolean => publishedAt !== undefined && Date.parse(requestedAt) < toInstant(day, publishedAt)

/** Whether a list is true to the day of its record. */
export const findListTiming = (record: Collected, list: Publication): Timing =>
  record.timing === 'final' && (isTooSoon(record, list) || list.endsOn !== undefined || list.hasDrift)
    ? 'early'
    : record.timing

/** Each table asks for those of the same records. */
const misdatedOf = new WeakMap<KnownRecords['records'], ReadonlySet<StoredRecord>>()

/** All days, oldest first. */
export const listDays = ({ records, damages = [] }: KnownRecords): readonly RecordedDay[] => {
  const misdated = getOrAdd(misdatedOf, records, () => findMisdated(records))
  const [own, damaged] = [groupBy(records, ({ day }) => day), groupBy(damages, ({ day = '' }) => day)]
  return [...new Set([...own.keys(), ...damaged.keys()])].sort().map((day) => {
    const all = own.get(day) ?? []
    const isMisdated = all.length > 0 && all.every((record) => misdated.has(record))
    return { day, records: all, misdated, damages: damaged.get(day) ?? [], isMisdated }
  })
}

/**
 * The records of a clock that was ahead: no candles or deals confirm their day, and a record that was stored
 * later was known earlier. Only one near a confirmed day shows that: otherwise its own clock may have been
 * behind. Nor does a late one.
 */
const findMisdated = (records: readonly StoredRecord[]): ReadonlySet<StoredRecord> => {
  let confirmed: Day | undefined
  const isWitness = ({ day, isConfirmed, timing }: StoredRecord) => {
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

/** Of these the last record answers: it is the nearest to what is true. */
const LAST_ANSWERS: readonly Timing[] = ['early', 'session']

/**
 * The record of a day that answers for a table: the first that is true to the day, collected after the
 * session and after the list was published, and before the next session. Without it, the last one before the
 * list was published; without that, the last one of the session itself, and then the first late one. Those of
 * a clock that was ahead come last.
 */
export const findRecordedList = (
  { records, misdated }: RecordedDay,
  table: string,
): ChosenList | undefined => {
  // That the session was not over when its lists were recorded may be known later.
  const isOver = ({ knownAt }: StoredRecord) => records.every(({ sessionEnd = '' }) => knownAt >= sessionEnd)
  const own = records.flatMap((record): readonly ChosenList[] => {
    const list = Object.hasOwn(record.lists, table) ? record.lists[table] : undefined
    const timing =
      list && (record.timing !== 'final' || isOver(record) ? findListTiming(record, list) : 'session')
    return timing ? [{ table, record, list, timing }] : []
  })
  const rank = ({ record, timing }: ChosenList) =>
    TIMINGS.indexOf(timing) + (misdated.has(record) ? TIMINGS.length : 0)
  const compare = (one: ChosenList, other: ChosenList) =>
    rank(one) - rank(other) ||
    (one.record.number - other.record.number) * (LAST_ANSWERS.includes(one.timing) ? -1 : 1)
  return own.sort(compare)[0]
}

/** What answers for each table of a day. */
export const listRecordedLists = (day: RecordedDay): readonly ChosenList[] =>
  [...new Set(day.records.flatMap(({ lists }) => Object.keys(lists)))].flatMap(
    (table) => findRecordedList(day, table) ?? [],
  )

/** The record that answers for a table of that very day; undefined without one. */
export const chooseList = (
  records: readonly StoredRecord[],
  table: string,
  day: Day,
): ChosenList | undefined => {
  const found = listDays({ records }).find((one) => one.day === day && !one.isMisdated)
  return found && findRecordedList(found, table)
}

/** The days with a record that has any list, oldest first. */
export const listListedDays = (history: KnownRecords): readonly Day[] =>
  listDays(history).flatMap(({ day, records, isMisdated }) =>
    !isMisdated && records.some(({ lists }) => Object.keys(lists).length > 0) ? [day] : [],
  )

/** What answers for a table, by the day from which on it does, oldest first. */
export const listAnswers = (history: KnownRecords, table: string): readonly DayAnswer[] => {
  const answers: DayAnswer[] = []
  let last: ChosenList | undefined
  for (const recorded of listDays(history)) {
    if (recorded.isMisdated) continue
    const { day, damages } = recorded
    const chosen = findRecordedList(recorded, table)
    const damage = damages.find(({ file }) => mayAnswer(file, chosen))
    if (damage) answers.push({ day, damage })
    // A damage concerns its day only: from the next day on, the list before it answers again.
    else if (chosen || answers.at(-1)?.damage) answers.push({ day, chosen: chosen ?? last })
    if (!damage && chosen) last = chosen
  }
  return answers
}

/**
 * Whether a damaged record may be the one that answers. Of the final ones the first does that is not early,
 * whatever a later one has.
 */
const mayAnswer = (file: string, chosen: ChosenList | undefined): boolean => {
  if (chosen?.timing !== 'final') return true
  const { record, list } = chosen
  const { day } = record
  const nameAt = (time: string) =>
    nameRecord({ day, knownAt: new Date(toInstant(day, time)).toISOString() }, [])
  return (
    file < nameHistoryFile(record.name) &&
    file >= nameHistoryFile(list.publishedAt === undefined ? '' : nameAt(list.publishedAt))
  )
}

/** The chosen records of a table, one for each day, oldest first. */
export const chooseEachDay = (
  history: KnownRecords,
  table: string,
  until: Day = '9999',
): readonly ChosenList[] =>
  listAnswers(history, table).flatMap(({ day, chosen }) =>
    chosen && chosen.record.day === day && day <= until ? [chosen] : [],
  )

/**
 * The newest record of a table until a day; undefined without one. Other damaged days are left out with a
 * warning.
 *
 * @throws DamagedFileError if the newest day until then is damaged
 */
export const findAnswer = (
  history: History,
  table: string,
  { day, warn }: { readonly day: Day; readonly warn: Warn },
) => {
  const { chosen, damage } = listAnswers(history, table).findLast((one) => one.day <= day) ?? {}
  if (damage) throw new DamagedFileError(describeDamage(damage))
  for (const one of history.damages)
    if (one.day !== undefined && one.day <= day && one.day >= (chosen?.record.day ?? ''))
      warn(describeDamage(one))
  return chosen
}

/** The newest recorded day until a day. @throws UsageError if the history begins later */
export const findUsedDay = (history: History, day: Day): Day => {
  const days = [
    ...new Set([...listListedDays(history), ...history.damages.flatMap((damage) => damage.day ?? [])]),
  ].sort()
  const used = days.findLast((one) => one <= day)
  if (used !== undefined) return used
  const reason =
    days.length === 0
      ? `no day is recorded in ${history.root}; each complete run records its day`
      : `the history begins on ${days[0]}; there is no record of ${day}`
  throw new UsageError([reason, ...describeEarlier(history.earlier)].join('; '))
}

/**
 * Names the days of an earlier form after one day until another, and how to read them; nothing without any.
 */
export const describeEarlier = (
  earlier: readonly Day[],
  after: Day = '',
  until: Day = '9999',
): readonly string[] => {
  const days = earlier.filter((day) => day > after && day <= until)
  const [first, last] = [days[0], days.at(-1)]
  const range = first === last ? first : `${first} to ${last}`
  const wayOut =
    'the version that recorded them reads them in a copy of the folder without .scripstream/format.json'
  return days.length === 0
    ? []
    : [`${formatQuantity(days.length, 'day')} of an earlier form (${range}), not read; ${wayOut}`]
}

/**
 * What a reader must know about an answer for a day; undefined if it is of that day, and was collected on it.
 */
export const describeAnswer = (
  { table, timing, list, record }: ChosenList,
  asked: Day,
): string | undefined => {
  const { day, knownAt } = record
  const published = isTooSoon(record, list)
    ? `were collected before they were published (${list.publishedAt})`
    : `end on ${list.endsOn}`
  const early = list.hasDrift ? 'had drifted when they were collected' : published
  const parts = [
    ...(day === asked ? [] : [`no record of ${asked}; the one before is of ${day}`]),
    ...(timing === 'late'
      ? [`the record of ${day} was collected ${nameDelay(day, toDay(Date.parse(knownAt)))}`]
      : []),
    ...(timing === 'early' ? [`${table} of ${day} ${early}`] : []),
    ...(timing === 'session' ? [`the record of ${day} was collected before the end of the session`] : []),
  ]
  return parts.length === 0 ? undefined : parts.join('; ')
}

/** A note on the answers for some tables, with their names. */
export const nameTables = (tables: readonly string[], note: string): string =>
  note.startsWith(`${tables[0]} of `) ? note : `${tables.join(', ')}: ${note}`

const nameDelay = (day: Day, known: Day): string => {
  const days = Math.round((Date.parse(known) - Date.parse(day)) / 86_400_000)
  return days < 1 ? 'at an unknown time' : `${formatQuantity(days, 'day')} later`
}
