import type { Day } from '../../model/trading-day.js'
import type { MarketCalendar } from './calendar.js'
import { numberToDay } from './candle-arrays.js'
import type { DaySet } from './day-set.js'
import type { Finding } from './finding.js'

/** The days of a series. */
export interface SeriesDays {
  readonly symbol: string
  readonly file: string
  readonly days: DaySet
  /** Days after gaps that another check has reported. */
  readonly reportedDays: ReadonlySet<Day>
}

/** A gap counts if the stock traded on all of this many sessions before and after it. */
const SESSIONS_AROUND = 120
/** If its candles start or end closer to the gap, this many sessions in total are enough. */
const MIN_SESSIONS_AROUND = 60

export const STALE_SESSIONS = 20

/**
 * Finds sessions that a stock lacks between its first candle and its last. Illiquid stocks often miss sessions, so a gap counts only if no
 * other session around it is missing. Gaps of special sessions on weekends do not count: those are short.
 */
export const findMissingSessions = ({ symbol, file, days, reportedDays }: SeriesDays, { sessions }: MarketCalendar): readonly Finding[] => {
  const own = sessions.slice(findSessionIndex(sessions, days.first), findSessionIndex(sessions, days.last + 1))
  const findings: Finding[] = []
  for (let index = 0; index < own.length; index += 1) {
    if (days.has(own[index] as number)) continue
    const start = index
    while (index < own.length && !days.has(own[index] as number)) index += 1
    const before = own.slice(Math.max(0, start - SESSIONS_AROUND), start)
    const after = own.slice(index, index + SESSIONS_AROUND)
    const isSteady = before.length + after.length >= MIN_SESSIONS_AROUND && [...before, ...after].every(days.has)
    if (reportedDays.has(numberToDay(own[index] as number))) continue
    if (!isSteady || own.slice(start, index).every(isWeekendNumber)) continue
    const [from, to] = [numberToDay(own[start] as number), numberToDay(own[index - 1] as number)]
    const detail = index - start === 1 ? `the session of ${from} is missing` : `${index - start} sessions from ${from} to ${to} are missing`
    findings.push({ check: 'missing-sessions', severity: 'warning', symbol, day: from, file, detail })
  }
  return findings
}

/** 1970 began on a Thursday. */
const isWeekendNumber = (day: number): boolean => (day + 4) % 7 === 0 || (day + 4) % 7 === 6

/** Finds listed stocks whose candles end long before the market's. */
export const findStaleSymbol = ({ symbol, file, days }: SeriesDays, { sessions }: MarketCalendar): readonly Finding[] => {
  const since = sessions.length - findSessionIndex(sessions, days.last + 1)
  if (since <= STALE_SESSIONS) return []
  const day = numberToDay(days.last)
  return [
    {
      check: 'stale-symbols',
      severity: 'warning',
      symbol,
      day,
      file,
      detail: `its last candle is of ${day}, ${since} sessions before the market's`,
    },
  ]
}

/** The index of the first session on or after a day (binary search). */
const findSessionIndex = (sessions: readonly number[], day: number): number => {
  let [low, high] = [0, sessions.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((sessions[middle] as number) < day) low = middle + 1
    else high = middle
  }
  return low
}
