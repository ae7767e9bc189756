import type { SampleStock } from '../../../src/model/market.js'
import type { StreamDefinition } from '../../../src/pipeline/define-stream.js'
import { streams } from '../../../streams/index.js'
import { type Latency, latencyOf } from '../provider/latency.js'
import type { ProviderStats } from '../provider/ledger.js'

type Counts = ProviderStats['endpoints']

/**
 * The least time (milliseconds) in which a run could have asked what it asked: the workers of each stream busy without a pause. Phase 1 is
 * the sum of its streams, what follows the longest of them.
 */
export const boundOf = (asked: Counts, stocks: readonly SampleStock[], latency: Latency): number => {
  const least = streams.map((stream) => ({ stream, ms: leastOf(stream, asked, stocks, latency) }))
  const indices = least.find(({ stream }) => stream.name === 'all-indices')?.ms ?? 0
  const core = least.flatMap(({ stream, ms }) => (stream.phase === 'core' ? [ms] : []))
  const later = least.flatMap(({ stream, ms }) => (stream.phase === 'core' ? [] : [stream.work.of === 'all-indices' ? indices + ms : ms]))
  return core.reduce((sum, ms) => sum + ms, 0) + Math.max(0, ...later)
}

const leastOf = (stream: StreamDefinition, asked: Counts, stocks: readonly SampleStock[], latency: Latency): number => {
  const { work, workers } = stream
  const endpoints = stream.endpoints.flatMap(({ name }) => (asked[name] === undefined ? [] : [name]))
  if (endpoints.length === 0) return 0
  if (work.of !== 'master-data') return endpoints.reduce((sum, name) => sum + (asked[name]?.latencyMs ?? 0), 0) / workers
  // A stock that asks two endpoints asks them at the same time.
  const each = stocks.map((stock) => Math.max(...endpoints.map((name) => latencyOf(latency, name, keyOf(name, stock)))))
  return each.reduce((sum, ms) => sum + ms, 0) / workers
}

const keyOf = (endpoint: string, { ISIN, Sid }: SampleStock): string => (endpoint === 'ohlcv' ? Sid : ISIN)
