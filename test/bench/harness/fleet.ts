import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { Redis } from 'ioredis'
import { commandOf } from './product.js'

const ADDRESS = process.env.BENCH_REDIS ?? 'redis://127.0.0.1:6379/0'

/** Workers of a fleet as processes of their own, and the Redis between them. */
export interface BenchFleet {
  /** What makes a run one of this fleet. */
  readonly more: readonly string[]
  readonly redis: Redis
  /** CPU that the workers have taken since they began, microseconds. */
  readonly workerCpu: () => number
  readonly close: () => Promise<void>
}

export interface FleetChoice {
  readonly product: string
  readonly blobs: string
  readonly workers: number
}

/** Nothing where no Redis answers. */
export const startFleet = async ({ product, blobs, workers }: FleetChoice): Promise<BenchFleet | undefined> => {
  const redis = new Redis(ADDRESS, { retryStrategy: () => null, lazyConnect: true })
  redis.on('error', () => undefined)
  if (
    !(await redis.connect().then(
      () => true,
      () => false,
    ))
  )
    return undefined
  const prefix = `bench-${process.pid}`
  const more = ['--engine', `${ADDRESS}?prefix=${prefix}`, '--blobs', blobs, '--allow-volatile']
  const children = await Promise.all(
    Array.from({ length: workers }, async (_, place): Promise<ChildProcess> => {
      const child = spawn(process.execPath, [commandOf(product), 'worker', ...more, '--name', `worker-${place + 1}`], {
        stdio: ['ignore', 'ignore', 'pipe'],
      })
      await once(child.stderr, 'data')
      return child
    }),
  )
  return {
    more,
    redis,
    workerCpu: () => children.reduce((sum, { pid }) => sum + cpuOf(pid), 0),
    close: async () => {
      const gone = children.map((child) => once(child, 'exit'))
      for (const child of children) child.kill('SIGTERM')
      await Promise.all(gone)
      for await (const keys of redis.scanStream({ match: `${prefix}-*` })) if (keys.length > 0) await redis.del(...(keys as string[]))
      redis.disconnect()
    },
  }
}

const TICK_MICROS = 10_000

/** CPU of another process, as the system counts it. */
const cpuOf = (pid = 0): number => {
  const after = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /s, '')
    .split(' ')
  return (Number(after[11]) + Number(after[12])) * TICK_MICROS
}

/** CPU and memory of the Redis server, all who use it together: microseconds, bytes. */
export const redisSpent = async (redis: Redis): Promise<{ readonly cpuMicros: number; readonly bytes: number }> => {
  const info = `${await redis.info('cpu')}\n${await redis.info('memory')}`
  const fact = (name: string): number => Number(new RegExp(`^${name}:([\\d.]+)`, 'm').exec(info)?.[1] ?? 0)
  return { cpuMicros: (fact('used_cpu_user') + fact('used_cpu_sys')) * 1e6, bytes: fact('used_memory') }
}
