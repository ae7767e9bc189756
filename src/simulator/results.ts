import { toCents } from '../model/format.js'
import type { SampleQuarter, SampleStock } from '../model/market.js'
import { type Day, toDay } from '../model/trading-day.js'
import { drawInWeek, toWeek } from './documents.js'
import { createRandom } from './random.js'

/** Quarters are counted from that of March of the year 0. */
const toQuarterNumber = (day: Day): number =>
  Number(day.slice(0, 4)) * 4 + Math.floor((Number(day.slice(5, 7)) - 1) / 3)
const toPeriod = (quarter: number): string =>
  `${Math.floor(quarter / 4)}${['03', '06', '09', '12'][quarter % 4]}`

/** The periods of quarters that every company has published on a day, newest first. */
export const listPublishedPeriods = (day: Day, count: number): readonly string[] =>
  Array.from({ length: count }, (_, place) => toPeriod(toQuarterNumber(day) - 2 - place))

/** The last quarter of the year of which the price at the anchor is a multiple. */
const ANCHOR = toQuarterNumber('2025-12-31')

interface ResultOptions {
  readonly seed: number
  /** Those that are published until then, epoch milliseconds. */
  readonly until: number
  /** New shares for one of the anchor. */
  readonly shareFactor: number
  readonly count: number
}

/** The quarters that a company has published, newest first; planned events restate some of them. */
export const simulateResults = (
  stock: SampleStock,
  { seed, until, shareFactor, count }: ResultOptions,
): readonly SampleQuarter[] => {
  const { Mcap, Ltp, pe, events = [] } = stock
  const business = createBusiness(seed, stock)
  const scale = Mcap / pe / [0, 1, 2, 3].reduce((sum, ago) => sum + business(ANCHOR - ago).profit, 0)
  const current = toQuarterNumber(toDay(until))
  const newest = business(current - 1).publishedAt <= until ? current - 1 : current - 2
  return Array.from({ length: count }, (_, place) => {
    const period = toPeriod(newest - place)
    const { publishedAt, sales, ebitda, profit } = business(newest - place)
    const factors = events.map((event) =>
      event.kind === 'restated-quarter' && event.quarter === period ? event.factor : 1,
    )
    const restated = factors.reduce((all, factor) => all * factor, toCents(profit * scale))
    return {
      period,
      publishedAt,
      sales: toCents(sales * scale),
      ebitda: toCents(ebitda * scale),
      profit: toCents(restated),
      eps: toCents((restated * Ltp) / Mcap / shareFactor),
    }
  })
}

/** The years whose quarters are all among those given, newest first. */
export const sumYears = (quarters: readonly SampleQuarter[]): readonly SampleQuarter[] =>
  quarters.slice(0, -3).flatMap((last, place) => {
    const sum = (figure: 'sales' | 'ebitda' | 'profit' | 'eps') =>
      toCents(quarters.slice(place, place + 4).reduce((all, quarter) => all + quarter[figure], 0))
    return last.period.endsWith('03')
      ? [{ ...last, sales: sum('sales'), ebitda: sum('ebitda'), profit: sum('profit'), eps: sum('eps') }]
      : []
  })

/**
 * The figures of a company in any quarter, in a unit of its own: the sales grow, and the margin and the share
 * of taxes and interest change. It publishes them two to six weeks after the end of the quarter.
 */
const createBusiness = (seed: number, { Sid }: SampleStock) => {
  const character = createRandom(seed, 'business', Sid)
  const [growth, trend] = [character.next() * 0.35 - 0.05, character.next() * 0.02 - 0.01]
  const [margin, kept, season] = [
    0.08 + character.next() * 0.24,
    0.45 + character.next() * 0.2,
    character.int(0, 3),
  ]
  return (quarter: number) => {
    const random = createRandom(seed, 'quarter', Sid, quarter)
    const years = (quarter - ANCHOR) / 4
    const size = years < 0 ? 1 / (1 - growth * years) : 1 + growth * years
    const sales = size * (quarter % 4 === season ? 1.2 : 1) * (0.95 + random.next() * 0.1)
    const ebitda =
      sales * Math.min(0.45, Math.max(0.04, margin + trend * years + (random.next() - 0.5) * 0.03))
    const end = Date.UTC(Math.floor(quarter / 4), (quarter % 4) * 3 + 3)
    return {
      sales,
      ebitda,
      profit: ebitda * (kept + (random.next() - 0.5) * 0.16),
      publishedAt: drawInWeek(toWeek(end) + random.int(1, 5), random),
    }
  }
}
