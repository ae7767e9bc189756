import type { FleetMember, FleetState } from '../model/report.js'

/** The workers of a run, and how many items each has finished. */
export interface WorkerStats {
  /** Counts an item that a worker has finished. */
  readonly countItem: (worker: string) => void
  /** Counts an item that was taken from a dead or stalled worker. */
  readonly countStalled: () => void
  /** `connected` has the names of the connected workers; undefined while Redis is down. */
  readonly read: (connected: readonly string[] | undefined) => FleetState
}

interface WorkerCount {
  items: number
  readonly since: number
}

export const createWorkerStats = (now: () => number): WorkerStats => {
  const workers = new Map<string, WorkerCount>()
  let stalled = 0
  const of = (name: string): WorkerCount => {
    const known = workers.get(name) ?? { items: 0, since: now() }
    workers.set(name, known)
    return known
  }
  return {
    countItem: (name) => {
      of(name).items += 1
    },
    countStalled: () => {
      stalled += 1
    },
    read: (connected) => {
      for (const name of connected ?? []) of(name)
      const all = [...workers].map(([name, { items, since }]): FleetMember => {
        const seconds = (now() - since) / 1_000
        return {
          name,
          items,
          perSecond: seconds > 0 ? Math.round((items / seconds) * 10) / 10 : 0,
          isThere: connected?.includes(name) ?? false,
        }
      })
      return { workers: all.sort((one, other) => (one.name < other.name ? -1 : 1)), stalled, ...(connected ? {} : { isAway: true }) }
    },
  }
}
