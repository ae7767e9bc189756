import type { Day } from '../model/trading-day.js'
import type { Calendar } from './calendar.js'
import { dayOfNumber } from './candle-columns.js'
import type { DaysHeld } from './days-held.js'
import type { Finding } from './finding.js'

/** A series as the calendar sees it. */
export interface SeriesDays {
  readonly symbol: string
  readonly file: string
  readonly days: DaysHeld
  /** Days after gaps that another check has told of already. */
  readonly toldUntil: ReadonlySet<Day>
}

/** A stock that traded on each of so many sessions before and after a gap did not miss those between for want of a buyer. */
const SESSIONS_AROUND = 120
/** Where its candles begin or end nearer to the gap, so many in all will do. */
const FEWEST_AROUND = 60

export const STALE_SESSIONS = 20

/**
 * Finds sessions that a stock lacks between its first candle and its last. Small stocks miss sessions all the time, because nobody trades
 * them; so a gap counts only where no other session around it is missing, and not where it is of special sessions on a weekend, which are
 * short.
 */
export const missingSessions = ({ symbol, file, days, toldUntil }: SeriesDays, { sessions }: Calendar): readonly Finding[] => {
  const own = sessions.slice(placeOf(sessions, days.first), placeOf(sessions, days.last + 1))
  const findings: Finding[] = []
  for (let place = 0; place < own.length; place += 1) {
    if (days.has(own[place] as number)) continue
    const start = place
    while (place < own.length && !days.has(own[place] as number)) place += 1
    const before = own.slice(Math.max(0, start - SESSIONS_AROUND), start)
    const after = own.slice(place, place + SESSIONS_AROUND)
    const isSteady = before.length + after.length >= FEWEST_AROUND && [...before, ...after].every(days.has)
    if (toldUntil.has(dayOfNumber(own[place] as number))) continue
    if (!isSteady || own.slice(start, place).every(isWeekend)) continue
    const [from, to] = [dayOfNumber(own[start] as number), dayOfNumber(own[place - 1] as number)]
    const detail = place - start === 1 ? `the session of ${from} is missing` : `${place - start} sessions from ${from} to ${to} are missing`
    findings.push({ check: 'missing-sessions', severity: 'warning', symbol, day: from, file, detail })
  }
  return findings
}

/** 1970 began on a Thursday. */
const isWeekend = (day: number): boolean => (day + 4) % 7 === 0 || (day + 4) % 7 === 6

/** Listed stocks whose candles ended long before the market's did. */
export const staleSymbol = ({ symbol, file, days }: SeriesDays, { sessions }: Calendar): readonly Finding[] => {
  const since = sessions.length - placeOf(sessions, days.last + 1)
  if (since <= STALE_SESSIONS) return []
  const day = dayOfNumber(days.last)
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

/** The place of the first session on a day or after it. */
const placeOf = (sessions: readonly number[], day: number): number => {
  let [low, high] = [0, sessions.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((sessions[middle] as number) < day) low = middle + 1
    else high = middle
  }
  return low
}
