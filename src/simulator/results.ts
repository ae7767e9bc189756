import type { SampleQuarter, SampleStock } from '../model/market.js'
import { type Day, toDay } from '../model/trading-day.js'
import { createRandom } from './random.js'

/** Quarters are counted from that of March of the year 0. */
const toQuarter = (day: Day): number => Number(day.slice(0, 4)) * 4 + Math.floor((Number(day.slice(5, 7)) - 1) / 3)
const MONTHS = ['03', '06', '09', '12'] as const
const toPeriod = (quarter: number): string => `${Math.floor(quarter / 4)}${MONTHS[quarter % 4]}`
/** The day on which a quarter begins, in days from 1970 on. */
const toEpochDay = (quarter: number): number => Date.UTC(Math.floor(quarter / 4), (quarter % 4) * 3, 1) / DAY_MS
const INDIA_OFFSET_MS = 19_800_000

/** The periods of quarters that every company has published on a day, newest first. */
export const listPublishedPeriods = (day: Day, count: number): readonly string[] =>
  Array.from({ length: count }, (_, place) => toPeriod(toQuarter(day) - 2 - place))

/** The last quarter whose profits of a year are those that the price at the anchor is a multiple of. */
const ANCHOR = toQuarter('2025-12-31')

interface ResultOptions {
  readonly seed: number
  readonly asOf: number
  /** New shares for one of the anchor. */
  readonly shareFactor: number
  readonly count: number
}

/** The quarters that a company has published, newest first; planned events restate some of them. */
export const simulateResults = (stock: SampleStock, { seed, asOf, shareFactor, count }: ResultOptions): readonly SampleQuarter[] => {
  const business = createBusiness(seed, stock)
  const current = toQuarter(toDay(asOf))
  const newest = publishedAt(seed, stock, current - 1) <= asOf ? current - 1 : current - 2
  const scale = stock.Mcap / stock.pe / [0, 1, 2, 3].reduce((sum, ago) => sum + business(ANCHOR - ago).profit, 0)
  return Array.from({ length: count }, (_, place) => {
    const quarter = newest - place
    const { sales, ebitda, profit } = business(quarter)
    const period = toPeriod(quarter)
    const restated = (stock.events ?? []).reduce(
      (all, event) => (event.kind === 'restated-quarter' && event.quarter === period ? all * event.factor : all),
      1,
    )
    return {
      period,
      // Few need it.
      get publishedAt() {
        return publishedAt(seed, stock, quarter)
      },
      sales: toCents(sales * scale),
      revenue: toCents(sales * scale * 1.02),
      ebitda: toCents(ebitda * scale),
      profit: toCents(toCents(profit * scale) * restated),
      eps: toCents((profit * scale * restated * stock.Ltp) / stock.Mcap / shareFactor),
    }
  })
}

/** The years whose quarters are all among those given, newest first. */
export const sumYears = (quarters: readonly SampleQuarter[]): readonly SampleQuarter[] =>
  quarters.flatMap((last, place) => {
    const own = quarters.slice(place, place + 4)
    if (!last.period.endsWith('03') || own.length < 4) return []
    const sum = (figure: 'sales' | 'revenue' | 'ebitda' | 'profit' | 'eps') =>
      toCents(own.reduce((all, quarter) => all + quarter[figure], 0))
    const { period, publishedAt: at } = last
    return [
      {
        period,
        publishedAt: at,
        sales: sum('sales'),
        revenue: sum('revenue'),
        ebitda: sum('ebitda'),
        profit: sum('profit'),
        eps: sum('eps'),
      },
    ]
  })

/** When a company publishes its next results. */
export const findNextResults = (seed: number, stock: SampleStock, asOf: number): number => {
  const current = toQuarter(toDay(asOf))
  return [current - 1, current].map((quarter) => publishedAt(seed, stock, quarter)).find((at) => at > asOf) ?? asOf
}

const toCents = (value: number): number => Math.round(value * 100) / 100

const PUBLISHED_MINUTES = 6 * 60

const DAY_MS = 86_400_000
const AFTERNOON_MS = 13 * 3_600_000

/** Results come two to six weeks after the end of the quarter, on a weekday, in the afternoon. */
const publishedAt = (seed: number, { Sid }: SampleStock, quarter: number): number => {
  const random = createRandom(seed, 'results', Sid, quarter)
  const day = toEpochDay(quarter + 1) + random.int(11, 43)
  // The day 0 was a Thursday.
  const weekday = (day + 4) % 7
  const weekend = weekday === 0 ? 1 : weekday === 6 ? 2 : 0
  return (day + weekend) * DAY_MS + AFTERNOON_MS - INDIA_OFFSET_MS + random.int(0, PUBLISHED_MINUTES * 60) * 1_000
}

/** The figures of a company in any quarter, in a unit of its own: the sales grow, and the margin and the share of taxes and interest change. */
const createBusiness = (seed: number, { Sid }: SampleStock) => {
  const character = createRandom(seed, 'business', Sid)
  const [growth, trend] = [character.next() * 0.35 - 0.05, character.next() * 0.02 - 0.01]
  const [margin, kept] = [0.08 + character.next() * 0.24, 0.45 + character.next() * 0.2]
  const seasons = [0, 1, 2, 3].map(() => 0.9 + character.next() * 0.2)
  return (quarter: number) => {
    const random = createRandom(seed, 'quarter', Sid, quarter)
    const years = (quarter - ANCHOR) / 4
    const size = years < 0 ? 1 / (1 - growth * years) : 1 + growth * years
    const sales = size * (seasons[quarter % 4] ?? 1) * (0.95 + random.next() * 0.1)
    const ebitda = sales * Math.min(0.45, Math.max(0.04, margin + trend * years + (random.next() - 0.5) * 0.03))
    return { sales, ebitda, profit: ebitda * (kept + (random.next() - 0.5) * 0.16) }
  }
}
