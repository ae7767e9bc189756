import { type Day, lastWeekday } from '../model/trading-day.js'
import { type CandleArrays, dayToNumber, numberToDay } from './candle-file.js'

export type DaySet = NonNullable<ReturnType<typeof createDaySet>>

/** The days on which a series has a candle, as a bit set of a few hundred bytes; undefined if it has none. */
export const createDaySet = ({ day, length }: CandleArrays) => {
  const first = day[0]
  const last = day[length - 1]
  if (first === undefined || last === undefined || length === 0) return undefined
  const bits = new Uint8Array(((last - first) >> 3) + 1)
  for (let index = 0; index < length; index += 1) {
    const at = (day[index] as number) - first
    bits[at >> 3] = (bits[at >> 3] as number) | (1 << (at & 7))
  }
  return {
    /** Day numbers, both included. */
    first,
    last,
    has: (wanted: number) =>
      wanted >= first &&
      wanted <= last &&
      ((bits[(wanted - first) >> 3] as number) & (1 << ((wanted - first) & 7))) !== 0,
  }
}

/** The series of a day. */
export interface DayCount {
  /** How many have a candle, */
  readonly trading: number
  /** of those whose first candle is not later and whose last is not earlier. */
  readonly listed: number
}

/**
 * With candles of at least this share of the listed series, a day is a session: some stocks are suspended,
 * some files have gaps.
 */
const SESSION_SHARE = 0.5

/** Whether a day on which so many series have a candle was a session. */
export const isSessionOf = ({ trading, listed }: DayCount): boolean =>
  trading > 0 && trading >= SESSION_SHARE * listed

/** Counts, for each day, the listed series and those with a candle. */
export const countDays = (all: readonly DaySet[]) => {
  let [from, to] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
  for (const { first, last } of all) {
    from = Math.min(from, first)
    to = Math.max(to, last)
  }
  const length = all.length === 0 ? 0 : to - from + 1
  const trading = new Int32Array(length)
  const changes = new Int32Array(length + 1)
  for (const { first, last, has } of all) {
    for (let day = first; day <= last; day += 1)
      if (has(day)) trading[day - from] = (trading[day - from] as number) + 1
    changes[first - from] = (changes[first - from] as number) + 1
    changes[last - from + 1] = (changes[last - from + 1] as number) - 1
  }
  const listed = new Int32Array(length)
  for (let index = 0, sum = 0; index < length; index += 1) {
    sum += changes[index] as number
    listed[index] = sum
  }
  return {
    days: function* (): Iterable<number> {
      for (let index = 0; index < length; index += 1) if ((trading[index] as number) > 0) yield from + index
    },
    newest: to,
    on: (day: number): DayCount => ({ trading: trading[day - from] ?? 0, listed: listed[day - from] ?? 0 }),
  }
}

/**
 * The session that a day is about. Of a weekend that is the day itself if at least half as many stocks
 * traded as on the fullest of the days before, a Saturday for a Sunday likewise, or else the Friday. A
 * weekday stays.
 */
export const findMarketDay = (counts: Pick<ReturnType<typeof countDays>, 'on'>, day: Day): Day => {
  const [last, friday] = [dayToNumber(day), dayToNumber(lastWeekday(day))]
  const before = Array.from({ length: 7 }, (_, place) => counts.on(friday - place).trading)
  const fullest = Math.max(...before)
  for (let one = last; one > friday; one -= 1) {
    const { trading, listed } = counts.on(one)
    if (isSessionOf({ trading, listed: Math.max(listed, fullest) })) return numberToDay(one)
  }
  return numberToDay(friday)
}
