import type { Job, Queue, QueueEvents, Worker } from 'bullmq'
import type { Redis } from 'ioredis'
import type { FleetAddress } from './address.js'
import type { Outcome, Work } from './outcome.js'
import type { Packages } from './packages.js'

/** How soon a worker that is gone or stands still is noticed, and its items are given to others. */
export const LOCK_MS = 8_000
const STALLED_CHECK_MS = 3_000
/** A machine may die under an item again and again without any fault of the item. */
const MOST_STALLED = 50
const POLL_S = 1
const COUNT_HOLDS_MS = 5_000
/** More than a queue can hand out: it is there so that the pauses of a host are looked at. */
const NO_LIMIT = { max: 1_000_000_000, duration: 1_000 }
/** Of what happens in a queue, so many are kept for a driver that is late; what it misses it finds at the barrier. */
const EVENTS_KEPT = 5_000

export type WorkQueue = Queue<Work, Outcome, string>

/** Makes the queues of a fleet, all on keys that begin with its prefix and the version of this program: others do not understand its items. */
export interface Queues {
  readonly prefix: string
  readonly queue: (stream: string) => WorkQueue
  readonly events: (stream: string) => QueueEvents
  readonly worker: <Data, Result>(
    queue: string,
    process: (job: Job<Data, Result, string>, token: string) => Promise<Result>,
    options: WorkerChoice,
  ) => Worker<Data, Result, string>
  /** The driver counts the workers for all: to list them costs the server the more, the more they are. */
  readonly tellWorkers: (count: number) => Promise<unknown>
  /** The driver counts them no more. */
  readonly forgetWorkers: () => Promise<unknown>
  /** How many the driver has counted of late; nothing where no driver is. */
  readonly workers: () => Promise<number | undefined>
  /** Closes what was made; `isHurried` without waiting for items in work. */
  readonly close: (isHurried: boolean) => Promise<void>
}

interface WorkerChoice {
  readonly name: string
  readonly concurrency: number
}

/** All share one connection where they may; what blocks has one of its own. */
export const queuesOn = (redis: Redis, { prefix: name }: FleetAddress, version: string, { bullmq }: Packages): Queues => {
  const prefix = `${name}-${version}`
  const counted = `${prefix}:workers`
  const base = { connection: redis, prefix }
  const queues = new Map<string, WorkQueue>()
  const workers: Worker[] = []
  const events = new Map<string, QueueEvents>()
  const calm = <T extends { on: (event: 'error', listener: () => void) => unknown }>(made: T): T => {
    made.on('error', () => undefined)
    return made
  }
  return {
    prefix,
    queue: (stream) => {
      const queue =
        queues.get(stream) ??
        calm(new bullmq.Queue<Work, Outcome, string>(stream, { ...base, streams: { events: { maxLen: EVENTS_KEPT } } }))
      queues.set(stream, queue)
      return queue
    },
    events: (stream) => {
      const heard = events.get(stream) ?? calm(new bullmq.QueueEvents(stream, base))
      events.set(stream, heard)
      return heard
    },
    worker: <Data, Result>(
      queue: string,
      process: (job: Job<Data, Result, string>, token: string) => Promise<Result>,
      choice: WorkerChoice,
    ) => {
      const worker = calm(
        new bullmq.Worker<Data, Result, string>(queue, (job, token = '') => process(job, token), {
          ...base,
          ...choice,
          lockDuration: LOCK_MS,
          stalledInterval: STALLED_CHECK_MS,
          maxStalledCount: MOST_STALLED,
          drainDelay: POLL_S,
          limiter: NO_LIMIT,
        }),
      )
      workers.push(worker as unknown as Worker)
      return worker
    },
    tellWorkers: (count) => redis.set(counted, count, 'PX', COUNT_HOLDS_MS),
    forgetWorkers: () => redis.del(counted),
    workers: async () => {
      const count = await redis.get(counted)
      return count === null ? undefined : Number(count)
    },
    close: async (isHurried) => {
      await Promise.all(workers.map((worker) => worker.close(isHurried)))
      await Promise.all([...events.values(), ...queues.values()].map((made) => made.close()))
    },
  }
}
