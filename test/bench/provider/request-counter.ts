import type { OutageSpan } from './outage.js'

/** The requests of one endpoint since the last reset. */
export interface EndpointCounts {
  requests: number
  /** Repeated requests. */
  duplicates: number
  /** Maximum number of requests in flight. */
  maxInFlight: number
  /** Sums of configured and measured latencies; milliseconds. */
  latencyMs: number
  measuredMs: number
}

export interface ProviderStats {
  readonly endpoints: Readonly<Record<string, EndpointCounts>>
  readonly violations: readonly string[]
  /** Arrival of the first request, epoch milliseconds. */
  readonly firstAt: number | undefined
  /** CPU of the provider's process since the last reset. */
  readonly cpuMicros: number
  readonly rssBytes: number
  /** The last outage; absent if none has started since the last change. */
  readonly outage?: OutageSpan
}

export const countRequests = ({ endpoints }: ProviderStats): number =>
  Object.values(endpoints).reduce((sum, { requests }) => sum + requests, 0)

/** Counts the requests to the provider. */
export const createRequestCounter = () => {
  let entries = new Map<string, EndpointCounts & { inFlight: number; readonly keys: Set<string> }>()
  let violations: string[] = []
  let firstAt: number | undefined
  let cpu = process.cpuUsage()
  const entryOf = (endpoint: string) => {
    const entry = entries.get(endpoint) ?? {
      requests: 0,
      duplicates: 0,
      maxInFlight: 0,
      latencyMs: 0,
      measuredMs: 0,
      inFlight: 0,
      keys: new Set(),
    }
    entries.set(endpoint, entry)
    return entry
  }
  return {
    /** Counts a request; the returned function counts its answer. */
    countRequest: (endpoint: string, key: string, latencyMs: number): (() => void) => {
      const at = performance.now()
      firstAt ??= performance.timeOrigin + at
      const entry = entryOf(endpoint)
      entry.requests += 1
      if (entry.keys.has(key)) entry.duplicates += 1
      else entry.keys.add(key)
      entry.latencyMs += latencyMs
      entry.maxInFlight = Math.max(entry.maxInFlight, ++entry.inFlight)
      return () => {
        entry.inFlight -= 1
        entry.measuredMs += performance.now() - at
      }
    },
    addViolation: (what: string): void => {
      if (violations.length < 20) violations.push(what)
    },
    reset: (): void => {
      entries = new Map()
      violations = []
      firstAt = undefined
      cpu = process.cpuUsage()
    },
    stats: (): ProviderStats => {
      const { user, system } = process.cpuUsage(cpu)
      const endpoints = Object.fromEntries(
        [...entries].map(([name, { keys, inFlight, ...counts }]) => [name, counts]),
      )
      return { endpoints, violations, firstAt, cpuMicros: user + system, rssBytes: process.memoryUsage.rss() }
    },
  }
}
