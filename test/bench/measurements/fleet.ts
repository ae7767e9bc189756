import { join } from 'node:path'
import { type CheckedRun, runInTurns, withBench } from '../harness/bench.js'
import type { Figure, Measurement } from '../harness/figure.js'
import { type BenchFleet, readRedisUsage, startFleet } from '../harness/fleet.js'
import { fixed } from '../provider/conditions.js'
import { countRequests } from '../provider/stats.js'

const WORKERS = 3
const SCRIPTS = [
  'fundamental-data',
  'company-filings',
  'new-announcements',
  'advanced-indicators',
  'market-news',
  'all-ohlcv',
  'indices-ohlcv',
]
const POLL_MS = 200

interface FleetRun {
  readonly runs: readonly CheckedRun[]
  readonly cpuMicros: number
  readonly redisMicros: number
  readonly redisBytes: number
}

/**
 * A driver and three workers on this machine, compared with one process: same outputs, same requests, same
 * concurrency limits.
 */
export const fleet: Measurement = {
  name: 'fleet',
  summary:
    'a driver and three workers on one machine: wall ÷ one process, overhead per item, memory of Redis',
  run: async (context) => {
    const stocks = context.quick ? 80 : 2_775
    return withBench(context, { stocks }, async ({ run }): Promise<readonly Figure[]> => {
      const started = await startFleet({
        product: context.product,
        blobs: join(context.scratch, 'blobs'),
        workers: WORKERS,
      })
      if (started === undefined) {
        context.say('skipped: Redis is not available')
        return []
      }
      const { more } = started
      try {
        const latency = fixed(50)
        const oneByOne = async (args: readonly string[]): Promise<readonly CheckedRun[]> => {
          const runs: CheckedRun[] = []
          for (const script of SCRIPTS) runs.push(await run({ latency, only: [script], more: args }))
          return runs
        }
        const spent =
          (make: () => Promise<readonly CheckedRun[]>): (() => Promise<FleetRun>) =>
          () =>
            measureUsage(started, make)
        const all = await runInTurns(context.runs, {
          alone: spent(async () => [await run({ latency })]),
          together: spent(async () => [await run({ latency, more })]),
          aloneInTurn: spent(() => oneByOne([])),
          togetherInTurn: spent(() => oneByOne(more)),
        })
        const ratios = (many: readonly FleetRun[], one: readonly FleetRun[]) =>
          many.map(({ runs }, round) => sumWall(runs) / sumWall(one[round]?.runs ?? []))
        const perRequest = (read: (spent: FleetRun, round: number) => number) =>
          all.together.map(
            (spent, round) =>
              read(spent, round) / spent.runs.reduce((sum, { stats }) => sum + countRequests(stats), 0),
          )
        const cpuMore = perRequest(
          ({ cpuMicros, redisMicros }, round) => cpuMicros + redisMicros - (all.alone[round]?.cpuMicros ?? 0),
        )
        const remark = `${stocks} stocks, ${WORKERS} workers, fixed 50 ms`
        return [
          {
            name: 'fleet: scripts one after another, wall ÷ one process',
            unit: '×',
            values: ratios(all.togetherInTurn, all.aloneInTurn),
            goal: 1.25,
            remark,
          },
          {
            name: 'fleet: the whole graph, wall ÷ one process',
            unit: '×',
            values: ratios(all.together, all.alone),
            remark,
          },
          {
            name: 'fleet: CPU per request beyond that of one process',
            unit: 'µs',
            values: cpuMore,
            remark: 'driver, workers and Redis',
          },
          {
            name: 'fleet: CPU of Redis per request',
            unit: 'µs',
            values: perRequest(({ redisMicros }) => redisMicros),
          },
          {
            name: 'fleet: memory of Redis beyond that before the run',
            unit: 'MB',
            values: all.together.map(({ redisBytes }) => redisBytes / 1e6),
          },
        ]
      } finally {
        await started.close()
      }
    })
  },
}

const sumWall = (runs: readonly CheckedRun[]): number => runs.reduce((sum, { wallMs }) => sum + wallMs, 0)
const sumCpu = (runs: readonly CheckedRun[]): number =>
  runs.reduce((sum, { cpuMicros }) => sum + cpuMicros, 0)

/** The CPU and memory of driver, workers and Redis for some runs. */
const measureUsage = async (
  { redis, cpu }: BenchFleet,
  make: () => Promise<readonly CheckedRun[]>,
): Promise<FleetRun> => {
  const [before, workersBefore] = [await readRedisUsage(redis), cpu()]
  let most = before.bytes
  const looking = setInterval(
    () => void readRedisUsage(redis).then(({ bytes }) => (most = Math.max(most, bytes))),
    POLL_MS,
  )
  try {
    const runs = await make()
    const after = await readRedisUsage(redis)
    return {
      runs,
      cpuMicros: sumCpu(runs) + cpu() - workersBefore,
      redisMicros: after.cpuMicros - before.cpuMicros,
      redisBytes: most - before.bytes,
    }
  } finally {
    clearInterval(looking)
  }
}
