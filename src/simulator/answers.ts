import type { AnyEndpoint } from '../http/endpoint.js'
import { formatError } from '../model/errors.js'
import type { SampleMarket } from '../model/market.js'

export interface SimulatedAnswer {
  readonly status: number
  readonly type: string
  readonly body: Buffer
  /** The error of the endpoint's `sample`, if it threw one. */
  readonly broken?: string
}

export const createJsonAnswer = (status: number, value: unknown): SimulatedAnswer => ({
  status,
  type: 'application/json',
  body: Buffer.from(JSON.stringify(value)),
})

const MAX_CACHED_BYTES = 256e6

/**
 * Answers from an endpoint's sample, with a cache. A full cache evicts nothing: a repeated run sends the same requests in the same order, and
 * a cache that evicts the oldest would miss every time. A new `asOf` empties it.
 */
export const createAnswerCache = () => {
  let cache = new Map<string, SimulatedAnswer>()
  let bytes = 0
  let asOf: number | undefined
  return (endpoint: AnyEndpoint, key: string, input: unknown, market: SampleMarket): SimulatedAnswer => {
    if (market.asOf !== asOf) {
      cache = new Map()
      bytes = 0
      asOf = market.asOf
    }
    const id = `${endpoint.name}\u0000${key}`
    const cached = cache.get(id)
    if (cached) return cached
    const answer = buildAnswer(endpoint, input, market)
    if (bytes + answer.body.length <= MAX_CACHED_BYTES) {
      cache.set(id, answer)
      bytes += answer.body.length
    }
    return answer
  }
}

export const buildAnswer = (endpoint: AnyEndpoint, input: unknown, market: SampleMarket): SimulatedAnswer => {
  try {
    if (endpoint.sample === undefined) return createJsonAnswer(501, { message: `${endpoint.name} has no sample` })
    const sample = endpoint.sample(input, market)
    if (sample === undefined) return createJsonAnswer(404, { message: 'not found' })
    if (typeof sample !== 'string') return createJsonAnswer(200, sample)
    return { status: 200, type: endpoint.type ?? 'text/plain', body: Buffer.from(sample) }
  } catch (error) {
    const broken = `${endpoint.name}: the sample failed: ${formatError(error)}`
    return { ...createJsonAnswer(500, { message: broken }), broken }
  }
}
