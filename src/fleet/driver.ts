import { from, interval, lastValueFrom, merge, mergeMap, Observable, race, Subscription, tap, timer, toArray } from 'rxjs'
import { toHostAddress } from '../limiter/limiter-registry.js'
import { formatError, StorageError } from '../model/errors.js'
import { hosts } from '../model/settings.js'
import type { Engine, Executor } from '../pipeline/engine.js'
import type { PlannedStream } from '../pipeline/plan.js'
import type { RunServices } from '../pipeline/run.js'
import { getErrorCode } from '../storage/file-error.js'
import { type FleetAddress, readFleetAddress } from './address.js'
import { BARRIERS, createBarriers } from './barriers.js'
import { createBlobStore } from './blobs.js'
import { acquireDriverLease } from './driver-lease.js'
import { listReadableOutputs, shareFiles } from './earlier-outputs.js'
import { loadPackages } from './packages.js'
import { processOnFleet } from './process-stage.js'
import { createQueues, type ItemQueue } from './queues.js'
import { connectToRedis } from './redis.js'
import { writeRunFile } from './run-file.js'
import { createSharedBackoffs } from './shared-backoffs.js'
import { createWorkerStats } from './worker-stats.js'

/** Options of the driver of a fleet. */
export interface FleetOptions {
  /** `redis://host:6379`, with `?prefix=` if several fleets share a server. */
  readonly address: string
  /** The folder that all machines of the fleet share. */
  readonly blobs: string
  /** The version of this program. Only workers of the same version process its items. */
  readonly version: string
  /** Accept a Redis server that does not persist its data. */
  readonly allowVolatile?: boolean
}

const WORKER_COUNT_MS = 1_000
const RELEASE_TIMEOUT_MS = 5_000

/** Checks that a fleet is available: rejects with the same errors as `fleet`, and starts nothing. */
export const reachFleet = async ({ address, allowVolatile = false }: FleetOptions): Promise<void> => {
  const redis = await connectToRedis(readFleetAddress(address), await loadPackages(), { allowVolatile })
  redis.disconnect()
}

/**
 * Distributes the items of a run to the workers of a fleet (`fleetWorker`), through queues on Redis. Outputs are written to the folder in
 * the settings, as without a fleet. An interrupted run resumes when it is started again. The run errors with a `StorageError` if the server
 * cannot be used.
 *
 * @example
 * createCollector({ engine: fleet({ address: 'redis://10.0.0.5', blobs: '/mnt/market-blobs', version: '1.0.0' }), settings })
 * @throws UsageError for an invalid address
 */
export const fleet = (options: FleetOptions): Engine => {
  const address = readFleetAddress(options.address)
  return {
    begin: (run, plan) =>
      new Observable((subscriber) => {
        const opened = openDriver({ ...options, address }, run, plan, (error) => subscriber.error(error))
        opened.then(
          ({ executor }) => subscriber.next(executor),
          (error: unknown) => subscriber.error(error),
        )
        // If opening failed, the error was reported above, and everything is closed.
        return () => void opened.then(({ close }) => close()).catch(() => undefined)
      }),
  }
}

/**
 * Removes a queue. If the connection is lost during the command, the client sends it again; BullMQ then rejects it because the half-removed
 * queue is no longer paused, and a second call succeeds.
 */
const clearQueue = async (queue: ItemQueue): Promise<void> => {
  const clear = (): Promise<void> => queue.obliterate({ force: true })
  await clear().catch((error: unknown) => (/non-paused/.test(formatError(error)) ? clear() : Promise.reject(error)))
}

interface DriverOptions extends Omit<FleetOptions, 'address'> {
  readonly address: FleetAddress
}

const openDriver = async (
  { address, ...options }: DriverOptions,
  run: RunServices,
  plan: readonly PlannedStream[],
  fail: (error: unknown) => void,
) => {
  const packages = await loadPackages()
  const redis = await connectToRedis(address, packages, { allowVolatile: options.allowVolatile ?? false })
  const queues = createQueues(redis, address, options.version, packages)
  const blobs = createBlobStore(options.blobs)
  const workerStats = createWorkerStats(run.clock)
  const watching = new Subscription()
  const { record } = run.session
  const names = plan.flatMap(({ stream, state }) => (state === 'waiting' ? [stream.name] : []))
  let isOver = false

  const backoffs = createSharedBackoffs(redis, queues.prefix, ({ address: limited, ms }) => {
    const affected = hosts.filter((host) => run.settings.urls[host] !== undefined && toHostAddress(run.settings, host) === limited)
    const at = run.clock()
    if (affected.length === 0) return
    run.emit(
      ms > 0
        ? { type: 'host-held', at, hosts: affected, why: 'refuses', since: at, until: at + ms }
        : { type: 'host-open', at, hosts: affected },
    )
  })
  const clear = async (streams: readonly string[]): Promise<void> => {
    await Promise.all(streams.map((stream) => clearQueue(queues.queue(stream))))
  }
  const release = async (): Promise<void> => {
    // Without a driver, no one would read the outcomes of waiting items.
    if (!isOver) await Promise.all(names.map((stream) => queues.queue(stream).drain()))
    await lease?.release()
    await queues.close(true)
  }
  const close = async (): Promise<void> => {
    watching.unsubscribe()
    barriers?.stop()
    // The timeout is for a server that is down.
    await lastValueFrom(race(from(release()), timer(RELEASE_TIMEOUT_MS)), { defaultValue: undefined })
    backoffs.close()
    redis.disconnect()
  }
  let lease: Awaited<ReturnType<typeof acquireDriverLease>> | undefined
  let barriers: ReturnType<typeof createBarriers> | undefined
  try {
    lease = await acquireDriverLease(redis, { prefix: queues.prefix, run: record.run, shown: address.shown }, fail)
    if (lease.previousRun !== undefined && lease.previousRun !== record.run) {
      // Also the queues of streams that are not in this run: workers would fail on items of a removed run.
      await clear(plan.map(({ stream }) => stream.name))
      await blobs.removeRun(lease.previousRun)
    }
    // Only after the removal: a driver that was interrupted in between would take the old data for its own.
    await lease.startRun()
    // Barriers of an interrupted driver would wait for that driver.
    await clear([BARRIERS])
    await shareFiles(run.settings.out, listReadableOutputs(plan, run.settings.exchange), blobs.toFolder(record.run))
    await writeRunFile({ run: record.run, asOf: record.asOf, accept: [...run.accept], settings: run.settings }, blobs)
    // Opens the connections of the queue events early.
    for (const stream of names) queues.events(stream)
    barriers = createBarriers(queues, record.run, packages, address.shown)
  } catch (error) {
    isOver = true
    await close()
    throw getErrorCode(error) === undefined
      ? error
      : new StorageError(`cannot use the shared folder ${options.blobs}: ${formatError(error)}`, { cause: error })
  }
  const dependencies = { run, plan, queues, barriers, blobs, workerStats }
  let connected: readonly string[] | undefined
  const emitWorkers = (): void => run.emit({ type: 'fleet', at: run.clock(), fleet: workerStats.read(connected) })
  const countWorkers = async (): Promise<void> => {
    const [first = ''] = names
    connected = undefined
    if (redis.status === 'ready') {
      const workers = await queues.queue(first).getWorkers()
      connected = workers.map(({ rawname = '' }) => rawname.slice(rawname.indexOf(':w:') + 3))
      await queues.publishWorkerCount(workers.length)
    }
    emitWorkers()
  }
  // The list of workers is only displayed: after an error, the next interval reads it again.
  await countWorkers().catch(() => undefined)
  watching.add(interval(WORKER_COUNT_MS).subscribe(() => void countWorkers().catch(() => undefined)))
  const executor: Executor = {
    work: (stage) => (item$) =>
      item$.pipe(
        // The barrier needs the complete list.
        toArray(),
        mergeMap((items) => {
          const earlier = items.map((item) => stage.findStored(item))
          const remaining = items.filter((_, index) => earlier[index] === undefined)
          return merge(
            from(earlier.filter((outcome) => outcome !== undefined)),
            processOnFleet(stage, remaining, dependencies).pipe(tap({ complete: emitWorkers })),
          )
        }),
      ),
    finish: () =>
      from(
        (async () => {
          watching.unsubscribe()
          await Promise.all([clear([...names, BARRIERS]), blobs.removeRun(record.run)])
          await queues.clearWorkerCount()
          isOver = true
          await lease.finishRun()
          // Released here, not on unsubscribe: a program may start its next run at once.
          await lease.release()
        })(),
      ),
  }
  return { executor, close }
}
