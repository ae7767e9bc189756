import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { onTestFinished } from 'vitest'
import type { Held, Holds } from '../../src/fleet/hold.js'
import type { Item } from '../../src/model/outcome.js'
import { Settings, type SettingsInput } from '../../src/model/settings.js'
import type { Stock } from '../../src/model/stock.js'

export const SERVER = 'redis://127.0.0.1:6379'

const answers = async (): Promise<boolean> => {
  const redis = new Redis(SERVER, { lazyConnect: true, maxRetriesPerRequest: 0, retryStrategy: () => null, connectTimeout: 1_000 })
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
export const noRedis = !(await answers())
/** Whether slow real-time tests are skipped: they take long and are unreliable on a busy machine. `npm run test:fleet` runs them. */
export const isShort = process.env.STOCKS === undefined
export const inRealTime = (title: string): string => (isShort ? `${title} (in real time: npm run test:fleet)` : title)

/** Adds the reason to the title of a skipped test. */
export const onRedis = (title: string): string => (noRedis ? `${title} (skipped: no Redis answers at ${SERVER})` : title)

export interface Meeting {
  readonly address: string
  readonly prefix: string
  /** A separate connection of the test. */
  readonly redis: Redis
}

/** A fleet with its own prefix; its keys are removed after the test. */
export const meeting = (server = SERVER): Meeting => {
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
  for await (const keys of redis.scanStream({ match: `${prefix}*`, count: 1_000 })) if (keys.length > 0) await redis.unlink(...keys)
}

/** Polls until a condition is true; fails after `withinMs`. */
export const until = async (holds: () => boolean | Promise<boolean>, withinMs = 40_000): Promise<void> => {
  const end = performance.now() + withinMs
  while (!(await holds())) {
    if (performance.now() > end) throw new Error(`condition still false after ${withinMs / 1_000} s: ${holds.toString()}`)
    await pause(20)
  }
}

export const itemOf = (key: string, rank = 0, value: unknown = key): Item => ({ key, rank, fileName: key, value })

export const stockItem = (symbol: string, rank = 0): Item<Stock> => ({
  ...{ key: symbol, rank, fileName: symbol },
  value: { Symbol: symbol, ISIN: `IN${symbol}`, Name: symbol, Sid: symbol } as unknown as Stock,
})

export const settingsOf = (given: SettingsInput = {}): Settings => Settings.parse({ urls: { static: 'http://provider.test' }, ...given })

export interface FakeHolds extends Holds {
  /** Starts a back-off, as if a worker had got a 429. */
  readonly hold: (address: string, ms: number, isFinal?: boolean) => void
  readonly served: readonly string[]
  readonly refused: readonly string[]
}

/** Back-offs without a Redis server. A 429 starts a back-off of `ms`. */
export const fakeHolds = (ms: number, isFinal = false): FakeHolds => {
  const known = new Map<string, Held>()
  const [served, refused]: [string[], string[]] = [[], []]
  const of = (address: string): Held => known.get(address) ?? { address, generation: 0, ms: 0, isFinal: false }
  const hold = (address: string, length: number, final = false): void => {
    known.set(address, { address, generation: of(address).generation + 1, ms: length, isFinal: final })
  }
  return {
    of,
    hold,
    served,
    refused,
    refuse: async (address) => {
      refused.push(address)
      hold(address, ms, isFinal)
      return of(address)
    },
    recall: async () => undefined,
    serve: (address) => void served.push(address),
    close: () => undefined,
  }
}
