import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { inject, onTestFinished } from 'vitest'
import type { HostBackoff, SharedBackoffs } from '../../src/fleet/shared-backoffs.js'
import type { Item } from '../../src/model/outcome.js'
import { Settings, type SettingsInput } from '../../src/model/settings.js'
import type { Stock } from '../../src/model/stock.js'

export const SERVER = 'redis://127.0.0.1:6379'

const isRedisUp = async (): Promise<boolean> => {
  const redis = new Redis(SERVER, {
    lazyConnect: true,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
    connectTimeout: 1_000,
  })
  redis.on('error', () => undefined)
  try {
    await redis.connect()
    return (await redis.ping()) === 'PONG'
  } catch {
    return false
  } finally {
    redis.disconnect()
  }
}

/** Whether tests that need a Redis server are skipped. */
export const noRedis = !(await isRedisUp())
/**
 * Whether slow real-time tests are skipped: they take long and are unreliable on a busy machine. `npm run
 * test:fleet` runs them.
 */
export const isShort = process.env.STOCKS === undefined
export const markRealTime = (title: string): string =>
  isShort ? `${title} (in real time: npm run test:fleet)` : title

/** Adds the reason to the title of a skipped test. */
export const markNeedsRedis = (title: string): string =>
  noRedis ? `${title} (skipped: no Redis answers at ${SERVER})` : title

export interface TestFleet {
  readonly address: string
  readonly prefix: string
  /** A separate connection of the test. */
  readonly redis: Redis
}

/** A fleet with its own prefix; its keys are removed after the test. */
export const createTestFleet = (server = SERVER): TestFleet => {
  const prefix = `test-${randomUUID().slice(0, 8)}`
  const redis = new Redis(server, { maxRetriesPerRequest: null })
  redis.on('error', () => undefined)
  onTestFinished(async () => {
    if (redis.status === 'ready') await clear(redis, prefix)
    redis.disconnect()
  })
  return { address: `${server}/0?prefix=${prefix}`, prefix, redis }
}

const clear = async (redis: Redis, prefix: string): Promise<void> => {
  for await (const keys of redis.scanStream({ match: `${prefix}*`, count: 1_000 }))
    if (keys.length > 0) await redis.unlink(...keys)
}

/** A port that nothing uses yet. */
export const findFreePort = async (): Promise<number> => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  return port
}

/** Polls until a condition is true. @throws if it stays false */
export const waitUntil = async (holds: () => boolean | Promise<boolean>): Promise<void> => {
  const withinMs = inject('waitMs')
  const end = performance.now() + withinMs
  while (!(await holds())) {
    if (performance.now() > end)
      throw new Error(`condition still false after ${withinMs / 1_000} s: ${holds.toString()}`)
    await pause(20)
  }
}

export const createItem = (key: string, rank = 0, value: unknown = key): Item => ({
  key,
  rank,
  fileName: key,
  value,
})

export const createStockItem = (symbol: string, rank = 0): Item<Stock> => ({
  key: symbol,
  rank,
  fileName: symbol,
  value: { Symbol: symbol, ISIN: `IN${symbol}`, Name: symbol, Sid: symbol } as unknown as Stock,
})

export const createSettings = (given: SettingsInput = {}): Settings =>
  Settings.parse({ urls: { static: 'http://provider.test' }, ...given })

export interface FakeBackoffs extends SharedBackoffs {
  /** Starts a back-off, as if a worker had got a 429. */
  readonly startBackoff: (address: string, ms: number, isFinal?: boolean) => void
  readonly served: readonly string[]
  readonly refused: readonly string[]
}

/** Back-offs without a Redis server. A 429 starts a back-off of `ms`. */
export const createFakeBackoffs = (ms: number, isFinal = false): FakeBackoffs => {
  const known = new Map<string, HostBackoff>()
  const [served, refused]: [string[], string[]] = [[], []]
  const of = (address: string): HostBackoff =>
    known.get(address) ?? { address, generation: 0, ms: 0, isFinal: false }
  const hold = (address: string, length: number, final = false): void => {
    known.set(address, { address, generation: of(address).generation + 1, ms: length, isFinal: final })
  }
  return {
    find: of,
    startBackoff: hold,
    served,
    refused,
    onRefused: async (address) => {
      refused.push(address)
      hold(address, ms, isFinal)
      return of(address)
    },
    load: async () => undefined,
    onServed: (address) => void served.push(address),
    close: () => undefined,
  }
}
