import { dayToNumber, numberToDay } from '../market/candle-file.js'
import { countDays, type DayCount, type DaySet, isSessionOf } from '../market/series-days.js'
import { formatPart, nameFirst } from '../model/format.js'
import { groupBy } from '../model/map.js'
import { type CheckName, type Finding, isMany, MAX_NAMED, type YearCoverage } from './finding.js'

/**
 * The market's calendar, derived from its candles: it has the special sessions on weekends, and not the
 * holidays.
 */
export type MarketCalendar = ReturnType<typeof deriveCalendar>

/** With fewer listed stocks or indices, a day is undecidable. */
const MIN_STOCKS = 10
export const MIN_INDICES = 5

/**
 * A day is a session if at least half of the stocks listed then (from their first candle to their last) have
 * a candle, or, if too few stocks were listed, half of the indices. Days after the newest candle of all
 * stocks are no sessions: the indices may be fetched earlier.
 */
export const deriveCalendar = (stocks: readonly DaySet[], indices: readonly DaySet[]) => {
  const byStocks = countDays(stocks)
  const byIndices = countDays(indices)
  const days = [...new Set([...byStocks.days(), ...byIndices.days()])].sort((one, other) => one - other)
  const sessions: number[] = []
  const findings: Finding[] = []
  const ofIndicesOnly: number[][] = []
  const newest = stocks.length < MIN_STOCKS ? Number.POSITIVE_INFINITY : byStocks.newest
  for (const [index, day] of days.entries()) {
    const stocksThen = byStocks.on(day)
    const indicesThen = byIndices.on(day)
    const isIndexSession = indicesThen.listed >= MIN_INDICES && isSessionOf(indicesThen)
    if (stocksThen.listed < MIN_STOCKS && day <= newest) {
      if (isIndexSession) sessions.push(day)
    } else if (isSessionOf(stocksThen)) sessions.push(day)
    else if (stocksThen.trading > 0) findings.push(createOddDayFinding(day, stocksThen, indicesThen))
    else if (isIndexSession) {
      const before = ofIndicesOnly.at(-1)
      if (before && before.at(-1) === days[index - 1]) before.push(day)
      else ofIndicesOnly.push([day])
    }
  }
  return {
    /** Day numbers, ascending; undecidable days are left out. */
    sessions: sessions as readonly number[],
    last: sessions.at(-1),
    findings: [...findings, ...ofIndicesOnly.map(createIndexDaysFinding)],
    countListed: (day: number): number => byStocks.on(day).listed,
    countTrading: (day: number): number => byStocks.on(day).trading,
  }
}

const createOddDayFinding = (number: number, stocks: DayCount, indices: DayCount): Finding => {
  const day = numberToDay(number)
  const indexNote =
    indices.listed >= MIN_INDICES ? `; ${indices.trading} of ${indices.listed} indices do` : ''
  const detail = `${formatPart(stocks.trading, stocks.listed, 'listed stock')} have a candle of ${day}${indexNote}`
  return { check: 'odd-days', severity: 'warning', day, detail }
}

/**
 * One finding for consecutive days: either the stocks' candles are missing, or the indices have candles on
 * holidays.
 */
const createIndexDaysFinding = (numbers: readonly number[]): Finding => {
  const [day = '', ...more] = numbers.map(numberToDay)
  const days = more.length === 0 ? day : `${numbers.length} days from ${day} to ${more.at(-1)}`
  return {
    check: 'odd-days',
    severity: 'warning',
    day,
    detail: `no stock has a candle of ${days}, but most indices do`,
  }
}

const yearOf = (day: number): number => Number(numberToDay(day).slice(0, 4))

export const countCoverage = (
  stocks: readonly { readonly days: DaySet }[],
  { sessions, countListed, countTrading }: MarketCalendar,
): readonly YearCoverage[] => {
  const years = new Map<number, { sessions: number; candles: number; listed: number }>()
  for (const day of sessions) {
    const year = yearOf(day)
    const { sessions: count, candles, listed } = years.get(year) ?? { sessions: 0, candles: 0, listed: 0 }
    years.set(year, {
      sessions: count + 1,
      candles: candles + countTrading(day),
      listed: listed + countListed(day),
    })
  }
  const ranges = stocks.map(({ days: { first, last } }) => [yearOf(first), yearOf(last)] as const)
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

/** Half of the market never really moves by 30 % in one session. */
const ERROR_SHARE = 0.5

/** How a finding about the market describes what the stocks have on that day. */
const DESCRIPTIONS: Partial<Readonly<Record<CheckName, string>>> = {
  'large-moves': 'have a close more than 30 % from the previous one on',
  volumes: 'have an impossible volume on',
  'missing-sessions': 'lack the session of',
  'newest-sessions': 'have no candle since',
  'stale-symbols': 'have no candle after',
}

/**
 * Checks that find wrong candles. Those that find missing candles are never an error of the whole market: the
 * next run may bring them.
 */
const OF_CANDLES: readonly CheckName[] = ['large-moves', 'volumes']

/** Replaces the findings that many stocks have on the same day by one about the day. */
export const mergeMarketDays = (
  findings: readonly Finding[],
  { countListed }: MarketCalendar,
): readonly Finding[] => {
  const isOfDay = ({ check, day }: Finding): boolean => day !== undefined && check in DESCRIPTIONS
  const groups = groupBy(findings.filter(isOfDay), ({ check, day }) => `${check} ${day}`)
  const merged = [...groups.values()].flatMap((group): readonly Finding[] => {
    const { check, day = '' } = group[0] as Finding
    const symbols = [...new Set(group.map(({ symbol = '' }) => symbol))]
    const listed = countListed(dayToNumber(day))
    const all = check === 'newest-sessions' ? listed + symbols.length : listed
    if (!isMany(symbols.length, all)) return group
    const severity = OF_CANDLES.includes(check) && symbols.length >= ERROR_SHARE * all ? 'error' : 'warning'
    const detail = `${formatPart(symbols.length, all, 'stock')} ${DESCRIPTIONS[check]} ${day}: ${nameFirst(symbols, MAX_NAMED)}`
    return [{ check: 'odd-days', severity, day, detail }]
  })
  return [...findings.filter((finding) => !isOfDay(finding)), ...merged]
}
