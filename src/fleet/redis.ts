import type { Redis } from 'ioredis'
import { StorageError, UsageError } from '../model/errors.js'
import type { FleetAddress } from './address.js'
import type { Packages } from './packages.js'

const LONGEST_BACKOFF_MS = 2_000
const CONNECT_MS = 5_000
const OLDEST = 7

/** A server that is away for a while is waited for, and so is every command: nothing is lost by a restart of it. */
const PATIENT = {
  maxRetriesPerRequest: null,
  connectTimeout: CONNECT_MS,
  retryStrategy: (times: number) => Math.min(50 * 2 ** times, LONGEST_BACKOFF_MS),
}

export interface Checks {
  /** Also a server that may forget what it holds. */
  readonly allowVolatile: boolean
}

const MOST_TRIES = 20

/**
 * Does over again what the server broke off by going away. A single command waits for the server and is sent again by the client; several
 * that are sent together are given up in the midst of their answer, done or not: it must not matter if they are done twice.
 */
export const persisting = async <T>(act: () => Promise<T>, isOver: () => boolean): Promise<T> => {
  for (let tries = 1; ; tries += 1) {
    try {
      return await act()
    } catch (error) {
      if (isOver() || !(error instanceof Error) || error.name !== 'AbortError') throw error
      if (tries === MOST_TRIES)
        throw new StorageError(`Redis has broken off what it was sent ${MOST_TRIES} times: see what stands between`, { cause: error })
    }
  }
}

/** Connects, once the server was seen to be one that a fleet can rely on. `closed` connections of other kinds may be made from it. */
export const connect = async (address: FleetAddress, { Redis }: Packages, checks: Checks): Promise<Redis> => {
  await checkServer(address, Redis, checks)
  const redis = new Redis(address.url, PATIENT)
  // Without a listener the client prints every attempt; that it is away shows by what does not go on.
  redis.on('error', () => undefined)
  return redis
}

const checkServer = async ({ url, shown }: FleetAddress, Client: Packages['Redis'], { allowVolatile }: Checks): Promise<void> => {
  const redis = new Client(url, { ...PATIENT, maxRetriesPerRequest: 0, retryStrategy: () => null, lazyConnect: true })
  let cause = ''
  redis.on('error', ({ message }: Error) => (cause = message))
  try {
    await redis.connect()
    const info = factsIn(await redis.info())
    const version = info.get('redis_version') ?? ''
    if (Number.parseInt(version, 10) < OLDEST)
      throw new UsageError(`Redis at ${shown} is ${version}: a fleet needs Redis ${OLDEST} or newer`)
    if (!allowVolatile) checkKeeps(info, shown)
  } catch (error) {
    if (error instanceof UsageError) throw error
    throw new StorageError(
      `Redis at ${shown} cannot be used (${(cause || (error as Error).message).replace(/\.$/, '')}): see that it runs, and that address and password are right`,
      { cause: error },
    )
  } finally {
    redis.disconnect()
  }
}

/** A queue that forgets items would lose a run. */
const checkKeeps = (info: ReadonlyMap<string, string>, shown: string): void => {
  const wrong = [
    ...(info.get('aof_enabled') === '1' ? [] : ['it forgets everything when it stops: set "appendonly yes"']),
    ...(info.get('maxmemory_policy') === 'noeviction'
      ? []
      : [`it may throw away what it holds (${info.get('maxmemory_policy')}): set "maxmemory-policy noeviction"`]),
  ]
  if (wrong.length === 0) return
  throw new UsageError(
    `Redis at ${shown} is not to be relied on: ${wrong.join('; ')} in redis.conf (or at once with "redis-cli config set"), or accept it with --allow-volatile`,
  )
}

const factsIn = (info: string): ReadonlyMap<string, string> =>
  new Map(info.split('\r\n').map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1)] as const))
