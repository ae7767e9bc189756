import { getOrAdd } from '../model/map.js'

/**
 * Requests to one endpoint. `statuses` counts HTTP statuses, and `reset`, `truncated` and `closed` (by the
 * client, before the answer).
 */
export interface EndpointStats {
  requests: number
  inFlight: number
  maxInFlight: number
  readonly statuses: Record<string, number>
  /** Requests per item, by the body or (GET) the URL. */
  readonly items: Record<string, number>
}

/** All requests to the simulator since it started or was reset. */
export interface SimulatorStats {
  readonly endpoints: Readonly<Record<string, EndpointStats>>
  /** Requests that violate the interface document, each with the wrong field. */
  readonly violations: readonly string[]
  /** Requests that match no endpoint, such as `GET /static/nowhere`. */
  readonly unknown: readonly string[]
}

const MAX_LISTED = 1_000

export const createRequestLog = () => {
  const endpoints = new Map<string, EndpointStats>()
  const violations: string[] = []
  const unknown: string[] = []
  const note = (list: string[], text: string) => void (list.length < MAX_LISTED && list.push(text))
  return {
    /** Counts the start of a request; the returned function counts its end, once. */
    begin: (name: string, key: string): ((status: number | string) => void) => {
      const stats = getOrAdd<string, EndpointStats>(endpoints, name, () => ({
        requests: 0,
        inFlight: 0,
        maxInFlight: 0,
        statuses: {},
        items: {},
      }))
      stats.requests += 1
      stats.inFlight += 1
      stats.maxInFlight = Math.max(stats.maxInFlight, stats.inFlight)
      stats.items[key] = (stats.items[key] ?? 0) + 1
      let isOpen = true
      return (status) => {
        if (!isOpen) return
        isOpen = false
        stats.inFlight -= 1
        stats.statuses[status] = (stats.statuses[status] ?? 0) + 1
      }
    },
    violation: (text: string) => note(violations, text),
    unknown: (text: string) => note(unknown, text),
    read: (): SimulatorStats =>
      structuredClone({ endpoints: Object.fromEntries(endpoints), violations, unknown }),
    reset: () => {
      endpoints.clear()
      violations.length = 0
      unknown.length = 0
    },
  }
}
