/** What an endpoint was asked. `statuses` counts HTTP statuses and, besides, `reset`, `truncated` and `closed` (by the caller, unanswered). */
export interface EndpointStats {
  requests: number
  inFlight: number
  maxInFlight: number
  readonly statuses: Record<string, number>
  /** How often each item was asked, by its body or (GET) address. */
  readonly items: Record<string, number>
}

/** What the embedded provider was asked since it began, or was reset. */
export interface SimulatorStats {
  readonly endpoints: Readonly<Record<string, EndpointStats>>
  /** Requests that are not what the interface document says, each with the field that was wrong. */
  readonly violations: readonly string[]
  /** Requests of no endpoint, such as `GET /static/nowhere`. */
  readonly unknown: readonly string[]
}

/** Longest list of violations, and of unknown requests. */
const mostNotes = 1_000

/** Counts what was asked and how it ended. */
export const createLedger = () => {
  const endpoints = new Map<string, EndpointStats>()
  const violations: string[] = []
  const unknown: string[] = []
  const note = (list: string[], text: string) => void (list.length < mostNotes && list.push(text))
  const statsOf = (name: string) => {
    const stats = endpoints.get(name) ?? { requests: 0, inFlight: 0, maxInFlight: 0, statuses: {}, items: {} }
    endpoints.set(name, stats)
    return stats
  }
  return {
    /** Counts a request in; what it gives back counts it out, once. */
    begin: (name: string, key: string): ((status: number | string) => void) => {
      const stats = statsOf(name)
      stats.requests += 1
      stats.inFlight += 1
      stats.maxInFlight = Math.max(stats.maxInFlight, stats.inFlight)
      stats.items[key] = (stats.items[key] ?? 0) + 1
      let open = true
      return (status) => {
        if (!open) return
        open = false
        stats.inFlight -= 1
        stats.statuses[status] = (stats.statuses[status] ?? 0) + 1
      }
    },
    violation: (text: string) => note(violations, text),
    unknown: (text: string) => note(unknown, text),
    read: (): SimulatorStats => structuredClone({ endpoints: Object.fromEntries(endpoints), violations, unknown }),
    reset: () => {
      endpoints.clear()
      violations.length = 0
      unknown.length = 0
    },
  }
}
