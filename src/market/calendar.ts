import type { StaleOutput } from '../model/report.js'
import { omitUndefined } from '../model/row.js'
import {
  addDays,
  type Day,
  isWeekday,
  type MarketCalendar,
  readHours,
  SESSION_END,
  SESSION_START,
  toDay,
  toInstant,
} from '../model/trading-day.js'
import { dayToNumber } from './candle-file.js'
import { thresholds } from './refusal-policy.js'

/**
 * When the data of a session is complete, in India, unless a stream knows better: a run before that lacks a
 * part of it.
 */
export const PUBLISHED_AT = '18:00'

/** That of every weekday. */
export const USUAL_CALENDAR: MarketCalendar = { holidays: new Set(), sessions: {} }

export const isSession = (day: Day, { holidays, sessions }: MarketCalendar): boolean =>
  day in sessions || (isWeekday(day) && !holidays.has(day))

/**
 * The instant of a time of usual days (`HH:MM` in India) on a day, epoch milliseconds. A special session has
 * an opening and an end of its own, and what is published of a usual one by some hour is there at that hour
 * of its day, but not before its end.
 */
export const toSessionInstant = (day: Day, time: string, { sessions }: MarketCalendar): number => {
  const hours = sessions[day]
  if (hours === undefined) return toInstant(day, time)
  const [opens, ends] = readHours(hours)
  return toInstant(day, time === SESSION_START ? opens : time === SESSION_END || ends > time ? ends : time)
}

/**
 * The newest day with a session of which `time` of usual days has passed at an instant (epoch milliseconds).
 */
export const findNewestSession = (instant: number, time: string, calendar = USUAL_CALENDAR): Day => {
  let day = toDay(instant)
  while (!isSession(day, calendar) || instant < toSessionInstant(day, time, calendar)) day = addDays(day, -1)
  return day
}

/**
 * The session that a run at an instant (epoch milliseconds) belongs to: the newest one that has opened. A run
 * on a day without one, or before 09:15 in India, belongs to the session before.
 *
 * @example findDueSession(Date.parse('2026-02-14T12:00:00+05:30')) // a Saturday: '2026-02-13'
 */
export const findDueSession = (instant: number, calendar?: MarketCalendar): Day =>
  findNewestSession(instant, SESSION_START, calendar)

/** The weekdays up to a day, since 1970; a weekend adds none. */
const countWeekdaysTo = (day: Day): number =>
  Math.floor((dayToNumber(day) + 3) / 7) * 5 + Math.min((dayToNumber(day) + 3) % 7, 4)

/** The weekdays from a day on, before another one. */
export const countWeekdays = (from: Day, before: Day): number =>
  countWeekdaysTo(addDays(before, -1)) - countWeekdaysTo(addDays(from, -1))

/**
 * Whether the full history of a series is to be compared: its turn comes after its newest candle, up to today
 * (`thresholds.rotation`).
 */
export const isTurn = (series: string, newest: Day, today: Day): boolean => {
  const { weekdays, catchUp } = thresholds.rotation
  const offset = [...series].reduce((sum, letter) => (sum * 33 + letter.charCodeAt(0)) % 1_000_003, 0)
  const countTurns = (until: number) => Math.floor((until + offset) / weekdays)
  const now = countWeekdaysTo(today)
  return countTurns(now) > countTurns(Math.max(countWeekdaysTo(newest), now - catchUp))
}

/** A stream whose outputs end with a session. */
export interface DatedOutput {
  readonly stream: string
  /** What people call it. */
  readonly output: string
  /** `HH:MM` in India. */
  readonly publishedAt: string
  readonly newest: Day
  /**
   * Whether it has a day only if the market traded on it. An archive can answer a holiday with the file of
   * another day.
   */
  readonly isEvidence: boolean
  /** Whether it has the special sessions on weekends, too. */
  readonly isEverySession: boolean
}

/**
 * From so many weekdays on of which nothing is known, it is said: a single one is a holiday more often than
 * not.
 */
const MIN_UNKNOWN_DAYS = 2

/**
 * What ends before a session that is due. That a session took place is shown by candles and deals alone:
 * filings and news are published on holidays, too. If nothing shows a session for several weekdays, that is
 * one entry without a stream. `sessions`: the days with a session that the stored files show.
 */
export const findStale = (
  outputs: readonly DatedOutput[],
  {
    instant,
    calendar,
    sessions,
  }: { readonly instant: number; readonly calendar: MarketCalendar; readonly sessions: readonly Day[] },
): readonly StaleOutput[] => {
  const today = toDay(instant)
  const evidence = outputs.filter(({ isEvidence, newest }) => isEvidence && newest <= today)
  const known = new Set([...sessions, ...evidence.map(({ newest }) => newest)].filter((day) => day <= today))
  const last = findLast(known)
  if (last === undefined) return []
  // Up to the newest session that is stored, a weekday that shows none had none.
  const lastStored = findLast(sessions.filter((day) => day <= today)) ?? ''
  const mayBeSession = (day: Day) => known.has(day) || (day > lastStored && isSession(day, calendar))
  const late = outputs.flatMap(
    ({ stream, output, publishedAt, newest, isEverySession }): readonly StaleOutput[] => {
      const isExpected = (day: Day) =>
        day > newest &&
        (isEverySession || isWeekday(day)) &&
        toSessionInstant(day, publishedAt, calendar) <= instant
      const expected = findLast([...known].filter(isExpected))
      if (expected === undefined) return []
      const shownBy = evidence.filter((other) => other.newest >= expected).map((other) => other.output)
      // Once a session is missing, the later ones that nothing shows count, too.
      const due = listDaysBetween(newest, today).filter((day) => isExpected(day) && mayBeSession(day))
      return [{ stream, output, newest, expected, sessions: due.length, shownBy }]
    },
  )
  const unknown = listDaysBetween(last, today).filter(
    (day) => mayBeSession(day) && toSessionInstant(day, PUBLISHED_AT, calendar) <= instant,
  )
  const expected = unknown.at(-1)
  if (
    expected === undefined ||
    unknown.length < MIN_UNKNOWN_DAYS ||
    !evidence.some((one) => one.isEverySession)
  )
    return late
  return [...late, { output: 'everything', newest: last, expected, sessions: unknown.length, shownBy: [] }]
}

const findLast = (days: Iterable<Day>): Day | undefined => [...days].sort().at(-1)

/** The days after one, up to another. */
export const listDaysBetween = (from: Day, to: Day): readonly Day[] => {
  const days: Day[] = []
  for (let day = addDays(from, 1); day <= to; day = addDays(day, 1)) days.push(day)
  return days
}

/**
 * When something was collected: `final` after the end of its session and before the next one opened,
 * `session` before that end, `late` after the next one had opened, or perhaps had. `early`, of a list alone:
 * after the session, but before the list of that session was published.
 */
export type Timing = (typeof TIMINGS)[number]

/** That of a whole record. */
export type RecordTiming = Exclude<Timing, 'early'>

/** The best first. */
export const TIMINGS = ['final', 'early', 'session', 'late'] as const

/** Where a run belongs in the history. */
export interface Place {
  readonly day: Day
  readonly timing: RecordTiming
  /** Epoch milliseconds. */
  readonly knownAt: number
  /** The day on which new records were first seen. */
  readonly seenOn: Day
  /** Whether candles or deals of that very day were there. */
  readonly isConfirmed: boolean
  /** Why the clock is not believed. */
  readonly doubt?: string
}

export interface KnownSessions {
  readonly calendar: MarketCalendar
  /** The sessions that the outputs show, oldest first. */
  readonly days: readonly Day[]
  /** Whether the run fetched what shows them. */
  readonly areFresh: boolean
  /** Whether nothing that every session changes differs from the record of a day. */
  readonly isUnchangedSince: (day: Day) => boolean
  readonly recorded: readonly Day[]
  /** The newest confirmed session of the history, and when it was recorded, epoch milliseconds. */
  readonly newest?: { readonly day: Day; readonly knownAt: number } | undefined
}

/** Weekdays by which candles and deals may lag behind. With more, the clock may be wrong. */
const MAX_LAG = 5

/** Whether a day is not much later than another one. */
export const isNear = (from: Day, to: Day): boolean => countWeekdays(from, to) <= MAX_LAG

/**
 * The place of what was collected at an instant. It belongs to the newest session that had opened, or to the
 * one before if that day shows no session: a holiday, or a provider that serves unchanged data. If the clock
 * is far ahead of fresh data, the day is that of the data; if it is behind the data or the history, the place
 * is late.
 */
export const findPlace = (instant: number, sessions: KnownSessions, knownAt = instant): Place => {
  const { calendar, days, recorded, newest } = sessions
  const last = days.findLast((day) => toSessionInstant(day, SESSION_START, calendar) <= instant)
  // A special session that nobody named is known by its candles and deals only.
  const due = [findDueSession(instant, calendar), last ?? ''].sort().at(-1) as Day
  const isConfirmed = last === due
  const isAhead = !isConfirmed && sessions.areFresh && last !== undefined && !isNear(last, due)
  const day = !isConfirmed && last !== undefined && (isAhead || sessions.isUnchangedSince(last)) ? last : due
  const evidence = [last ?? '', recorded.findLast((one) => one <= due) ?? ''].sort().at(-1) as Day
  // After a long pause the clock is right, so the day counts unless a later run shows otherwise.
  const isFar = day === due && evidence !== '' && !isNear(evidence, due)
  const known = Math.max(
    knownAt,
    newest !== undefined && newest.day > day ? newest.knownAt : knownAt,
    ...days.filter((one) => one > day).map((one) => toSessionInstant(one, SESSION_START, calendar)),
  )
  return omitUndefined({
    day,
    timing: toTiming(day, { from: Math.min(instant, known), until: known }, sessions),
    knownAt: known,
    seenOn: isAhead ? day : toDay(known),
    isConfirmed: day === last,
    doubt:
      known > knownAt
        ? describeBehind(day)
        : isAhead
          ? describeAhead(day)
          : isFar
            ? describeSilence(day, evidence)
            : undefined,
  })
}

const describeBehind = (day: Day): string =>
  `the clock is behind the data or the recorded days, which know a session after ${day}: this run is recorded as late`
const describeAhead = (day: Day): string =>
  `the clock is far ahead of the candles and deals, whose newest session is ${day}: the day is recorded as that session`
const describeSilence = (day: Day, evidence: Day): string =>
  `the newest session in candles, deals and recorded days is ${evidence}. If the clock is right, ignore this. If not, correct it and delete ${day} from the history`

/** @param times when the first and the last of it was collected */
const toTiming = (
  day: Day,
  { from, until }: { readonly from: number; readonly until: number },
  { days, calendar }: Pick<KnownSessions, 'days' | 'calendar'>,
): RecordTiming => {
  let next = addDays(day, 1)
  while (!isSession(next, calendar) && !days.includes(next)) next = addDays(next, 1)
  if (until >= toSessionInstant(next, SESSION_START, calendar)) return 'late'
  return from < toSessionInstant(day, SESSION_END, calendar) ? 'session' : 'final'
}
