import { messageOf } from '../model/errors.js'
import type { SampleMarket } from '../model/market.js'
import type { AnyEndpoint } from '../provider/endpoint.js'

/** A complete answer, ready to send. */
export interface Answer {
  readonly status: number
  readonly type: string
  readonly body: Buffer
  /** The error of the endpoint's `sample`, if it threw one. */
  readonly broken?: string
}

export const jsonAnswer = (status: number, value: unknown): Answer => ({
  status,
  type: 'application/json',
  body: Buffer.from(JSON.stringify(value)),
})

/**
 * Answers from an endpoint's sample, with a cache of up to `maxBytes`. A full cache evicts nothing: a repeated run sends the same requests
 * in the same order, and a cache that evicts the oldest would miss every time. A new `asOf` empties it.
 */
export const createAnswers = (maxBytes: number) => {
  let cache = new Map<string, Answer>()
  let bytes = 0
  let asOf: number | undefined
  return (endpoint: AnyEndpoint, key: string, input: unknown, market: SampleMarket): Answer => {
    if (market.asOf !== asOf) {
      cache = new Map()
      bytes = 0
      asOf = market.asOf
    }
    const id = `${endpoint.name}\u0000${key}`
    const cached = cache.get(id)
    if (cached) return cached
    const answer = answerOf(endpoint, input, market)
    if (bytes + answer.body.length <= maxBytes) {
      cache.set(id, answer)
      bytes += answer.body.length
    }
    return answer
  }
}

const answerOf = (endpoint: AnyEndpoint, input: unknown, market: SampleMarket): Answer => {
  try {
    if (endpoint.sample === undefined) return jsonAnswer(501, { message: `${endpoint.name} has no sample` })
    const sample = endpoint.sample(input, market)
    if (sample === undefined) return jsonAnswer(404, { message: 'not found' })
    if (typeof sample !== 'string') return jsonAnswer(200, sample)
    return { status: 200, type: endpoint.type ?? 'text/plain', body: Buffer.from(sample) }
  } catch (error) {
    const broken = `${endpoint.name}: the sample failed: ${messageOf(error)}`
    return { ...jsonAnswer(500, { message: broken }), broken }
  }
}
