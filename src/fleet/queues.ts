import type { Job, Queue, QueueEvents, Worker } from 'bullmq'
import type { Redis } from 'ioredis'
import { interval } from 'rxjs'
import { formatError } from '../model/errors.js'
import { getOrAdd } from '../model/map.js'
import type { ItemJobData, WorkerOutcome } from './blobs.js'
import { ignoreError } from './ignore-error.js'
import type { FleetAddress } from './options.js'
import type { Packages } from './redis.js'

/**
 * The digest of the sources of this program; `src/cli/bundle.js` writes it into the built file, the same for
 * the command and the library.
 */
export const BUILD: string = 'source'

/** The queue of the driver. */
export const BARRIERS = 'barriers'
/** Longer than a service manager waits until it starts a worker again. */
const OTHERS_TTL_MS = 60_000

/** After this time the items of a dead or stalled worker are given to other workers. */
const LOCK_MS = 8_000
/** Longer than any stall of a healthy event loop, shorter than the lifetime of a job lock. */
export const MAX_STALL_MS = LOCK_MS * 0.4
const STALLED_CHECK_MS = 3_000
/** Machines may die many times while they process an item; that is not the fault of the item. */
const MAX_STALLED = 50
const POLL_S = 1
const WORKER_COUNT_TTL_MS = 5_000
/** More than any queue processes: BullMQ honours `rateLimit()` only where a limiter is set. */
const NO_RATE_LIMIT = { max: 1_000_000_000, duration: 1_000 }
/** Events stored for a slow driver. It gets missed outcomes at the barrier. */
const MAX_QUEUE_EVENTS = 5_000

export type ItemQueue = Queue<ItemJobData, WorkerOutcome, string>

/** Who is connected to a fleet, as the connections of BullMQ are named, and who of another build was. */
const createMembers = (redis: Redis, name: string, build: string) => {
  // Also those of builds that had a `-` before their version.
  const memberName = new RegExp(` name=${name}(?:@|-(?=\\d+\\.\\d))(\\S+?):([\\w+/=]+):w:(\\S+)`, 'g')
  const countKey = `${name}@${build}:workers`
  const toOthersKey = (of: string) => `${name}@${of}:others`
  return {
    /**
     * The workers of a stream; those of other builds, with their build, that are there or were in the last
     * minute; and the build of the driver if only one of another build is there. A server may refuse to list
     * connections: then it is none.
     */
    listMembers: async (stream: string) => {
      const reported = await redis.smembers(toOthersKey(build))
      const text = await redis.client('LIST').catch(ignoreError('list the connections'))
      const members = [...String(text).matchAll(memberName)].map(([, of = '', queue = '', member = '']) => {
        return { of, queue: Buffer.from(queue, 'base64').toString(), member }
      })
      const others = members.filter(({ of }) => of !== build)
      const workers = members.flatMap(({ of, queue, member }) =>
        of === build && queue === stream ? [member] : [],
      )
      const hasDriver = members.some(({ of, queue }) => of === build && queue === BARRIERS)
      const connected = others.flatMap(({ of, queue, member }) =>
        queue === BARRIERS ? [] : [`${member} (${of})`],
      )
      return {
        workers,
        otherWorkers: [...new Set([...connected, ...reported])].filter(
          (one) => !workers.some((own) => one.startsWith(`${own} (`)),
        ),
        otherDriver: hasDriver ? undefined : others.find(({ queue }) => queue === BARRIERS)?.of,
      }
    },
    /**
     * Tells a driver of another build that a worker is there: it ends before the driver lists the
     * connections.
     */
    reportOther: (driver: string, worker: string) =>
      redis
        .multi()
        .sadd(toOthersKey(driver), `${worker} (${build})`)
        .pexpire(toOthersKey(driver), OTHERS_TTL_MS)
        .exec(),
    /**
     * The driver publishes the number of workers, because the cost of `CLIENT LIST` grows with their number.
     */
    publishWorkerCount: (count: number) => redis.set(countKey, count, 'PX', WORKER_COUNT_TTL_MS),
    clearWorkerCount: () => redis.del(countKey),
    /** The number that the driver published in the last 5 s; undefined without a driver. */
    readWorkerCount: async () => {
      const count = await redis.get(countKey)
      return count === null ? undefined : Number(count)
    },
  }
}

/**
 * The queues of a fleet. Their keys start with its prefix and the build of this program: builds differ in
 * their job data.
 */
export type Queues = ReturnType<typeof createQueues>

/**
 * The clients reconnect by themselves. Without a listener, an `error` event of a lost connection would end
 * the process.
 */
const ignoreErrors = <T extends { on: (event: 'error', listener: (error: Error) => void) => unknown }>(
  client: T,
): T => {
  client.on('error', ignoreError('connection of a queue'))
  return client
}

/** All share one connection; BullMQ opens another one for each blocking client. */
export const createQueues = (
  redis: Redis,
  { prefix: name }: FleetAddress,
  version: string,
  { bullmq }: Packages,
) => {
  const build = `${version}+${BUILD}`
  const prefix = `${name}@${build}`
  const base = { connection: redis, prefix }
  const queues = new Map<string, ItemQueue>()
  const workers: Worker[] = []
  const events = new Map<string, QueueEvents>()
  return {
    prefix,
    build,
    ...createMembers(redis, name, build),
    queue: (stream: string) =>
      getOrAdd(queues, stream, () =>
        ignoreErrors(
          new bullmq.Queue(stream, { ...base, streams: { events: { maxLen: MAX_QUEUE_EVENTS } } }),
        ),
      ),
    events: (stream: string) =>
      getOrAdd(events, stream, () => ignoreErrors(new bullmq.QueueEvents(stream, base))),
    worker: <Data, Result>(
      queue: string,
      process: (job: Job<Data, Result, string>, token: string) => Promise<Result>,
      options: { readonly name: string; readonly concurrency: number },
    ): Worker<Data, Result, string> => {
      const worker = ignoreErrors(
        new bullmq.Worker<Data, Result, string>(queue, (job, token = '') => process(job, token), {
          ...base,
          ...options,
          lockDuration: LOCK_MS,
          stalledInterval: STALLED_CHECK_MS,
          maxStalledCount: MAX_STALLED,
          drainDelay: POLL_S,
          limiter: NO_RATE_LIMIT,
        }),
      )
      workers.push(worker)
      return worker
    },
    /** Closes all queues and workers; with `isHurried`, without waiting for active items. */
    close: async (isHurried: boolean) => {
      await Promise.all(workers.map((worker) => worker.close(isHurried)))
      await Promise.all([...events.values(), ...queues.values()].map((client) => client.close()))
    },
  }
}

const CHECK_MS = 250

/** Detects that this process was stalled, or disconnected from Redis. */
export type StallDetector = ReturnType<typeof createStallDetector>

/**
 * A process that was stopped, swapped out or disconnected for longer than `limitMs` may have lost its items
 * to other workers without knowing. `onStall` is called then, before any code continues that calls `check`
 * first.
 */
export const createStallDetector = (limitMs: number, isConnected: () => boolean, onStall: () => void) => {
  let last = performance.now()
  const check = () => {
    const now = performance.now()
    const hasStalled = now - last > limitMs
    if (hasStalled || isConnected()) last = now
    if (hasStalled) onStall()
  }
  const checks = interval(CHECK_MS).subscribe(check)
  return {
    /** Checks now instead of at the next interval. */
    check: () => {
      if (performance.now() - last > limitMs) check()
    },
    stop: () => checks.unsubscribe(),
  }
}

export const clearQueues = async (queues: Queues, names: readonly string[]): Promise<void> => {
  const clear = (name: string) => queues.queue(name).obliterate({ force: true })
  // If the connection is lost during the command, the client sends it again; BullMQ then rejects it because
  // the half-removed queue is no longer paused, and a second call succeeds.
  await Promise.all(
    names.map((name) =>
      clear(name).catch((error) =>
        /non-paused/.test(formatError(error)) ? clear(name) : Promise.reject(error),
      ),
    ),
  )
}
