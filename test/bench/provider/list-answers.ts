import type { AnyEndpoint } from '../../../src/http/endpoint.js'
import type { SampleMarket } from '../../../src/model/market.js'
import { createRouter } from '../../../src/simulator/router.js'
import { type BenchAnswer, createViolation } from './answer.js'
import type { ReceivedRequest } from './requests.js'
import { createJsonResponse, createResponse } from './template.js'

// The headers of the collector are not tested here: use valid ones.
const HEADERS = { origin: 'http://bench', 'user-agent': 'Mozilla/' }

/** Answers of the lists, from the samples of the simulator. */
export const createListAnswers = (endpoints: readonly AnyEndpoint[]) => {
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
  return typeof sample === 'string' ? createResponse(200, type ?? 'text/plain', Buffer.from(sample)) : createJsonResponse(sample)
}
