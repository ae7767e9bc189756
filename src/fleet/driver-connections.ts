import type { Redis } from 'ioredis'
import { from, lastValueFrom, race, Subscription, timer } from 'rxjs'
import { toHostAddress } from '../limiter/limiter-registry.js'
import { findAddress, listHosts } from '../model/settings.js'
import type { RunContext } from '../pipeline/run.js'
import type { Barriers } from './barriers.js'
import { type BlobStore, createBlobStore } from './blobs.js'
import type { DriverLease } from './driver-lease.js'
import { ignoreError } from './ignore-error.js'
import type { FleetAddress, FleetOptions } from './options.js'
import { createQueues, type Queues } from './queues.js'
import { connectToRedis, loadPackages, type Packages, waitOutRefusals } from './redis.js'
import { createSharedBackoffs, type HostBackoff, type SharedBackoffs } from './shared-backoffs.js'
import { createWorkerStats, type WorkerStats } from './worker-stats.js'

const RELEASE_TIMEOUT_MS = 5_000

export interface DriverOptions extends Omit<FleetOptions, 'address'> {
  readonly address: FleetAddress
}

/** The driver of one run: its connections, and what it has acquired so far. */
export interface Driver {
  readonly options: DriverOptions
  readonly run: RunContext
  /** The streams that run. */
  readonly names: readonly string[]
  readonly packages: Packages
  readonly redis: Redis
  readonly queues: Queues
  /** With what Redis refuses commands now; undefined if it serves them. */
  readonly readRefusal: () => string | undefined
  readonly blobs: BlobStore
  readonly backoffs: SharedBackoffs
  readonly workerStats: WorkerStats
  /** Watches the workers until the run ends. */
  readonly watching: Subscription
  lease: DriverLease | undefined
  barriers: Barriers | undefined
  /** Whether the run has started and is not finished: its items may wait in the queues. */
  isRunning: boolean
}

export const connectDriver = async (options: DriverOptions, run: RunContext): Promise<Driver> => {
  const { address, version } = options
  const packages = await loadPackages()
  const redis = await connectToRedis(address, packages, options)
  const readRefusal = waitOutRefusals(redis, { limitMs: run.settings.downMs, shown: address.shown })
  const queues = createQueues(redis, address, version, packages)
  return {
    ...{ options, run, packages, redis, queues, readRefusal },
    names: run.plan.flatMap(({ stream, state }) => (state === 'waiting' ? [stream.name] : [])),
    blobs: createBlobStore(options.blobs),
    backoffs: createSharedBackoffs(redis, queues.prefix, (backoff) => emitBackoff(backoff, run)),
    workerStats: createWorkerStats(run.clock),
    watching: new Subscription(),
    lease: undefined,
    barriers: undefined,
    isRunning: false,
  }
}

/** Emits the back-off of an address, or its end, as an event of the hosts that have this address. */
const emitBackoff = ({ address, ms }: HostBackoff, run: RunContext): void => {
  const affected = listHosts(run.settings).filter(
    (host) => findAddress(run.settings, host) !== undefined && toHostAddress(run.settings, host) === address,
  )
  const at = run.clock()
  if (affected.length === 0) return
  run.emit(
    ms > 0
      ? { type: 'host-paused', at, hosts: affected, why: 'refuses', since: at, until: at + ms }
      : { type: 'host-resumed', at, hosts: affected },
  )
}

/** Stops the driver: releases the lease and closes all connections. */
export const closeDriver = async (driver: Driver): Promise<void> => {
  driver.watching.unsubscribe()
  driver.barriers?.stop()
  // The timeout is for a server that is down or refuses commands. What is not released expires.
  await lastValueFrom(race(from(releaseQueues(driver).catch(ignoreError('release the queues'))), timer(RELEASE_TIMEOUT_MS)), {
    defaultValue: undefined,
  })
  driver.backoffs.close()
  driver.redis.disconnect()
}

const releaseQueues = async ({ isRunning, names, queues, lease }: Driver): Promise<void> => {
  // Without a driver, no one would read the outcomes of waiting items.
  if (isRunning) await Promise.all(names.map((stream) => queues.queue(stream).drain()))
  await lease?.release()
  await queues.close(true)
}
