import { toTwoDigits } from '../model/format.js'
import type { Random } from '../model/market.js'
import { type Day, SESSION_START, toDay, toInstant } from '../model/trading-day.js'
import { createRandom } from './random.js'

/** The trading days of the market, past and future, oldest first. */
export type TradingCalendar = ReturnType<typeof createTradingCalendar>

const FIRST_DAY: Day = '1994-11-03'
const LAST_YEAR = 2060

/**
 * A plausible calendar of Indian sessions from November 1994 to 2060. The seed moves the religious holidays,
 * not the national ones. With `weekends` there is a Muhurat session on a weekend in each year, and another
 * session on a weekend in spring.
 */
export const createTradingCalendar = (seed: number, weekends = false) => {
  const years = Array.from({ length: LAST_YEAR - 1993 }, (_, i) => 1994 + i)
  const days = years.flatMap((year) => listSessions(year, seed, weekends)).filter((day) => day >= FIRST_DAY)
  const times = days.map((day) => toInstant(day) / 1_000)
  // One instant is asked for many times.
  let asked = Number.NaN
  let found = -1
  return {
    days: days as readonly Day[],
    /** Midnight in India of each day, epoch seconds: the time of its candle. */
    times: times as readonly number[],
    /**
     * The index of the last day that has opened (09:15 in India) at an instant (epoch milliseconds); -1
     * before the first.
     */
    lastOpened: (instantMs: number) => {
      if (instantMs === asked) return found
      const today = toDay(instantMs)
      const index = lowerBound(days, today)
      asked = instantMs
      found = days[index] === today && instantMs >= toInstant(today, SESSION_START) ? index : index - 1
      return found
    },
  }
}

const listSessions = (year: number, seed: number, weekends: boolean): readonly Day[] => {
  const random = createRandom(seed, 'calendar', year)
  const closed = new Set(
    [...nationalHolidays, ...createMovableHolidays(random)].map((date) => `${year}-${date}`),
  )
  const dates = listDates(year)
  const special = new Set(findSpecialSessions(dates, random, weekends))
  return dates.flatMap(({ day, isWeekend }) =>
    special.has(day) || !(isWeekend || closed.has(day)) ? [day] : [],
  )
}

const nationalHolidays = ['01-26', '04-14', '05-01', '08-15', '10-02', '12-25'] as const
const movableHolidayMonths = [3, 3, 4, 4, 6, 8, 9, 10, 11] as const

const createMovableHolidays = (random: Random) =>
  movableHolidayMonths.map((month) => `${toTwoDigits(month)}-${toTwoDigits(random.int(1, 28))}`)

// The market opens on budget day even on a weekend (2015, 2020, 2025, 2026), and sometimes on a weekend for
// the Diwali session (muhurat).
const findSpecialSessions = (
  dates: readonly CalendarDate[],
  random: Random,
  weekends: boolean,
): readonly Day[] => {
  const weekend = dates.flatMap(({ day, isWeekend }) => (isWeekend ? [day] : []))
  const between = (from: string, to: string) =>
    weekend.filter((day) => day.slice(5) >= from && day.slice(5) <= to)
  const budget = weekend.filter((day) => day >= '2015' && day.endsWith('-02-01'))
  const festive = between('10-20', '11-12')
  const spring = weekends ? between('03-01', '05-31') : []
  const special = [
    festive[random.int(0, weekends ? festive.length - 1 : 20)],
    spring[random.int(0, spring.length - 1)],
  ]
  return [...budget, ...special.filter((day) => day !== undefined)]
}

interface CalendarDate {
  readonly day: Day
  readonly isWeekend: boolean
}

const dayMs = 86_400_000

const listDates = (year: number): readonly CalendarDate[] => {
  const start = Date.UTC(year, 0, 1)
  const length = (Date.UTC(year + 1, 0, 1) - start) / dayMs
  return Array.from({ length }, (_, i) => {
    const date = new Date(start + i * dayMs)
    return { day: date.toISOString().slice(0, 10), isWeekend: date.getUTCDay() % 6 === 0 }
  })
}

/**
 * The first index of an ascending list whose value is not below `value`; the length of the list if no value
 * is.
 */
export const lowerBound = <T extends number | string>(list: readonly T[], value: T): number => {
  let low = 0
  let high = list.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((list[middle] as T) < value) low = middle + 1
    else high = middle
  }
  return low
}
