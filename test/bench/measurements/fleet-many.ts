import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Redis } from 'ioredis'
import { runInTurns } from '../harness/bench.js'
import { type Context, type Measurement, median } from '../harness/figure.js'
import { connectToRedis, readRedisUsage, startWorkers } from '../harness/fleet.js'
import { runScript } from '../harness/process.js'

const WORKERS = 3
const POLL_MS = 200

interface ScriptResult {
  readonly outcome: string
  readonly items: number
  readonly peakRssBytes: number
  readonly wallMs: number
}

interface FleetManyResult extends ScriptResult {
  readonly redisBytes: number
}

/** Items without requests pass through a fleet: memory of Redis and of the driver. */
export const fleetMany: Measurement = {
  name: 'fleet-many',
  summary: '100,000 items through a fleet: memory of Redis, and of the driver ÷ with 10,000',
  run: async (context) => {
    const redis = await connectToRedis()
    if (redis === undefined) {
      context.say('skipped: Redis is not available')
      return []
    }
    try {
      const [few, many] = context.quick ? [1_000, 4_000] : [10_000, 100_000]
      const all = await runInTurns(context.runs, {
        few: () => measureItems(redis, context, few),
        many: () => measureItems(redis, context, many),
      })
      const seconds = (median(all.many.map(({ wallMs }) => wallMs)) / 1_000).toFixed(0)
      return [
        {
          name: `fleet: memory of Redis for ${many.toLocaleString('en')} items`,
          unit: 'MB',
          values: all.many.map(({ redisBytes }) => redisBytes / 1e6),
          goal: 200,
          remark: `${WORKERS} workers, ${seconds} s`,
        },
        {
          name: `fleet: peak RSS of the driver with ${many.toLocaleString('en')} items`,
          unit: 'MB',
          values: all.many.map(({ peakRssBytes }) => peakRssBytes / 1e6),
          remark: `with ${few.toLocaleString('en')} ${(median(all.few.map(({ peakRssBytes }) => peakRssBytes)) / 1e6).toFixed(0)} MB`,
        },
      ]
    } finally {
      redis.disconnect()
    }
  },
}

/** One run with its own workers. Removes everything at the end. */
const measureItems = async (
  redis: Redis,
  { product, scratch, say }: Context,
  items: number,
): Promise<FleetManyResult> => {
  mkdirSync(scratch, { recursive: true })
  const [out, blobs] = [join(scratch, 'out'), join(scratch, 'blobs')]
  const script = new URL('./fleet-many-script.js', import.meta.url)
  const prefix = `bench-many-${process.pid}`
  const argsOf = (role: string, address: string): readonly string[] => [
    role,
    product,
    address,
    blobs,
    out,
    String(items),
  ]
  const workers = await startWorkers(redis, prefix, (address) =>
    Array.from({ length: WORKERS }, () => [script.pathname, ...argsOf('worker', address)]),
  )
  const before = (await readRedisUsage(redis)).bytes
  let most = before
  const looking = setInterval(
    () => void readRedisUsage(redis).then(({ bytes }) => (most = Math.max(most, bytes))),
    POLL_MS,
  )
  try {
    const passed = await runScript<ScriptResult>(script, argsOf('driver', workers.address), {})
    if (passed.outcome !== 'complete' || passed.items !== items)
      throw new Error(`only ${passed.items} of ${items} items succeeded`)
    say(
      `${items} items: ${(passed.wallMs / 1_000).toFixed(1)} s, driver ${(passed.peakRssBytes / 1e6).toFixed(0)} MB, Redis ${((most - before) / 1e6).toFixed(0)} MB`,
    )
    return { ...passed, redisBytes: most - before }
  } finally {
    clearInterval(looking)
    await workers.close()
    rmSync(scratch, { recursive: true })
  }
}
