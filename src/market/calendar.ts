import type { StaleOutput } from '../model/report.js'
import { addDays, type Day, lastWeekday, SESSION_START, toDay, toInstant } from '../model/trading-day.js'
import { dayToNumber } from './candle-file.js'
import { thresholds } from './refusal-policy.js'

/** When the data of a session is complete, in India, unless a stream knows better: a run before that lacks a part of it. */
export const PUBLISHED_AT = '18:00'

const NO_DAYS: ReadonlySet<Day> = new Set()

/**
 * The newest weekday, not a holiday, of which `time` in India (`HH:MM`) has passed at an instant (epoch milliseconds). Special sessions on
 * weekends are not known here.
 */
export const findNewestWeekday = (instant: number, time: string, holidays: ReadonlySet<Day> = NO_DAYS): Day => {
  const today = toDay(instant)
  let day = lastWeekday(instant < toInstant(today, time) ? addDays(today, -1) : today)
  while (holidays.has(day)) day = lastWeekday(addDays(day, -1))
  return day
}

/**
 * The session that a run at an instant (epoch milliseconds) belongs to: the newest one that has opened. A run on a weekend, on a holiday or
 * before 09:15 in India belongs to the session before.
 *
 * @example findDueSession(Date.parse('2026-02-14T12:00:00+05:30'), new Set()) // a Saturday: '2026-02-13'
 */
export const findDueSession = (instant: number, holidays?: ReadonlySet<Day>): Day => findNewestWeekday(instant, SESSION_START, holidays)

/** The weekdays up to a day, since 1970; a weekend adds none. */
const countWeekdaysTo = (day: Day): number => Math.floor((dayToNumber(day) + 3) / 7) * 5 + Math.min((dayToNumber(day) + 3) % 7, 4)

/** The weekdays from a day on, before another one. */
export const countWeekdays = (from: Day, before: Day): number => countWeekdaysTo(addDays(before, -1)) - countWeekdaysTo(addDays(from, -1))

/** Whether the full history of a series is to be compared: its turn comes after its newest candle, up to today (`thresholds.rotation`). */
export const isTurn = (series: string, newest: Day, today: Day): boolean => {
  const { weekdays, catchUp } = thresholds.rotation
  const offset = [...series].reduce((sum, letter) => (sum * 33 + letter.charCodeAt(0)) % 1_000_003, 0)
  const countTurns = (until: number): number => Math.floor((until + offset) / weekdays)
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
  /** Whether it has a day only if the market traded on it. An archive can answer a holiday with the file of another day. */
  readonly isEvidence: boolean
  /** Whether it has the special sessions on weekends, too. */
  readonly isEverySession: boolean
}

/** From so many weekdays on of which nothing is known, it is said: a single one is a holiday more often than not. */
const MIN_UNKNOWN_DAYS = 2

/**
 * What ends before a session that is due. That a session took place is shown by candles and deals alone: filings and news are published on
 * holidays, too. If nothing shows a session for several weekdays, that is one entry without a stream. `sessions`: the days with a session
 * that the stored files show.
 */
export const findStale = (
  outputs: readonly DatedOutput[],
  { instant, holidays, sessions }: { readonly instant: number; readonly holidays: ReadonlySet<Day>; readonly sessions: readonly Day[] },
): readonly StaleOutput[] => {
  const today = toDay(instant)
  const evidence = outputs.filter(({ isEvidence, newest }) => isEvidence && newest <= today)
  const known = new Set([...sessions, ...evidence.map(({ newest }) => newest)].filter((day) => day <= today))
  const last = findLast(known)
  if (last === undefined) return []
  // Up to the newest session that is stored, a weekday that shows none had none.
  const lastStored = findLast(sessions.filter((day) => day <= today)) ?? ''
  const mayBeSession = (day: Day): boolean => known.has(day) || (day > lastStored && isWeekday(day) && !holidays.has(day))
  const late = outputs.flatMap(({ stream, output, publishedAt, newest, isEverySession }): readonly StaleOutput[] => {
    const isExpected = (day: Day): boolean => day > newest && (isEverySession || isWeekday(day)) && toInstant(day, publishedAt) <= instant
    const expected = findLast([...known].filter(isExpected))
    if (expected === undefined) return []
    const shownBy = evidence.filter((other) => other.newest >= expected).map((other) => other.output)
    // Once a session is missing, the later ones that nothing shows count, too.
    const due = listDays(newest, today).filter((day) => isExpected(day) && mayBeSession(day))
    return [{ stream, output, newest, expected, sessions: due.length, shownBy }]
  })
  const unknown = listDays(last, today).filter((day) => mayBeSession(day) && toInstant(day, PUBLISHED_AT) <= instant)
  const expected = unknown.at(-1)
  if (expected === undefined || unknown.length < MIN_UNKNOWN_DAYS || !evidence.some((one) => one.isEverySession)) return late
  return [...late, { output: 'everything', newest: last, expected, sessions: unknown.length, shownBy: [] }]
}

const isWeekday = (day: Day): boolean => lastWeekday(day) === day

const findLast = (days: Iterable<Day>): Day | undefined => [...days].sort().at(-1)

/** The days after one until another. */
const listDays = (from: Day, to: Day): readonly Day[] => {
  const days: Day[] = []
  for (let day = addDays(from, 1); day <= to; day = addDays(day, 1)) days.push(day)
  return days
}
