import { createTimeline } from '../../../src/simulator/market.js'
import { createRandom } from '../../../src/simulator/random.js'

/** The time of the first daily run. */
export const FIRST_RUN_AT = '2026-02-12T20:00:00+05:30'
/** The time of the daily run on the next trading day. */
export const NEXT_RUN_AT = '2026-02-13T20:00:00+05:30'

export const SEED = 1

/** A market with a number of stocks, at any instant (epoch milliseconds). */
export const createBenchTimeline = (stocks: number) =>
  createTimeline({ seed: SEED, stocks, exchange: 'NSE', asOf: Date.parse(FIRST_RUN_AT), candleDays: 2_700 })

/** The latency of the provider in milliseconds: fixed, or log-normal with a mean. */
export interface Latency {
  readonly kind: 'fixed' | 'log-normal'
  readonly ms: number
}

/** Standard deviation of the logarithm: 1 % of the answers take 2.8 times the mean, 0.01 % take 5.7 times. */
const SPREAD = 0.5

export const fixed = (ms: number): Latency => ({ kind: 'fixed', ms })
export const logNormal = (ms: number): Latency => ({ kind: 'log-normal', ms })

export const formatLatency = ({ kind, ms }: Latency): string =>
  kind === 'fixed' ? `${ms} ms` : `log-normal, mean ${ms} ms`

/** The latency of one request: the same in every process, in any order of requests. */
export const computeLatency = ({ kind, ms }: Latency, endpoint: string, key: string): number => {
  if (kind === 'fixed') return ms
  const random = createRandom(SEED, 'bench-latency', endpoint, key)
  const normal = Math.sqrt(-2 * Math.log(1 - random.next())) * Math.cos(2 * Math.PI * random.next())
  return ms * Math.exp(SPREAD * normal - SPREAD ** 2 / 2)
}
