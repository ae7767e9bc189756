import type { Redis } from 'ioredis'
import { interval, type Subscription } from 'rxjs'
import type { RunContext } from '../engine/run.js'
import { getOrAdd } from '../model/map.js'
import type { FleetMember, FleetState } from '../model/report.js'
import { ignoreError } from './ignore-error.js'
import type { Queues } from './queues.js'

const WORKER_COUNT_MS = 1_000

/** The workers of a run, and how many items each has finished. */
export type WorkerStats = ReturnType<typeof createWorkerStats>

export const createWorkerStats = (now: () => number) => {
  const workers = new Map<string, { items: number; readonly since: number }>()
  let stalled = 0
  const findOrAdd = (name: string) => getOrAdd(workers, name, () => ({ items: 0, since: now() }))
  return {
    /** Counts an item that a worker has finished. */
    countItem: (name: string): void => {
      findOrAdd(name).items += 1
    },
    /** Counts an item that was taken from a dead or stalled worker. */
    countStalled: (): void => {
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
        ...(connected ? {} : { isAway: true }),
        ...(refusal === undefined ? {} : { refusal }),
      }
    },
  }
}

interface WatchedFleet {
  readonly run: Pick<RunContext, 'emit' | 'clock'>
  /** The streams that run. */
  readonly names: readonly string[]
  readonly redis: Redis
  readonly queues: Queues
  readonly readRefusal: () => string | undefined
  readonly workerStats: WorkerStats
  /** Ends with the run. */
  readonly watching: Subscription
}

/**
 * Lists the connected workers now and once a second until the run ends, publishes their number, and emits what they have done. The returned
 * function emits that at once.
 */
export const watchWorkers = async (fleet: WatchedFleet): Promise<() => void> => {
  const { run, names, redis, queues, readRefusal, workerStats, watching } = fleet
  let connected: readonly string[] | undefined
  const emitWorkers = (): void => run.emit({ type: 'fleet', at: run.clock(), fleet: workerStats.read(connected, readRefusal()) })
  const countWorkers = async (): Promise<void> => {
    const [first = ''] = names
    connected = undefined
    if (redis.status === 'ready') {
      const workers = await queues.queue(first).getWorkers()
      connected = workers.map(({ rawname = '' }) => rawname.slice(rawname.indexOf(':w:') + 3))
      // It waits while Redis refuses it, and is sent again next time.
      if (readRefusal() === undefined) void queues.publishWorkerCount(workers.length).catch(ignoreError('publish the workers'))
    }
    emitWorkers()
  }
  // The list is only displayed, and the next interval reads it again.
  const tryToCountWorkers = (): Promise<void> => countWorkers().catch(ignoreError('count the workers'))
  await tryToCountWorkers()
  watching.add(interval(WORKER_COUNT_MS).subscribe(() => void tryToCountWorkers()))
  return emitWorkers
}
