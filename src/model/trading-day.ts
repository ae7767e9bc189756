/** A calendar day in India, `YYYY-MM-DD`. Such days compare as text. */
export type Day = string

/** India has about 248 sessions a year: 252 of them begin a week more than a year ago. */
export const DAYS_OF_52_WEEKS = 364

/** When a usual session opens, and when it ends, in India. */
export const SESSION_START = '09:15'
export const SESSION_END = '15:30'

/**
 * Special sessions by their day: when each opens and ends in India, such as `18:00-19:15`. One of unknown
 * hours ends at `24:00`.
 */
export type SpecialSessions = Readonly<Record<Day, string>>

/** On which days there is a session, as far as that is known. */
export interface MarketCalendar {
  /** Weekdays without a session. */
  readonly holidays: ReadonlySet<Day>
  /** Such a day has a session even if it is a holiday or on a weekend. */
  readonly sessions: SpecialSessions
}

/** When a special session opens, and when it ends. */
export const readHours = (hours: string): readonly [opens: string, ends: string] => [
  hours.slice(0, 5),
  hours.slice(6),
]

/** Until when a candle of a day changes. On a weekend nobody knows, unless the session is named. */
export const findSessionEnd = (day: Day, sessions: SpecialSessions): string => {
  const hours = sessions[day]
  return hours === undefined ? (isWeekday(day) ? SESSION_END : '24:00') : readHours(hours)[1]
}

const DAY_MS = 86_400_000
// India has used +05:30 without daylight saving time since 1945, so plain arithmetic is exact for every
// candle.
const INDIA_OFFSET_MS = 5.5 * 3_600_000

/** The day in India at an instant (epoch milliseconds). */
export const toDay = (instantMs: number): Day =>
  new Date(instantMs + INDIA_OFFSET_MS).toISOString().slice(0, 10)

/** The minute in India of an instant (epoch milliseconds), for people: `2026-02-12 20:00 IST`. */
export const formatMinute = (instantMs: number): string => `${formatSecond(instantMs).slice(0, 16)} IST`

/**
 * The second in India of an instant (epoch milliseconds), as the provider writes it: `2026-02-12 20:00:00`.
 */
export const formatSecond = (instantMs: number): string =>
  new Date(instantMs + INDIA_OFFSET_MS).toISOString().slice(0, 19).replace('T', ' ')

/** The instant (epoch milliseconds) of `HH:MM` on a day in India. */
export const toInstant = (day: Day, time = '00:00'): number => Date.parse(`${day}T${time}:00.000+05:30`)

/** The last second of a day in India: the instant that a day without a time stands for. */
export const toDayEnd = (day: Day): number => toInstant(day) + DAY_MS - 1_000

/** Whether an instant is later than the clock. The end of today is not: it stands for today. */
export const isAfterClock = (instantMs: number, nowMs: number): boolean =>
  instantMs > nowMs && instantMs !== toDayEnd(toDay(nowMs))

/** The day that many calendar days later (earlier if negative). */
export const addDays = (day: Day, days: number): Day =>
  new Date(Date.parse(`${day}T00:00:00Z`) + days * DAY_MS).toISOString().slice(0, 10)

/** The day itself, or the Friday before a weekend. */
export const lastWeekday = (day: Day): Day => {
  const weekday = new Date(`${day}T00:00:00Z`).getUTCDay()
  return weekday === 6 ? addDays(day, -1) : weekday === 0 ? addDays(day, -2) : day
}

export const isWeekday = (day: Day): boolean => lastWeekday(day) === day

/** More days than a market is ever closed at a stretch. */
const LONGEST_CLOSURE = 7

/** Whether a stock has not traded for so long before a day that its newest price is none of these days. */
export const hasNotTraded = (priceDay: Day, day: Day | undefined): boolean =>
  day !== undefined && addDays(priceDay, LONGEST_CLOSURE) < day

/**
 * The same day of another month, or that month's last day if it is shorter (31 January + 1 month = 28
 * February).
 */
export const addMonths = (day: Day, months: number): Day => {
  const [year = 0, month = 0, date = 0] = day.split('-').map(Number)
  const first = new Date(Date.UTC(year, month - 1 + months, 1))
  const last = new Date(Date.UTC(first.getUTCFullYear(), first.getUTCMonth() + 1, 0)).getUTCDate()
  first.setUTCDate(Math.min(date, last))
  return first.toISOString().slice(0, 10)
}

/** `DD-MM-YYYY`, as requests for deals need it. */
export const formatDashedDmy = (day: Day): string => day.split('-').reverse().join('-')

/** `DDMMYYYY`, as in the names of archive files. */
export const formatCompactDmy = (day: Day): string => day.split('-').reverse().join('')

const IS_IN_EVERY_MONTH = /-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])$/

/**
 * The day that a text starts with (`2026-02-12` or `2026-02-12 19:28:12`), or undefined if it is not a real
 * day.
 */
export const readDay = (text: unknown): Day | undefined => {
  const day = typeof text === 'string' ? /^\d{4}-\d{2}-\d{2}(?!\d)/.exec(text)?.[0] : undefined
  if (day === undefined || IS_IN_EVERY_MONTH.test(day)) return day
  const at = Date.parse(`${day}T00:00:00Z`)
  // A day such as 30 February is one of the next month.
  return new Date(at).getUTCDate() === Number(day.slice(-2)) ? day : undefined
}
