import type { Redis } from 'ioredis'
import { from, interval, lastValueFrom, mergeMap, race, Subscription, timer } from 'rxjs'
import type { RunContext } from '../engine/run.js'
import { toHostAddress } from '../limiter/limiter-registry.js'
import { StorageError } from '../model/errors.js'
import { findAddress, listHosts } from '../model/settings.js'
import { createBlobStore } from './blobs.js'
import { ignoreError } from './ignore-error.js'
import type { FleetAddress, FleetOptions } from './options.js'
import type { Barriers } from './process-stage.js'
import { createQueues } from './queues.js'
import { connectToRedis, loadPackages, waitOutRefusals } from './redis.js'
import { createSharedBackoffs, type HostBackoff } from './shared-backoffs.js'
import { createWorkerStats } from './worker-stats.js'

const LEASE_MS = 10_000
const RENEW_MS = 3_000

/** The lease of a fleet: one driver at a time. */
export type DriverLease = Awaited<ReturnType<typeof acquireDriverLease>>

const ACQUIRE_SCRIPT = `
local holder = redis.call('GET', KEYS[1])
if holder and holder ~= ARGV[1] then return holder end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return false`

const RELEASE_SCRIPT = `if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end`

/**
 * Acquires the lease of a fleet for a run and renews it. The same run gets it at once, because the lock of
 * its output folder admits one driver only. `fail` is called if another run gets the lease later, because
 * this process was stalled.
 * @throws StorageError if another run has the lease
 */
export const acquireDriverLease = async (
  redis: Redis,
  { prefix, run, shown }: { readonly prefix: string; readonly run: string; readonly shown: string },
  fail: (error: unknown) => void,
) => {
  const [driver, last] = [`${prefix}:driver`, `${prefix}:run`]
  const take = async () => {
    const holder = (await redis.eval(ACQUIRE_SCRIPT, 1, driver, run, LEASE_MS)) as string | null
    if (holder === null) return
    throw new StorageError(
      `another run (${holder}) uses the fleet at ${shown}: wait until it has finished (${LEASE_MS / 1_000} s if its driver was killed), or use another fleet (?prefix=NAME)`,
    )
  }
  await take()
  const previousRun = (await redis.get(last)) ?? undefined
  const renewing = interval(RENEW_MS).pipe(mergeMap(take)).subscribe({ error: fail })
  return {
    /** The previous run of the fleet, if it was not finished. */
    previousRun,
    /** Records this run as the run of the fleet. Call it after the data of the previous run was removed. */
    startRun: () => redis.set(last, run),
    finishRun: () => redis.del(last),
    /** Releases the lease, so that another driver can acquire it at once. */
    release: async () => {
      renewing.unsubscribe()
      await redis.eval(RELEASE_SCRIPT, 1, driver, run)
    },
  }
}

const RELEASE_TIMEOUT_MS = 5_000

export interface DriverOptions extends Omit<FleetOptions, 'address'> {
  readonly address: FleetAddress
}

/** The driver of one run: its connections, and what it has acquired so far. */
export type Driver = Awaited<ReturnType<typeof connectDriver>>

export const connectDriver = async (options: DriverOptions, run: RunContext) => {
  const { address, version } = options
  const packages = loadPackages()
  const redis = await connectToRedis(address, packages, options)
  const readRefusal = waitOutRefusals(redis, { limitMs: run.limiters.policy.downMs, shown: address.shown })
  const queues = createQueues(redis, address, version, packages)
  return {
    options,
    run,
    packages,
    redis,
    queues,
    readRefusal,
    names: run.plan.flatMap(({ stream, state }) => (state === 'waiting' ? [stream.name] : [])),
    blobs: createBlobStore(options.blobs),
    backoffs: createSharedBackoffs(redis, queues.prefix, (backoff) => emitBackoff(backoff, run)),
    workerStats: createWorkerStats(run.clock),
    /** Watches the workers until the run ends. */
    watching: new Subscription(),
    lease: undefined as DriverLease | undefined,
    barriers: undefined as Barriers | undefined,
    /** Whether the run has started and is not finished: its items may wait in the queues. */
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

export const closeDriver = async (driver: Driver): Promise<void> => {
  driver.watching.unsubscribe()
  driver.barriers?.stop()
  // The timeout is for a server that is down or refuses commands. What is not released expires.
  await lastValueFrom(
    race(from(releaseQueues(driver).catch(ignoreError('release the queues'))), timer(RELEASE_TIMEOUT_MS)),
    {
      defaultValue: undefined,
    },
  )
  driver.backoffs.close()
  driver.redis.disconnect()
}

const releaseQueues = async ({ isRunning, names, queues, lease }: Driver): Promise<void> => {
  // Without a driver, no one would read the outcomes of waiting items.
  if (isRunning) await Promise.all(names.map((stream) => queues.queue(stream).drain()))
  await lease?.release()
  await queues.close(true)
}
