import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { Redis } from 'ioredis'
import { findCommand } from './product.js'

const ADDRESS = process.env.BENCH_REDIS ?? 'redis://127.0.0.1:6379/0'

/** Connects to the Redis of the benchmark; undefined if there is none. */
export const connectToRedis = async (): Promise<Redis | undefined> => {
  const redis = new Redis(ADDRESS, { retryStrategy: () => null, lazyConnect: true })
  redis.on('error', () => undefined)
  return redis.connect().then(
    () => redis,
    () => undefined,
  )
}

/** The worker processes of a fleet. */
export interface BenchWorkers {
  /** The address of the fleet. */
  readonly address: string
  /** CPU time of the workers so far, microseconds. */
  readonly cpu: () => number
  /** Stops the workers, and removes the keys of the fleet. */
  readonly close: () => Promise<void>
}

/** Starts a process per worker. Each prints something when it has joined. */
export const startWorkers = async (
  redis: Redis,
  prefix: string,
  scriptsFor: (address: string) => readonly (readonly string[])[],
): Promise<BenchWorkers> => {
  const address = `${ADDRESS}?prefix=${prefix}`
  const children = await Promise.all(
    scriptsFor(address).map(async (script): Promise<ChildProcess> => {
      const child = spawn(process.execPath, script, { stdio: ['ignore', 'pipe', 'pipe'] })
      await Promise.race([once(child.stdout, 'data'), once(child.stderr, 'data')])
      return child
    }),
  )
  return {
    address,
    cpu: () => children.reduce((sum, { pid }) => sum + readProcessCpu(pid), 0),
    close: async () => {
      const gone = children.map((child) => once(child, 'exit'))
      for (const child of children) child.kill('SIGTERM')
      await Promise.all(gone)
      for await (const keys of redis.scanStream({ match: `${prefix}-*` }))
        if (keys.length > 0) await redis.del(...(keys as string[]))
    },
  }
}

/** Workers of the command, and their Redis. */
export interface BenchFleet extends Omit<BenchWorkers, 'address'> {
  /** Flags that let a run use this fleet. */
  readonly more: readonly string[]
  readonly redis: Redis
}

export interface BenchFleetOptions {
  readonly product: string
  readonly blobs: string
  readonly workers: number
}

/** Undefined if there is no Redis. */
export const startFleet = async ({
  product,
  blobs,
  workers,
}: BenchFleetOptions): Promise<BenchFleet | undefined> => {
  const redis = await connectToRedis()
  if (redis === undefined) return undefined
  const flagsOf = (address: string): readonly string[] => [
    '--engine',
    address,
    '--blobs',
    blobs,
    '--allow-volatile',
  ]
  const { address, cpu, close } = await startWorkers(redis, `bench-${process.pid}`, (at) =>
    Array.from({ length: workers }, (_, place) => [
      findCommand(product),
      'worker',
      ...flagsOf(at),
      '--name',
      `worker-${place + 1}`,
    ]),
  )
  return { more: flagsOf(address), redis, cpu, close: () => close().finally(() => redis.disconnect()) }
}

const TICK_MICROS = 10_000

/** CPU time of another process, from /proc. */
const readProcessCpu = (pid = 0): number => {
  const after = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /s, '')
    .split(' ')
  return (Number(after[11]) + Number(after[12])) * TICK_MICROS
}

/** CPU (microseconds) and memory (bytes) of the Redis server, for all its clients. */
export const readRedisUsage = async (
  redis: Redis,
): Promise<{ readonly cpuMicros: number; readonly bytes: number }> => {
  const info = `${await redis.info('cpu')}\n${await redis.info('memory')}`
  const fact = (name: string): number => Number(new RegExp(`^${name}:([\\d.]+)`, 'm').exec(info)?.[1] ?? 0)
  return { cpuMicros: (fact('used_cpu_user') + fact('used_cpu_sys')) * 1e6, bytes: fact('used_memory') }
}
