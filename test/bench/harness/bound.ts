import type { StreamDefinition } from '../../../src/engine/define-stream.js'
import type { SampleStock } from '../../../src/model/market.js'
import { streams } from '../../../streams/registry.js'
import { computeLatency, type Latency } from '../provider/conditions.js'
import type { ProviderStats } from '../provider/stats.js'

type Counts = ProviderStats['endpoints']

/**
 * The minimum time (milliseconds) for the requests of a run, with the workers of each stream always busy: the
 * sum of the streams of phase 1 plus the longest stream after it.
 */
export const computeBound = (asked: Counts, stocks: readonly SampleStock[], latency: Latency): number => {
  const least = streams.map((stream) => ({ stream, ms: computeStreamBound(stream, asked, stocks, latency) }))
  const indices = least.find(({ stream }) => stream.name === 'all-indices')?.ms ?? 0
  const core = least.flatMap(({ stream, ms }) => (stream.phase === 'core' ? [ms] : []))
  const later = least.flatMap(({ stream, ms }) =>
    stream.phase === 'core' ? [] : [stream.work.of === 'all-indices' ? indices + ms : ms],
  )
  return core.reduce((sum, ms) => sum + ms, 0) + Math.max(0, ...later)
}

const computeStreamBound = (
  stream: StreamDefinition,
  asked: Counts,
  stocks: readonly SampleStock[],
  latency: Latency,
): number => {
  const { work, workers } = stream
  const endpoints = stream.endpoints.flatMap(({ name }) => (asked[name] === undefined ? [] : [name]))
  if (endpoints.length === 0) return 0
  if (work.of !== 'master-data')
    return endpoints.reduce((sum, name) => sum + (asked[name]?.latencyMs ?? 0), 0) / workers
  // A stream with two endpoints requests both at the same time.
  const each = stocks.map((stock) =>
    Math.max(...endpoints.map((name) => computeLatency(latency, name, toRequestKey(name, stock)))),
  )
  return each.reduce((sum, ms) => sum + ms, 0) / workers
}

const toRequestKey = (endpoint: string, { ISIN, Sid }: SampleStock): string =>
  endpoint === 'ohlcv' ? Sid : ISIN
