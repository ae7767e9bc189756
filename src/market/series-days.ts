import type { CandleArrays } from './candle-file.js'

/** The days on which a series has a candle, as a bit set of a few hundred bytes. */
export interface DaySet {
  /** Day numbers, both included. */
  readonly first: number
  readonly last: number
  readonly has: (day: number) => boolean
}

/** The days of a series; undefined if it has no candle. */
export const createDaySet = ({ day, length }: CandleArrays): DaySet | undefined => {
  const first = day[0]
  const last = day[length - 1]
  if (first === undefined || last === undefined || length === 0) return undefined
  const bits = new Uint8Array(((last - first) >> 3) + 1)
  for (let index = 0; index < length; index += 1) {
    const at = (day[index] as number) - first
    bits[at >> 3] = (bits[at >> 3] as number) | (1 << (at & 7))
  }
  return {
    first,
    last,
    has: (wanted) => wanted >= first && wanted <= last && ((bits[(wanted - first) >> 3] as number) & (1 << ((wanted - first) & 7))) !== 0,
  }
}

/** The series of a day. */
export interface DayCount {
  /** How many have a candle, */
  readonly trading: number
  /** of those whose first candle is not later and whose last is not earlier. */
  readonly listed: number
}

/** With candles of at least this share of the listed series, a day is a session: some stocks are suspended, some files have gaps. */
const SESSION_SHARE = 0.5

/** Whether a day on which so many series have a candle was a session. */
export const isSessionOf = ({ trading, listed }: DayCount): boolean => trading > 0 && trading >= SESSION_SHARE * listed

/** The counts of all days of some series. */
export interface DayCounts {
  readonly days: () => Iterable<number>
  /** The last day of any series. */
  readonly newest: number
  readonly on: (day: number) => DayCount
}

/** Counts, for each day, the listed series and those with a candle. */
export const countDays = (all: readonly DaySet[]): DayCounts => {
  let [from, to] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
  for (const { first, last } of all) {
    from = Math.min(from, first)
    to = Math.max(to, last)
  }
  const length = all.length === 0 ? 0 : to - from + 1
  const trading = new Int32Array(length)
  const changes = new Int32Array(length + 1)
  for (const { first, last, has } of all) {
    for (let day = first; day <= last; day += 1) if (has(day)) trading[day - from] = (trading[day - from] as number) + 1
    changes[first - from] = (changes[first - from] as number) + 1
    changes[last - from + 1] = (changes[last - from + 1] as number) - 1
  }
  const listed = new Int32Array(length)
  for (let index = 0, sum = 0; index < length; index += 1) {
    sum += changes[index] as number
    listed[index] = sum
  }
  return {
    days: function* () {
      for (let index = 0; index < length; index += 1) if ((trading[index] as number) > 0) yield from + index
    },
    newest: to,
    on: (day) => ({ trading: trading[day - from] ?? 0, listed: listed[day - from] ?? 0 }),
  }
}
