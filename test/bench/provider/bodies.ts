import type { AnyEndpoint } from '../../../src/http/endpoint.js'
import type { SampleMarket } from '../../../src/model/market.js'
import { createFullSize } from './full-size.js'
import { createBenchTimeline, FIRST_RUN_AT } from './market.js'
import { createSamples } from './samples.js'
import { createTemplate, type Template } from './template.js'

const emptyBodies = {
  company_filings: { code: 0, data: null },
  lodr: { code: 0, data: null },
  fundamental: { status: 'success', data: [] },
  announcements: { code: 0, data: null },
  indicator: { data: [] },
  news: { code: 0, data: { latest_news: [] } },
} as const

/** Endpoints whose answers are shared by many stocks, except for the ISIN. */
export type SharedEndpoint = keyof typeof emptyBodies

/** One in this many stocks has an empty answer. */
const EMPTY_EVERY: Readonly<Record<SharedEndpoint, number>> = {
  company_filings: 5,
  lodr: 5,
  fundamental: 100,
  announcements: 10,
  indicator: 33,
  news: 7,
}

export const isEmpty = (endpoint: SharedEndpoint, rank: number): boolean => rank % EMPTY_EVERY[endpoint] === EMPTY_EVERY[endpoint] - 1

export const isShared = (endpoint: string): endpoint is SharedEndpoint => endpoint in emptyBodies

const VARIANTS = 64
/** Number of stocks from which the variants are made. */
const POOL = 1_500

/** The answer about the stock at a rank; on the later day, every third stock has a different one. */
export type Bodies = (endpoint: SharedEndpoint, rank: number, isLater: boolean) => Template

/** Full-size answers about a few stocks, used for all stocks. */
export const createBodies = (endpoints: readonly AnyEndpoint[]): Bodies => {
  const market = createBenchTimeline(POOL)(Date.parse(FIRST_RUN_AT))
  const empty = Object.fromEntries(Object.entries(emptyBodies).map(([name, value]) => [name, createTemplate(value)]))
  const full = createTemplates(endpoints, market)
  return (endpoint, rank, isLater) => {
    const variant = (rank + (isLater && rank % 3 === 0 ? 1 : 0)) % VARIANTS
    return (isEmpty(endpoint, rank) ? empty[endpoint] : full[endpoint][variant]) as Template
  }
}

const createTemplates = (
  endpoints: readonly AnyEndpoint[],
  market: SampleMarket,
): Readonly<Record<SharedEndpoint, readonly Template[]>> => {
  const make = createFullSize(market.stocks, createSamples(endpoints, market))
  const variants = (value: (place: number) => unknown) =>
    market.stocks.slice(0, VARIANTS).map(({ ISIN }, place) => createTemplate(value(place), ISIN))
  const filings = Array.from({ length: VARIANTS }, (_, place) => make.filings(place))
  return {
    company_filings: variants((place) => filings[place]?.legacy),
    lodr: variants((place) => filings[place]?.lodr),
    fundamental: variants(make.fundamental),
    announcements: variants(make.announcements),
    indicator: variants(make.indicator),
    news: variants(make.news),
  }
}
