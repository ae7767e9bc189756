import type { SampleMarket } from '../../../src/model/market.js'
import type { AnyEndpoint } from '../../../src/provider/endpoint.js'
import { createRouter } from '../../../src/simulator/router.js'
import { type Answer, violation } from './answer.js'
import type { Asked } from './requests.js'
import { jsonResponse, responseOf } from './template.js'

// The headers of the collector are not tested here: use valid ones.
const HEADERS = { origin: 'http://bench', 'user-agent': 'Mozilla/' }

/** Answers of the lists, from the samples of the simulator. */
export const createListAnswers = (endpoints: readonly AnyEndpoint[]) => {
  const route = createRouter(endpoints)
  return ({ method, path, type, body }: Asked, market: SampleMarket): Answer => {
    const routed = route({ method, url: path, headers: { 'content-type': type, ...HEADERS }, body })
    if (routed.kind === 'unknown') return violation('unknown', `${method} ${path} is unknown`)
    if (routed.kind === 'refused') return violation(routed.name, routed.message)
    const { endpoint, key, input } = routed
    const response = responseFor(endpoint, endpoint.sample?.(input, market))
    return { endpoint: endpoint.name, key, response: () => response }
  }
}

const responseFor = ({ type }: AnyEndpoint, sample: unknown): Buffer => {
  if (sample === undefined) return jsonResponse({ message: 'not found' }, 404)
  return typeof sample === 'string' ? responseOf(200, type ?? 'text/plain', Buffer.from(sample)) : jsonResponse(sample)
}
