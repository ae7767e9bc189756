import { dayToNumber, numberToDay } from '../market/candle-file.js'
import type { DaySet } from '../market/series-days.js'
import { formatNumber, formatQuantity, nameFirst } from '../model/format.js'
import { median } from '../model/map.js'
import { type Row, readText } from '../model/row.js'
import type { Table } from '../model/table.js'
import type { Day } from '../model/trading-day.js'
import type { MarketCalendar } from './calendar.js'
import { ofSeries, type RecentCandles, type SeriesFile } from './candle-series.js'
import { type Finding, isMany, MAX_NAMED } from './finding.js'
import { NOTED_REST_DAYS } from './price-moves.js'
import type { StockIndex } from './stray-records.js'

export interface SeriesDays extends SeriesFile {
  readonly days: DaySet
  /** Rupees per session: the median of the newest candles. */
  readonly tradedValue: number
  /** Days with a large move. It mentions the gap before it if that is long. */
  readonly reportedDays: ReadonlySet<Day>
  readonly recent: RecentCandles
}

export interface IndexSeries extends Pick<SeriesDays, 'symbol' | 'file' | 'days' | 'recent'> {
  readonly row: Row
}

/** A stock with this traded value (₹ 1 crore) is liquid: it trades on every session of the last year. */
const LIQUID_VALUE = 10_000_000
/** Its candles may lack this share of the sessions around a gap. */
const LIQUID_SHARE = 0.05
const LIQUID_SESSIONS = 250

/** A gap counts if the stock traded on all of this many sessions before and after it. */
const SESSIONS_AROUND = 120
/** If its candles start or end closer to the gap, this many sessions in total are enough. */
const MIN_SESSIONS_AROUND = 60

export const STALE_SESSIONS = 20

/**
 * Finds sessions that a stock lacks between its first candle and its last. Illiquid stocks often miss
 * sessions, so a gap counts only if no other session around it is missing; of liquid stocks, some may be
 * missing. Gaps of special sessions on weekends do not count: those are short.
 */
export const findMissingSessions = (
  { days, reportedDays, tradedValue }: SeriesDays,
  { sessions }: MarketCalendar,
): readonly Finding[] => {
  const own = sessions.slice(
    findSessionIndex(sessions, days.first),
    findSessionIndex(sessions, days.last + 1),
  )
  const findings: Finding[] = []
  for (let index = 0; index < own.length; index += 1) {
    if (days.has(own[index] as number)) continue
    const start = index
    while (index < own.length && !days.has(own[index] as number)) index += 1
    const before = own.slice(Math.max(0, start - SESSIONS_AROUND), start)
    const [firstMissing, next] = [own[start] as number, own[index] ?? 0]
    if (next - firstMissing >= NOTED_REST_DAYS && reportedDays.has(numberToDay(next))) continue
    const isLiquid = tradedValue >= LIQUID_VALUE && own.length - index <= LIQUID_SESSIONS
    // Two gaps of a liquid stock would excuse each other. Another one may have begun to miss sessions.
    const after =
      isLiquid && before.length >= MIN_SESSIONS_AROUND ? [] : own.slice(index, index + SESSIONS_AROUND)
    if (own.slice(start, index).every(isWeekendNumber) || !isSteady([...before, ...after], days, isLiquid))
      continue
    const [from, to] = [numberToDay(own[start] as number), numberToDay(own[index - 1] as number)]
    const detail =
      index - start === 1
        ? `the session of ${from} is missing`
        : `${formatNumber(index - start)} sessions from ${from} to ${to} are missing`
    findings.push({ check: 'missing-sessions', severity: 'warning', day: from, detail })
  }
  return findings
}

/** 1970 began on a Thursday. */
export const isWeekendNumber = (day: number): boolean => (day + 4) % 7 === 0 || (day + 4) % 7 === 6

/**
 * Finds listed stocks whose candles end before the market's: long before, or on all sessions but the newest.
 */
export const findEndedSeries = (
  { days, tradedValue }: SeriesDays,
  { sessions }: MarketCalendar,
): readonly Finding[] => {
  const next = findSessionIndex(sessions, days.last + 1)
  const since = sessions.length - next
  if (since === 0) return []
  if (since > STALE_SESSIONS) {
    const day = numberToDay(days.last)
    const detail = `its last candle is of ${day}, ${formatQuantity(since, 'session')} before the market's`
    return [{ check: 'stale-symbols', severity: 'warning', day, detail }]
  }
  const before = sessions.slice(
    Math.max(findSessionIndex(sessions, days.first), next - SESSIONS_AROUND),
    next,
  )
  if (sessions.slice(next).every(isWeekendNumber) || !isSteady(before, days, tradedValue >= LIQUID_VALUE))
    return []
  const day = numberToDay(sessions[next] as number)
  const detail =
    since === 1
      ? `the newest session, ${day}, is missing`
      : `the newest ${since} sessions, from ${day} on, are missing`
  return [{ check: 'newest-sessions', severity: 'warning', day, detail }]
}

/** Days before the last one, on which a series is compared with the market. */
const COMPARED_DAYS = 400
const MIN_COMPARED_DAYS = 20
/** A series that is a day off has candles on one day a week without a session. */
const MAX_OFF_SHARE = 0.1

/** Finds a series whose days are those of the market, but a day later or earlier. */
export const findShiftedSeries = (
  { days: { first, last, has } }: Pick<SeriesDays, 'days'>,
  isSession: (day: number) => boolean,
): readonly Finding[] => {
  const own: number[] = []
  for (let day = Math.max(first, last - COMPARED_DAYS); day <= last; day += 1) if (has(day)) own.push(day)
  const countOff = (by: number): number => own.filter((day) => !isSession(day - by)).length
  const off = countOff(0)
  if (own.length < MIN_COMPARED_DAYS || off <= MAX_OFF_SHARE * own.length) return []
  const by = [1, -1].find((days) => countOff(days) * 2 < off)
  if (by === undefined) return []
  const word = by === 1 ? 'late' : 'early'
  const detail = `its candles are one day ${word}: ${off} of the newest ${own.length} are of days without a session, such as ${numberToDay(own.findLast((day) => !isSession(day)) ?? last)}`
  return [{ check: 'shifted-series', severity: 'error', detail }]
}

/**
 * The listing days (day numbers) by symbol. Skips rows with another ISIN: they are of a stock that had the
 * symbol earlier.
 */
export const readListingDays = (
  rows: readonly Row[],
  { bySymbol }: StockIndex,
  tables: readonly Table[],
): ReadonlyMap<string, number> => {
  const column = tables.flatMap(({ columns }) => columns).find(({ name }) => name === 'listed_on')
  return new Map(
    rows.flatMap((row) => {
      const [symbol, isin] = [readText(row.SYMBOL), row['ISIN NUMBER']]
      const day = column?.convert?.value(readText(row['DATE OF LISTING']))
      return typeof day === 'string' && (isin === undefined || isin === bySymbol.get(symbol)?.ISIN)
        ? [[symbol, dayToNumber(day)] as const]
        : []
    }),
  )
}

/** Days after which a first candle is late. */
const LATE_DAYS = 30
const MIN_LISTINGS = 10
/** With this share of the stocks that were listed on a day, the provider has candles of it. */
const REACHED_SHARE = 0.9

/**
 * Finds stocks whose candles begin long after their listing, and after the day to which the candles of nearly
 * all others reach back.
 */
export const findShortHistories = (
  stocks: readonly SeriesDays[],
  listedOn: ReadonlyMap<string, number>,
): readonly Finding[] => {
  const known = stocks.flatMap(({ symbol, file, days: { first } }) => {
    const listed = listedOn.get(symbol)
    return listed === undefined ? [] : [{ symbol, file, first, listed }]
  })
  const listings = known.map(({ listed }) => listed).sort((one, other) => one - other)
  const starts = known
    .map(({ first, listed }) => Math.max(first - LATE_DAYS, listed))
    .sort((one, other) => one - other)
  const reach = starts.find(
    (day, index) =>
      index + 1 >= MIN_LISTINGS && index + 1 >= REACHED_SHARE * findSessionIndex(listings, day + 1),
  )
  if (reach === undefined) return []
  return known.flatMap(({ symbol, file, first, listed }): readonly Finding[] => {
    if (first - Math.max(listed, reach) <= LATE_DAYS) return []
    const day = numberToDay(first)
    const detail = `its first candle is of ${day}, but it is listed since ${numberToDay(listed)}, and the candles of other stocks reach back to ${numberToDay(reach)}`
    return [{ check: 'short-histories', severity: 'warning', symbol, day, file, detail }]
  })
}

/**
 * Whether a stock trades so regularly that a session without a candle is a fault. Liquid stocks may lack
 * other sessions as well.
 */
const isSteady = (around: readonly number[], days: DaySet, isLiquid: boolean): boolean => {
  const most = isLiquid ? LIQUID_SHARE * around.length : 0
  let missing = 0
  for (const day of around) {
    if (!days.has(day)) missing += 1
    if (missing > most) return false
  }
  return around.length >= MIN_SESSIONS_AROUND
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

/** The newest moves from session to session that are compared, and how many of them a series needs. */
const COMPARED_SESSIONS = 250
const MIN_MOVES = 200
const MIN_MOVING_STOCKS = 10
/** Single moves must not decide. */
const MAX_MOVE = 0.05
/** The correlation of 200 moves that have nothing in common exceeds this once in a million series. */
const MIN_CORRELATION = 0.35
/**
 * What is seldom traded follows the market a session later, too: by how much more a series does so that is
 * late.
 */
const MIN_LEAD = 0.25

/**
 * Finds series on true sessions whose values are those of the session before or after: they move as the
 * market, the median of the stocks, did one session away. One that hardly moves with the market shows
 * nothing.
 */
export const findLateValues = (
  { stocks, indices }: { readonly stocks: readonly SeriesDays[]; readonly indices: readonly IndexSeries[] },
  all: readonly number[],
): readonly Finding[] => {
  const sessions = all.slice(-COMPARED_SESSIONS - 1)
  const measure = createMeter(sessions)
  const moves = stocks.map(measure)
  const market = sessions.map((_, index) => {
    const then = moves.map((own) => own[index] as number).filter((move) => !Number.isNaN(move))
    return then.length < MIN_MOVING_STOCKS ? Number.NaN : median(then)
  })
  const find = (what: string, series: readonly (SeriesDays | IndexSeries)[]): readonly Finding[] => {
    const found = series.flatMap((one) => ofSeries(one, findLag(measure(one), market)))
    const names = found.map(({ symbol = '' }) => symbol)
    if (!isMany(found.length, series.length)) return found
    const detail = `${formatNumber(found.length)} of ${formatNumber(series.length)} ${what} have the values of another session than the median stock: ${nameFirst(names, MAX_NAMED)}`
    return [{ check: 'shifted-series', severity: 'warning', detail }]
  }
  return [...find('stocks', stocks), ...find('indices', indices)]
}

/** Measures the moves of a series to each session from the one before; NaN without a candle of both. */
const createMeter = (sessions: readonly number[]) => {
  const places = new Map(sessions.map((day, index) => [day, index]))
  return ({ recent: { days, closes } }: Pick<SeriesDays, 'recent'>): Float64Array => {
    const moves = new Float64Array(sessions.length).fill(Number.NaN)
    for (let index = 1; index < days.length; index += 1) {
      const place = places.get(days[index] as number)
      if (place === undefined || places.get(days[index - 1] as number) !== place - 1) continue
      const move = Math.log((closes[index] as number) / (closes[index - 1] as number))
      moves[place] = Math.max(-MAX_MOVE, Math.min(MAX_MOVE, move))
    }
    return moves
  }
}

const findLag = (moves: ArrayLike<number>, market: ArrayLike<number>): readonly Finding[] => {
  const present = correlate(moves, market, 0)
  const lag = [1, -1].find((by) => {
    const other = correlate(moves, market, by)
    return other >= MIN_CORRELATION && other - present >= MIN_LEAD
  })
  if (lag === undefined) return []
  const detail = `its candles have the values of the session ${lag === 1 ? 'before' : 'after'}: it moves one session ${lag === 1 ? 'later' : 'earlier'} than the market`
  return [{ check: 'shifted-series', severity: 'warning', detail }]
}

/** The correlation of moves with those of the market so many sessions before; NaN if there are too few. */
const correlate = (moves: ArrayLike<number>, market: ArrayLike<number>, lag: number): number => {
  let [count, x, y, xx, yy, xy] = [0, 0, 0, 0, 0, 0]
  for (let index = 1; index < moves.length; index += 1) {
    const [one, other] = [moves[index] as number, market[index - lag] ?? Number.NaN]
    if (Number.isNaN(one + other)) continue
    count += 1
    x += one
    y += other
    xx += one * one
    yy += other * other
    xy += one * other
  }
  return count < MIN_MOVES
    ? Number.NaN
    : (count * xy - x * y) / Math.sqrt((count * xx - x * x) * (count * yy - y * y))
}
