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

/** The answer of an endpoint's sample. */
export const buildAnswer = (endpoint: AnyEndpoint, input: unknown, market: SampleMarket): SimulatedAnswer => {
  try {
    if (endpoint.sample === undefined)
      return createJsonAnswer(501, { message: `${endpoint.name} has no sample` })
    const sample = endpoint.sample(input, market)
    if (sample === undefined) return createJsonAnswer(404, { message: 'not found' })
    if (typeof sample !== 'string') return createJsonAnswer(200, sample)
    return { status: 200, type: endpoint.type ?? 'text/plain', body: Buffer.from(sample) }
  } catch (error) {
    const broken = `${endpoint.name}: the sample failed: ${formatError(error)}`
    return { ...createJsonAnswer(500, { message: broken }), broken }
  }
}
