import { numberToDay } from '../../market/candle-file.js'
import { countDays, type DayCount, type DaySet, isSessionOf } from '../../market/series-days.js'
import type { Finding, YearCoverage } from './finding.js'

/** The market's calendar, derived from its candles: it has the special sessions on weekends, and not the holidays. */
export interface MarketCalendar {
  /** Day numbers of sessions, ascending; undecidable days are left out. */
  readonly sessions: readonly number[]
  /** The newest session; undefined if no day is decidable. */
  readonly last: number | undefined
  /** Days on which only a few stocks, or only indices, have a candle. */
  readonly findings: readonly Finding[]
  /** How many stocks were listed on a day, from their first candle to their last. */
  readonly countListed: (day: number) => number
  /** How many of them have a candle of that day. */
  readonly countTrading: (day: number) => number
}

/** With fewer listed stocks or indices, a day is undecidable. */
const MIN_STOCKS = 10
export const MIN_INDICES = 5

/**
 * A day is a session if at least half of the stocks listed then (from their first candle to their last) have a candle, or, if too few
 * stocks were listed, half of the indices. Days after the newest candle of all stocks are no sessions: the indices may be fetched earlier.
 */
export const deriveCalendar = (stocks: readonly DaySet[], indices: readonly DaySet[]): MarketCalendar => {
  const byStocks = countDays(stocks)
  const byIndices = countDays(indices)
  const days = [...new Set([...byStocks.days(), ...byIndices.days()])].sort((one, other) => one - other)
  const sessions: number[] = []
  const findings: Finding[] = []
  const ofIndicesOnly: number[][] = []
  let isAfterOne = false
  const newest = stocks.length < MIN_STOCKS ? Number.POSITIVE_INFINITY : byStocks.newest
  for (const day of days) {
    const stocksThen = byStocks.on(day)
    const indicesThen = byIndices.on(day)
    const isContinued = isAfterOne
    isAfterOne = false
    const isIndexSession = indicesThen.listed >= MIN_INDICES && isSessionOf(indicesThen)
    if (stocksThen.listed < MIN_STOCKS && day <= newest) {
      if (isIndexSession) sessions.push(day)
    } else if (isSessionOf(stocksThen)) sessions.push(day)
    else if (stocksThen.trading > 0) findings.push(createOddDayFinding(day, stocksThen, indicesThen))
    else if (isIndexSession) {
      if (isContinued) ofIndicesOnly.at(-1)?.push(day)
      else ofIndicesOnly.push([day])
      isAfterOne = true
    }
  }
  return {
    sessions,
    last: sessions.at(-1),
    findings: [...findings, ...ofIndicesOnly.map(createIndexDaysFinding)],
    countListed: (day) => byStocks.on(day).listed,
    countTrading: (day) => byStocks.on(day).trading,
  }
}

const createOddDayFinding = (number: number, stocks: DayCount, indices: DayCount): Finding => {
  const day = numberToDay(number)
  const indexNote = indices.listed >= MIN_INDICES ? `; ${indices.trading} of ${indices.listed} indices do` : ''
  const detail = `${stocks.trading} of ${stocks.listed} listed stocks have a candle of ${day}${indexNote}`
  return { check: 'odd-days', severity: 'warning', day, detail }
}

/** One finding for consecutive days: either the stocks' candles are missing, or the indices have candles on holidays. */
const createIndexDaysFinding = (numbers: readonly number[]): Finding => {
  const [day = '', ...more] = numbers.map(numberToDay)
  const days = more.length === 0 ? day : `${numbers.length} days from ${day} to ${more.at(-1)}`
  return { check: 'odd-days', severity: 'warning', day, detail: `no stock has a candle of ${days}, but most indices do` }
}

const yearOf = (day: number): number => Number(numberToDay(day).slice(0, 4))

/** Counts sessions and candles per year, the newest first. */
export const countCoverage = (
  stocks: readonly DaySet[],
  { sessions, countListed, countTrading }: MarketCalendar,
): readonly YearCoverage[] => {
  const years = new Map<number, { sessions: number; candles: number; listed: number }>()
  for (const day of sessions) {
    const year = yearOf(day)
    const known = years.get(year) ?? { sessions: 0, candles: 0, listed: 0 }
    years.set(year, {
      sessions: known.sessions + 1,
      candles: known.candles + countTrading(day),
      listed: known.listed + countListed(day),
    })
  }
  const ranges = stocks.map(({ first, last }) => [yearOf(first), yearOf(last)] as const)
  return [...years]
    .map(([year, { sessions: count, candles, listed }]) => ({
      year,
      sessions: count,
      stocks: ranges.filter(([first, last]) => first <= year && year <= last).length,
      candles,
      share: listed === 0 ? 0 : Math.round((candles / listed) * 10_000) / 10_000,
    }))
    .reverse()
}
