import type { OutageSpan } from './outage.js'

/** The requests of one endpoint since the last reset. */
export interface EndpointCounts {
  readonly requests: number
  /** Repeated requests. */
  readonly duplicates: number
  /** Maximum number of requests in flight. */
  readonly maxInFlight: number
  /** Sum of the configured latencies, milliseconds. */
  readonly latencyMs: number
}

export interface ProviderStats {
  readonly endpoints: Readonly<Record<string, EndpointCounts>>
  readonly violations: readonly string[]
  /** Arrival of the first request, epoch milliseconds. */
  readonly firstAt?: number | undefined
  /** CPU of the provider's process since the last reset. */
  readonly cpuMicros: number
  /** The last outage; absent if none has started since the last change. */
  readonly outage?: OutageSpan | undefined
}

export const countRequests = ({ endpoints }: ProviderStats): number =>
  Object.values(endpoints).reduce((sum, { requests }) => sum + requests, 0)
