import type { StaleOutput } from '../model/report.js'
import { addDays, type Day, lastWeekday, toDay, toInstant } from '../model/trading-day.js'
import { PUBLISHED_AT } from './calendar.js'

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

export interface MarketCalendar {
  /** Epoch milliseconds. */
  readonly instant: number
  /** Weekdays without a session. */
  readonly holidays: ReadonlySet<Day>
  /** The days with a session that the stored files show. */
  readonly sessions: readonly Day[]
}

/** From so many weekdays on of which nothing is known, it is said: a single one is a holiday more often than not. */
const MIN_UNKNOWN_DAYS = 2

/**
 * What ends before a session that is due. That a session took place is shown by candles and deals alone: filings and news are published on
 * holidays, too. If nothing shows a session for several weekdays, that is one entry without a stream.
 */
export const findStale = (outputs: readonly DatedOutput[], { instant, holidays, sessions }: MarketCalendar): readonly StaleOutput[] => {
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
    return [{ stream, output, newest, expected, sessions: listDays(newest, expected).filter(mayBeSession).length, shownBy }]
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
