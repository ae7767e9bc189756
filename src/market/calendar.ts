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
