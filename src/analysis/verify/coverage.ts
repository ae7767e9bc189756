import { numberToDay } from '../../market/candle-file.js'
import type { MarketCalendar } from './calendar.js'
import type { DaySet } from './candle-series.js'
import type { YearCoverage } from './finding.js'

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
