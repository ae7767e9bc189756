import type { AnyEndpoint } from '../../src/http/endpoint.js'
import type { CandleColumns, SampleMarket, SampleStock } from '../../src/model/market.js'
import { streams } from '../../streams/registry.js'

/** Well-formed but wrong answers, by ISIN of the stock. */
export interface WrongAnswers {
  /** Stocks whose newest candle is 100 times too high. */
  readonly newestTimes100: ReadonlySet<string>
  /** Stocks that get the candles of another stock. */
  readonly candlesOf: ReadonlyMap<string, string>
  /** Stocks that get the filings of another stock, on both paths. */
  readonly filingsOf: ReadonlyMap<string, string>
  /** A field that is renamed in all answers of an endpoint. */
  readonly renamed: keyof typeof RENAMED | undefined
  /** A page of deals is truncated and its count is unchanged or missing. */
  readonly deals: 'cut' | 'no-count' | undefined
  /** The master list lacks its last quarter, but states its full length. */
  readonly isMasterCut: boolean
}

/** A field of an endpoint's answers and its new name. */
export const RENAMED = {
  news: { stream: 'market-news', field: 'title', as: 'headline' },
  lodr: { stream: 'company-filings', field: 'data', as: 'filings' },
  circuit: { stream: 'circuit-stocks', field: 'Ltp', as: 'LastPrice' },
} as const

export const NOTHING_WRONG: WrongAnswers = {
  newestTimes100: new Set(),
  candlesOf: new Map(),
  filingsOf: new Map(),
  renamed: undefined,
  deals: undefined,
  isMasterCut: false,
}

/** Two stocks for each fault of single stocks, and one of the renamed fields. */
export const pickWrongAnswers = (stocks: readonly SampleStock[], more: Pick<WrongAnswers, 'renamed' | 'deals'>): WrongAnswers => {
  const isins = stocks.filter(({ split }) => split === undefined).map(({ ISIN }) => ISIN)
  const pairs = (from: number) => new Map([0, 1].map((place) => [isins[from + place] as string, isins[from + 10 + place] as string]))
  return { ...NOTHING_WRONG, newestTimes100: new Set(isins.slice(0, 2)), candlesOf: pairs(2), filingsOf: pairs(4), ...more }
}

/** Endpoints whose samples are right until wrong ones are selected. */
export const createWrongEndpoints = () => {
  let wrong = NOTHING_WRONG
  const endpoints = streams
    .flatMap((stream) => stream.endpoints)
    .map(
      (endpoint): AnyEndpoint => ({
        ...endpoint,
        ...(endpoint.sample === undefined ? {} : { sample: (input, market) => sampleOf(endpoint, wrong)(input, market) }),
      }),
    )
  return {
    endpoints,
    choose: (next: WrongAnswers): void => {
      wrong = next
    },
  }
}

type Sample = (input: Input, market: SampleMarket) => unknown

interface Input {
  readonly SEC_ID?: string
  readonly data?: { readonly isin?: string }
}

const sampleOf = (endpoint: AnyEndpoint, wrong: WrongAnswers): Sample => {
  const right: Sample = (input, market) => endpoint.sample?.(input, market)
  const renamed = wrong.renamed === endpoint.name ? RENAMED[wrong.renamed] : undefined
  const rename = (answer: unknown): unknown =>
    renamed === undefined ? answer : JSON.parse(JSON.stringify(answer).replaceAll(`"${renamed.field}":`, `"${renamed.as}":`))
  switch (endpoint.name) {
    case 'ohlcv':
      return (input, market) => candlesOf(input, market, { wrong, right })
    case 'company_filings':
    case 'lodr':
      return (input, market) => {
        const isin = input.data?.isin ?? ''
        return rename(right({ ...input, data: { ...input.data, isin: wrong.filingsOf.get(isin) ?? isin } }, market))
      }
    case 'deal':
      return (input, market) => dealsOf(right(input, market) as Deals, wrong.deals)
    case 'master':
      return (input, market) => {
        const answer = right(input, market) as { readonly data: readonly unknown[] }
        return wrong.isMasterCut ? { ...answer, data: answer.data.slice(0, Math.ceil(answer.data.length * 0.75)) } : answer
      }
    default:
      return (input, market) => rename(right(input, market))
  }
}

const candlesOf = (input: Input, market: SampleMarket, { wrong, right }: { readonly wrong: WrongAnswers; readonly right: Sample }) => {
  const isin = market.stockBySid(input.SEC_ID ?? '')?.ISIN ?? ''
  const other = market.stockByIsin(wrong.candlesOf.get(isin) ?? '')
  if (other !== undefined) return right({ ...input, SEC_ID: other.Sid }, market)
  const answer = right(input, market) as { readonly data: CandleColumns }
  if (!wrong.newestTimes100.has(isin)) return answer
  const { data } = answer
  const times100 = (column: readonly number[]): number[] =>
    column.map((value, place) => (place === column.length - 1 ? value * 100 : value))
  return { ...answer, data: { ...data, o: times100(data.o), h: times100(data.h), l: times100(data.l), c: times100(data.c) } }
}

interface Deals {
  readonly data: readonly unknown[]
  readonly totalcount: number
}

const dealsOf = ({ totalcount, ...answer }: Deals, fault: WrongAnswers['deals']): unknown => {
  if (fault === 'no-count') return answer
  const data = fault === 'cut' ? answer.data.slice(0, Math.ceil(answer.data.length * 0.6)) : answer.data
  return { ...answer, data, totalcount }
}
