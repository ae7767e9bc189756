import type { Redis } from 'ioredis'
import { interval, mergeMap } from 'rxjs'
import { StorageError } from '../model/errors.js'

const LEASE_MS = 10_000
const RENEW_MS = 3_000

/** The lease of a fleet: one driver at a time. */
export interface DriverLease {
  /** The previous run of the fleet, if it was not finished. */
  readonly previousRun: string | undefined
  /** Records this run as the run of the fleet. Call it after the data of the previous run was removed. */
  readonly startRun: () => Promise<void>
  /** Records that the run is finished. */
  readonly finishRun: () => Promise<void>
  /** Releases the lease, so that another driver can acquire it at once. */
  readonly release: () => Promise<void>
}

const ACQUIRE_SCRIPT = `
local holder = redis.call('GET', KEYS[1])
if holder and holder ~= ARGV[1] then return holder end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return false`

const RELEASE_SCRIPT = `if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end`

/**
 * Acquires the lease of a fleet for a run and renews it. The same run gets it at once, because the lock of its output folder admits one
 * driver only. `fail` is called if another run gets the lease later, because this process was stalled.
 * @throws StorageError if another run has the lease
 */
export const acquireDriverLease = async (
  redis: Redis,
  { prefix, run, shown }: { readonly prefix: string; readonly run: string; readonly shown: string },
  fail: (error: unknown) => void,
): Promise<DriverLease> => {
  const [driver, last] = [`${prefix}:driver`, `${prefix}:run`]
  const take = async (): Promise<void> => {
    const holder = (await redis.eval(ACQUIRE_SCRIPT, 1, driver, run, LEASE_MS)) as string | null
    if (holder === null) return
    throw new StorageError(
      `another run (${holder}) uses the fleet at ${shown}: wait until it has finished (${LEASE_MS / 1_000} s if its driver was killed), or use another fleet (?prefix=NAME)`,
    )
  }
  await take()
  const before = (await redis.get(last)) ?? undefined
  const renewing = interval(RENEW_MS).pipe(mergeMap(take)).subscribe({ error: fail })
  return {
    previousRun: before,
    startRun: async () => {
      await redis.set(last, run)
    },
    finishRun: async () => {
      await redis.del(last)
    },
    release: async () => {
      renewing.unsubscribe()
      await redis.eval(RELEASE_SCRIPT, 1, driver, run)
    },
  }
}
