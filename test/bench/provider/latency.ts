import { randomFrom } from '../../../src/simulator/random.js'
import { SEED } from './market.js'

/** How long the provider thinks about an answer: always the same, or log-normally spread about a mean. Milliseconds. */
export interface Latency {
  readonly kind: 'fixed' | 'log-normal'
  readonly ms: number
}

/** Of the logarithm: one answer in a hundred takes 2.8 times the mean, one in ten thousand 5.7 times. */
const SPREAD = 0.5

export const fixed = (ms: number): Latency => ({ kind: 'fixed', ms })
export const logNormal = (ms: number): Latency => ({ kind: 'log-normal', ms })

export const wordsOf = ({ kind, ms }: Latency): string => (kind === 'fixed' ? `${ms} ms` : `log-normal, mean ${ms} ms`)

/** The latency of one request: the same in every process, whatever else is asked. */
export const latencyOf = ({ kind, ms }: Latency, endpoint: string, key: string): number => {
  if (kind === 'fixed') return ms
  const random = randomFrom(SEED, 'bench-latency', endpoint, key)
  const normal = Math.sqrt(-2 * Math.log(1 - random.next())) * Math.cos(2 * Math.PI * random.next())
  return ms * Math.exp(SPREAD * normal - SPREAD ** 2 / 2)
}
