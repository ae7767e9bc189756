import type { Redis } from 'ioredis'
import { interval, mergeMap } from 'rxjs'
import { StorageError } from '../model/errors.js'

const KEPT_MS = 10_000
const RENEW_MS = 3_000

/** A fleet in the hands of one driver. */
export interface Reins {
  /** The run that the fleet had before, if it was not ended. */
  readonly before: string | undefined
  /** Nothing of the run before is left: the fleet has this one from now on. */
  readonly begin: () => Promise<void>
  /** The run is over. */
  readonly end: () => Promise<void>
  /** Another driver may take the fleet at once. */
  readonly drop: () => Promise<void>
}

interface Fleet {
  readonly prefix: string
  readonly run: string
  readonly shown: string
}

const TAKE = `
local held = redis.call('GET', KEYS[1])
if held and held ~= ARGV[1] then return held end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return false`

const DROP = `if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end`

/**
 * Takes a fleet for a run: nobody else's run may be on it. The same run takes it at once, for its folder has one driver only. Errors with
 * a `StorageError` while another run is on it; `fail` hears if one takes it later, because this process stood still.
 */
export const takeReins = async (redis: Redis, { prefix, run, shown }: Fleet, fail: (error: unknown) => void): Promise<Reins> => {
  const [driver, last] = [`${prefix}:driver`, `${prefix}:run`]
  const take = async (): Promise<void> => {
    const held = (await redis.eval(TAKE, 1, driver, run, KEPT_MS)) as string | null
    if (held === null) return
    throw new StorageError(
      `another run (${held}) has the fleet at ${shown}: wait until it has ended (if its driver was killed, ${KEPT_MS / 1_000} s), or give this one a fleet of its own (?prefix=NAME)`,
    )
  }
  await take()
  const before = (await redis.get(last)) ?? undefined
  const renewing = interval(RENEW_MS).pipe(mergeMap(take)).subscribe({ error: fail })
  return {
    before,
    begin: async () => {
      await redis.set(last, run)
    },
    end: async () => {
      await redis.del(last)
    },
    drop: async () => {
      renewing.unsubscribe()
      await redis.eval(DROP, 1, driver, run)
    },
  }
}
