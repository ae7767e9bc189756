import { getOrAdd } from '../model/map.js'
import type { FleetMember, FleetState } from '../model/report.js'

/** The workers of a run, and how many items each has finished. */
export type WorkerStats = ReturnType<typeof createWorkerStats>

export const createWorkerStats = (now: () => number) => {
  const workers = new Map<string, { items: number; readonly since: number }>()
  let stalled = 0
  const findOrAdd = (name: string) => getOrAdd(workers, name, () => ({ items: 0, since: now() }))
  return {
    countItem: (name: string) => {
      findOrAdd(name).items += 1
    },
    /** Counts an item that was taken from a dead or stalled worker. */
    countStalled: () => {
      stalled += 1
    },
    /** `connected` has the names of the connected workers; undefined while Redis is down. */
    read: (connected: readonly string[] | undefined, refusal?: string): FleetState => {
      for (const name of connected ?? []) findOrAdd(name)
      const all = [...workers].map(([name, { items, since }]): FleetMember => {
        const seconds = (now() - since) / 1_000
        return {
          name,
          items,
          perSecond: seconds > 0 ? Math.round((items / seconds) * 10) / 10 : 0,
          isThere: connected?.includes(name) ?? false,
        }
      })
      return {
        workers: all.sort((one, other) => (one.name < other.name ? -1 : 1)),
        stalled,
        ...(!connected && { isAway: true }),
        ...(refusal !== undefined && { refusal }),
      }
    },
  }
}
