import type { AnyEndpoint } from '../../../src/http/endpoint.js'
import type { SampleMarket } from '../../../src/model/market.js'
import { createRouter } from '../../../src/simulator/router.js'
import { createBodies, isShared } from './bodies.js'
import { createCandleAnswers } from './candles.js'
import { createBenchTimeline, FIRST_RUN_AT } from './conditions.js'
import type { ReceivedRequest } from './requests.js'
import {
  type BenchAnswer,
  createJsonResponse,
  createResponse,
  createViolation,
  fillTemplate,
} from './template.js'

// The headers of the collector are not tested here: use valid ones.
const HEADERS = { origin: 'http://bench', 'user-agent': 'Mozilla/' }

/** Answers of the lists, from the samples of the simulator. */
const createListAnswers = (endpoints: readonly AnyEndpoint[]) => {
  const route = createRouter(endpoints)
  return ({ method, path, type, body }: ReceivedRequest, market: SampleMarket): BenchAnswer => {
    const routed = route({ method, url: path, headers: { 'content-type': type, ...HEADERS }, body })
    if (routed.kind === 'unknown') return createViolation('unknown', `${method} ${path} is unknown`)
    if (routed.kind === 'refused') return createViolation(routed.name, routed.message)
    const { endpoint, key, input } = routed
    const response = createSampleResponse(endpoint, endpoint.sample?.(input, market))
    return { endpoint: endpoint.name, key, response: () => response }
  }
}

const createSampleResponse = ({ type }: AnyEndpoint, sample: unknown): Buffer => {
  if (sample === undefined) return createJsonResponse({ message: 'not found' }, 404)
  return typeof sample === 'string'
    ? createResponse(200, type ?? 'text/plain', Buffer.from(sample))
    : createJsonResponse(sample)
}

const CANDLES = '/ticks/getDataH'

/**
 * Answers about single stocks and indices from prepared bodies, in a few microseconds; undefined for other
 * requests.
 */
const createStockAnswers = (endpoints: readonly AnyEndpoint[], { stocks, indices }: SampleMarket) => {
  const bodies = createBodies(endpoints)
  const candles = createCandleAnswers()
  const byPath = new Map(endpoints.map(({ host, path, name }) => [`/${host}${path}`, name]))
  const ranks = new Map(stocks.map(({ ISIN }, rank) => [ISIN, rank]))
  const instruments = new Map([...stocks, ...indices].map(({ Sid }, rank) => [String(Sid), rank]))

  const ofCandles = ({ body }: ReceivedRequest): BenchAnswer => {
    const [, sid = '', start = '', end = ''] =
      /"SEC_ID": ?"(\w+)".*"START": ?(\d+).*"END": ?(\d+)/.exec(body) ?? []
    const endpoint = body.includes('"EQUITY"') ? 'ohlcv' : 'index_ohlcv'
    const rank = instruments.get(sid)
    if (rank === undefined) return createViolation(endpoint, `asks about ${sid || 'no instrument'}`)
    return { endpoint, key: sid, response: () => candles(rank, Number(start), Number(end)) }
  }
  return (asked: ReceivedRequest, { asOf }: SampleMarket): BenchAnswer | undefined => {
    if (asked.path === CANDLES) return ofCandles(asked)
    const endpoint = byPath.get(asked.path) ?? ''
    if (!isShared(endpoint)) return undefined
    const isin = /"(IN[A-Z0-9]{10})"/.exec(asked.body)?.[1] ?? ''
    const rank = ranks.get(isin)
    if (rank === undefined) return createViolation(endpoint, `asks about ${isin || 'no stock'}`)
    return {
      endpoint,
      key: isin,
      response: () => fillTemplate(bodies(endpoint, rank, asOf > Date.parse(FIRST_RUN_AT)), isin),
    }
  }
}

export interface Answers {
  readonly answer: (asked: ReceivedRequest) => BenchAnswer
  /** Moves the market's "now" (epoch milliseconds). */
  readonly moveTo: (asOf: number) => void
}

/** One in this many requests about stocks is checked against the whole schema of its endpoint. */
const CHECK_EVERY = 64

/** Answers about stocks from prepared bodies, and lists from the samples of the endpoints, created once. */
export const createAnswers = (endpoints: readonly AnyEndpoint[], stocks: number): Answers => {
  const timeline = createBenchTimeline(stocks)
  let market = timeline(Date.parse(FIRST_RUN_AT))
  let lists = new Map<string, BenchAnswer>()
  const ofStock = createStockAnswers(endpoints, market)
  const ofList = createListAnswers(endpoints)
  const checked = createCheck(endpoints)
  return {
    answer: (asked) => {
      const answer = ofStock(asked, market)
      if (answer !== undefined) return checked(answer, asked)
      const key = `${asked.path} ${asked.body}`
      const list = lists.get(key) ?? ofList(asked, market)
      lists.set(key, list)
      return list
    },
    moveTo: (asOf) => {
      if (asOf === market.asOf) return
      market = timeline(asOf)
      lists = new Map()
    },
  }
}

const createCheck = (endpoints: readonly AnyEndpoint[]) => {
  const inputs = new Map(endpoints.map(({ name, input }) => [name, input]))
  let count = 0
  return (answer: BenchAnswer, { body, type }: ReceivedRequest): BenchAnswer => {
    if (answer.violation !== undefined || count++ % CHECK_EVERY !== 0) return answer
    if (!/^application\/json/.test(type))
      return createViolation(answer.endpoint, `the content-type is ${type}`)
    const { error } = inputs.get(answer.endpoint)?.safeParse(JSON.parse(body)) ?? {}
    return error === undefined ? answer : createViolation(answer.endpoint, error.message)
  }
}
