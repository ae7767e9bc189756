import type { AnyEndpoint } from '../../../src/http/endpoint.js'
import type { SampleMarket } from '../../../src/model/market.js'
import { type BenchAnswer, createViolation } from './answer.js'
import { createBodies, isShared } from './bodies.js'
import { createCandleAnswers } from './candles.js'
import { FIRST_RUN_AT } from './market.js'
import type { ReceivedRequest } from './requests.js'
import { fillTemplate } from './template.js'

const CANDLES = '/ticks/getDataH'

/** Answers about single stocks and indices from prepared bodies, in a few microseconds; undefined for other requests. */
export const createStockAnswers = (endpoints: readonly AnyEndpoint[], { stocks, indices }: SampleMarket) => {
  const bodies = createBodies(endpoints)
  const candles = createCandleAnswers()
  const byPath = new Map(endpoints.map(({ host, path, name }) => [`/${host}${path}`, name]))
  const ranks = new Map(stocks.map(({ ISIN }, rank) => [ISIN, rank]))
  const instruments = new Map([...stocks, ...indices].map(({ Sid }, rank) => [String(Sid), rank]))

  const ofCandles = ({ body }: ReceivedRequest): BenchAnswer => {
    const [, sid = '', start = '', end = ''] = /"SEC_ID": ?"(\w+)".*"START": ?(\d+).*"END": ?(\d+)/.exec(body) ?? []
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
    return { endpoint, key: isin, response: () => fillTemplate(bodies(endpoint, rank, asOf > Date.parse(FIRST_RUN_AT)), isin) }
  }
}
