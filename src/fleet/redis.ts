import type { Redis } from 'ioredis'
import { describeNetworkError, StorageError, UsageError } from '../model/errors.js'
import { requireOptional } from '../model/optional-package.js'
import { ignoreError } from './ignore-error.js'
import type { FleetAddress, FleetOptions } from './options.js'

const MAX_RECONNECT_MS = 2_000
const CONNECT_MS = 5_000
const MIN_REDIS_VERSION = 7

/** The client reconnects forever, and commands wait for that: a restart of the server loses nothing. */
const CLIENT_OPTIONS = {
  maxRetriesPerRequest: null,
  connectTimeout: CONNECT_MS,
  retryStrategy: (times: number) => Math.min(50 * 2 ** times, MAX_RECONNECT_MS),
}

/**
 * Replies of a server that is up but cannot serve: out of memory or disk, without replicas, a replica, still
 * loading.
 */
const REFUSED_REPLY =
  /^(?:EXECABORT|OOM|READONLY|MISCONF|NOREPLICAS|LOADING|TRYAGAIN|CLUSTERDOWN|MASTERDOWN)\b/
const REFUSED_RETRY_MS = 500

export const isRefusal = (error: unknown): boolean =>
  error instanceof Error && REFUSED_REPLY.test(error.message)

/**
 * Sends each command again that the server refuses, as the client does while the server is down: a refused
 * command has changed nothing. After `limitMs` it is a `StorageError`. Pipelines are left to `retryAborted`.
 * Returns a function that reads the present refusal.
 */
export const waitOutRefusals = (
  redis: Redis,
  { limitMs, shown }: { readonly limitMs: number; readonly shown: string },
): (() => string | undefined) => {
  const send = redis.sendCommand.bind(redis)
  let refusal: string | undefined
  redis.sendCommand = (command, stream) => {
    if (stream !== undefined) return send(command, stream)
    const { reject, resolve } = command
    const until = performance.now() + limitMs
    let isRefused = false
    command.resolve = (result) => {
      if (isRefused) refusal = undefined
      resolve(result)
    }
    command.reject = (error) => {
      if (!isRefusal(error)) return reject(error)
      isRefused = true
      refusal = error.message.replace(/\.?(?: script: .*)?$/, '')
      if (performance.now() < until) setTimeout(() => send(command), REFUSED_RETRY_MS)
      else
        reject(
          new StorageError(
            `Redis at ${shown} refuses commands (${refusal}); free its memory or disk, or start its replicas`,
            {
              cause: error,
            },
          ),
        )
    }
    return send(command)
  }
  return () => refusal
}

const MAX_PIPELINE_TRIES = 20

/**
 * Retries a pipeline of commands that a lost connection has aborted, or, after `untilServed`, the server has
 * refused. The client retries single commands itself, but aborts pipelines in the middle of their replies.
 * The commands must be idempotent: they may have been executed.
 */
export const retryAborted = async <T>(
  act: () => Promise<T>,
  { isOver, untilServed }: { readonly isOver: () => boolean; readonly untilServed: () => Promise<unknown> },
): Promise<T> => {
  for (let tries = 1; ; tries += 1) {
    try {
      return await act()
    } catch (error) {
      if (isOver() || !(error instanceof Error) || !(isRefusal(error) || error.name === 'AbortError'))
        throw error
      if (isRefusal(error)) await untilServed()
      else if (tries === MAX_PIPELINE_TRIES)
        throw new StorageError(
          `the connection to Redis was lost ${MAX_PIPELINE_TRIES} times during one command; check the network between this machine and Redis`,
          { cause: error },
        )
    }
  }
}

/**
 * Checks the server, then connects.
 * @throws UsageError if the server is too old or does not persist its data
 * @throws StorageError if it cannot be reached
 */
export const connectToRedis = async (
  address: FleetAddress,
  { Redis }: Packages,
  { allowVolatile = false }: Pick<FleetOptions, 'allowVolatile'>,
): Promise<Redis> => {
  await checkServer(address, Redis, allowVolatile)
  const redis = new Redis(address.url, CLIENT_OPTIONS)
  // The client reconnects by itself. Without a listener it would print every failed attempt.
  redis.on('error', ignoreError('connect to Redis'))
  return redis
}

const checkServer = async (
  { url, shown }: FleetAddress,
  Client: Packages['Redis'],
  allowVolatile: boolean,
): Promise<void> => {
  const redis = new Client(url, {
    ...CLIENT_OPTIONS,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
    lazyConnect: true,
  })
  let cause = ''
  redis.on('error', (error: Error) => (cause = describeNetworkError(error)))
  try {
    await redis.connect()
    const info = parseInfo(await redis.info())
    const version = info.get('redis_version') ?? ''
    if (Number.parseInt(version, 10) < MIN_REDIS_VERSION)
      throw new UsageError(
        `Redis at ${shown} is ${version}: a fleet needs Redis ${MIN_REDIS_VERSION} or newer`,
      )
    if (!allowVolatile) checkDurability(info, shown)
  } catch (error) {
    if (error instanceof UsageError) throw error
    throw new StorageError(
      `Redis at ${shown} cannot be used (${(cause || (error as Error).message).replace(/\.$/, '')}): check that it runs, and that address and password are right`,
      { cause: error },
    )
  } finally {
    redis.disconnect()
  }
}

/** A server that loses or evicts items would lose a run. */
const checkDurability = (info: ReadonlyMap<string, string>, shown: string): void => {
  const wrong = [
    ...(info.get('aof_enabled') === '1' ? [] : ['it loses all data when it stops: set "appendonly yes"']),
    ...(info.get('maxmemory_policy') === 'noeviction'
      ? []
      : [`it may evict data (${info.get('maxmemory_policy')}): set "maxmemory-policy noeviction"`]),
  ]
  if (wrong.length === 0) return
  throw new UsageError(
    `Redis at ${shown} is not durable: ${wrong.join('; ')} in redis.conf (or at once with "redis-cli config set")`,
    {
      code: 'volatile-redis',
    },
  )
}

const parseInfo = (info: string): ReadonlyMap<string, string> =>
  new Map(
    info
      .split('\r\n')
      .map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1)] as const),
  )

/** BullMQ and the Redis client: optional packages, loaded only for a fleet. */
export interface Packages {
  readonly bullmq: typeof import('bullmq')
  readonly Redis: typeof import('ioredis').Redis
}

const INSTALL = 'bullmq@6 ioredis@6'

/** @throws UsageError if a package is not installed */
export const loadPackages = (): Packages => {
  const load = <Module>(name: string): Module =>
    requireOptional(name, 'a fleet needs two packages that are not installed', INSTALL)
  return { bullmq: load('bullmq'), Redis: load<typeof import('ioredis')>('ioredis').Redis }
}
