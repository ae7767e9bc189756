import type { FleetMember, FleetState } from '../model/report.js'

/** Who works for a run, and how much of it. */
export interface Census {
  /** A worker has ended an item. */
  readonly count: (worker: string) => void
  /** An item was taken from a worker that was gone, or stood still. */
  readonly stall: () => void
  /** With the names of those that are connected; nothing where Redis, which knows them, is away. */
  readonly state: (connected: readonly string[] | undefined) => FleetState
}

interface Counted {
  items: number
  readonly since: number
}

export const createCensus = (now: () => number): Census => {
  const workers = new Map<string, Counted>()
  let stalled = 0
  const of = (name: string): Counted => {
    const known = workers.get(name) ?? { items: 0, since: now() }
    workers.set(name, known)
    return known
  }
  return {
    count: (name) => {
      of(name).items += 1
    },
    stall: () => {
      stalled += 1
    },
    state: (connected) => {
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
