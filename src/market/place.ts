import { omitUndefined } from '../model/row.js'
import { addDays, type Day, lastWeekday, SESSION_END, SESSION_START, toDay, toInstant } from '../model/trading-day.js'
import { countWeekdays, findDueSession } from './calendar.js'

/**
 * When something was collected: `final` after the end of its session and before the next one opened, `session` before that end, `late` after the
 * next one had opened, or perhaps had.
 */
export type Timing = (typeof TIMINGS)[number]

/** The best first. */
export const TIMINGS = ['final', 'session', 'late'] as const

/** Where a run belongs in the history. */
export interface Place {
  readonly day: Day
  readonly timing: Timing
  /** Epoch milliseconds. */
  readonly knownAt: number
  /** The day on which new records were first seen. */
  readonly seenOn: Day
  /** Whether candles or deals of that very day were there. */
  readonly isConfirmed: boolean
  /** Why the clock is not believed. */
  readonly doubt?: string
}

/** What is known about the sessions. */
export interface KnownSessions {
  /** Weekdays without a session. */
  readonly holidays: ReadonlySet<Day>
  /** The sessions that the outputs show, oldest first. */
  readonly days: readonly Day[]
  /** Whether the run fetched what shows them. */
  readonly areFresh: boolean
  /** Whether nothing that every session changes differs from the record of a day. */
  readonly isUnchangedSince: (day: Day) => boolean
  /** The recorded days, oldest first. */
  readonly recorded: readonly Day[]
  /** The newest confirmed session of the history, and when it was recorded, epoch milliseconds. */
  readonly newest?: { readonly day: Day; readonly knownAt: number } | undefined
}

/** Weekdays by which candles and deals may lag behind. With more, the clock may be wrong. */
const MAX_LAG = 5

/** Whether a day is not much later than another one. */
export const isNear = (from: Day, to: Day): boolean => countWeekdays(from, to) <= MAX_LAG

/**
 * The place of what was collected at an instant. It belongs to the newest session that had opened, or to the one before if that day shows no
 * session: a holiday, or a provider that serves unchanged data. If the clock is far ahead of fresh data, the day is that of the data; if
 * it is behind the data or the history, the place is late.
 */
export const findPlace = (instant: number, sessions: KnownSessions, knownAt = instant): Place => {
  const { holidays, days, recorded, newest } = sessions
  const last = days.findLast((day) => toInstant(day, SESSION_START) <= instant)
  // A session on a weekend or a holiday is known by its candles and deals only.
  const due = [findDueSession(instant, holidays), last ?? ''].sort().at(-1) as Day
  const isConfirmed = last === due
  const isAhead = !isConfirmed && sessions.areFresh && last !== undefined && !isNear(last, due)
  const day = !isConfirmed && last !== undefined && (isAhead || sessions.isUnchangedSince(last)) ? last : due
  const evidence = [last ?? '', recorded.findLast((one) => one <= due) ?? ''].sort().at(-1) as Day
  // After a long pause the clock is right, so the day counts unless a later run shows otherwise.
  const isFar = day === due && evidence !== '' && !isNear(evidence, due)
  const known = Math.max(
    knownAt,
    newest !== undefined && newest.day > day ? newest.knownAt : knownAt,
    ...days.filter((one) => one > day).map((one) => toInstant(one, SESSION_START)),
  )
  return omitUndefined({
    ...{ day, timing: toTiming(day, { from: Math.min(instant, known), until: known }, sessions), knownAt: known },
    ...{ seenOn: isAhead ? day : toDay(known), isConfirmed: day === last },
    doubt: known > knownAt ? describeBehind(day) : isAhead ? describeAhead(day) : isFar ? describePause(day, evidence) : undefined,
  })
}

const describeBehind = (day: Day): string =>
  `the clock is behind the data or the recorded days, which know a session after ${day}: this run is recorded as late`
const describeAhead = (day: Day): string =>
  `the clock is far ahead of the candles and deals, whose newest session is ${day}: the day is recorded as that session`
const describePause = (day: Day, evidence: Day): string =>
  `the newest session in candles, deals and recorded days is ${evidence}. If the clock is right, ignore this. If not, correct it and delete ${day} from the history`

/** @param times when the first and the last of it was collected */
const toTiming = (
  day: Day,
  { from, until }: { readonly from: number; readonly until: number },
  { days, holidays }: Pick<KnownSessions, 'days' | 'holidays'>,
): Timing => {
  const next = [findNextWeekday(day, holidays), ...days.filter((one) => one > day)].sort()[0] as Day
  if (until >= toInstant(next, SESSION_START)) return 'late'
  return from < toInstant(day, SESSION_END) ? 'session' : 'final'
}

const findNextWeekday = (day: Day, holidays: ReadonlySet<Day>): Day => {
  let next = addDays(day, 1)
  while (lastWeekday(next) !== next || holidays.has(next)) next = addDays(next, 1)
  return next
}
