import { dayOfNumber } from './candle-columns.js'
import type { DaysHeld } from './days-held.js'
import type { Finding } from './finding.js'

/** The market's own calendar, read off its candles: special sessions on weekends are in it, and holidays that nobody announced are not. */
export interface Calendar {
  /** Day numbers of sessions, ascending; a day that cannot be judged is in no list. */
  readonly sessions: readonly number[]
  /** The newest session; nothing where no day could be judged. */
  readonly last: number | undefined
  /** Days that are a session for a few stocks only, or for the indices alone. */
  readonly findings: readonly Finding[]
}

/** Fewer stocks that were listed on a day, or indices, cannot tell whether it was a session. */
const FEWEST_STOCKS = 10
const FEWEST_INDICES = 5
const SHARE = 0.5

/**
 * A day is a session if at least half of the stocks that were listed then (from their first candle to their last) have a candle; where too
 * few stocks can tell, if half of the indices do. A day after the newest candle of all stocks is none, however many indices have it: the
 * indices may have come without the stocks.
 */
export const calendarOf = (stocks: readonly DaysHeld[], indices: readonly DaysHeld[]): Calendar => {
  const byStocks = countsOf(stocks)
  const byIndices = countsOf(indices)
  const days = [...new Set([...byStocks.days(), ...byIndices.days()])].sort((one, other) => one - other)
  const sessions: number[] = []
  const findings: Finding[] = []
  const ofIndicesOnly: number[] = []
  const newest = stocks.length < FEWEST_STOCKS ? Number.POSITIVE_INFINITY : byStocks.newest
  for (const day of days) {
    const stocksThen = byStocks.on(day)
    const indicesThen = byIndices.on(day)
    const isIndexSession = indicesThen.listed >= FEWEST_INDICES && indicesThen.trading >= SHARE * indicesThen.listed
    if (stocksThen.listed < FEWEST_STOCKS && day <= newest) {
      if (isIndexSession) sessions.push(day)
    } else if (stocksThen.trading > 0 && stocksThen.trading >= SHARE * stocksThen.listed) sessions.push(day)
    else if (stocksThen.trading > 0) findings.push(oddDay(day, stocksThen, indicesThen))
    else if (isIndexSession) ofIndicesOnly.push(day)
  }
  return { sessions, last: sessions.at(-1), findings: [...findings, ...oddDaysOfIndices(ofIndicesOnly)] }
}

interface Counted {
  readonly trading: number
  readonly listed: number
}

const oddDay = (number: number, stocks: Counted, indices: Counted): Finding => {
  const day = dayOfNumber(number)
  const witness = indices.listed >= FEWEST_INDICES ? `; ${indices.trading} of ${indices.listed} indices do` : ''
  const detail = `${stocks.trading} of ${stocks.listed} stocks that were listed then have a candle of ${day}${witness}`
  return { check: 'odd-days', severity: 'warning', day, detail }
}

const SHOWN = 3

/** One finding for all of them: either no stock's candle came, or the indices go on over holidays. */
const oddDaysOfIndices = (numbers: readonly number[]): readonly Finding[] => {
  const days = numbers.map(dayOfNumber)
  const [day] = days
  if (day === undefined) return []
  const named = days.slice(-SHOWN).reverse().join(', ')
  const more = days.length > SHOWN ? `, and ${days.length - SHOWN} before them` : ''
  const detail = `most indices have a candle of ${days.length === 1 ? 'a day' : `${days.length} days`} on which no stock has one: ${named}${more}`
  return [{ check: 'odd-days', severity: 'warning', day, detail }]
}

interface Counts {
  readonly days: () => Iterable<number>
  /** The last day of any series. */
  readonly newest: number
  readonly on: (day: number) => Counted
}

/** How many of the series were listed on a day, and how many of those have a candle of it. */
const countsOf = (all: readonly DaysHeld[]): Counts => {
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
  for (let place = 0, sum = 0; place < length; place += 1) {
    sum += changes[place] as number
    listed[place] = sum
  }
  return {
    days: function* () {
      for (let place = 0; place < length; place += 1) if ((trading[place] as number) > 0) yield from + place
    },
    newest: to,
    on: (day) => ({ trading: trading[day - from] ?? 0, listed: listed[day - from] ?? 0 }),
  }
}
