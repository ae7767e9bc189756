import { type CheckedRun, withBench } from '../harness/bench.js'
import { type Context, median } from '../harness/figure.js'
import { fixed } from '../provider/conditions.js'
import { countRequests } from '../provider/stats.js'
import type { ScalePoint } from '../report/results.js'

const STOCKS_TODAY = 2_775

export interface ScaleOptions {
  /** Market sizes, as multiples of today's. */
  readonly factors: readonly number[]
  readonly latenciesMs: readonly number[]
}

/** Full runs with other market sizes and latencies. All of them take half an hour. */
export const measureScale = async (
  context: Context,
  { factors, latenciesMs }: ScaleOptions,
): Promise<readonly ScalePoint[]> => {
  const points: ScalePoint[] = []
  for (const factor of factors) {
    const stocks = context.quick ? 50 * factor : STOCKS_TODAY * factor
    await withBench(context, { stocks }, async ({ run }) => {
      for (const latencyMs of latenciesMs) {
        const runs: CheckedRun[] = []
        for (let round = 0; round < context.runs; round++) runs.push(await run({ latency: fixed(latencyMs) }))
        const of = (read: (done: CheckedRun) => number): number => Number(median(runs.map(read)).toFixed(2))
        points.push({
          stocks,
          latencyMs,
          runs: runs.length,
          wallS: of(({ wallMs }) => wallMs / 1_000),
          boundS: of(({ boundMs }) => boundMs / 1_000),
          cpuS: of(({ cpuMicros }) => cpuMicros / 1e6),
          peakRssMb: of(({ peakRssBytes }) => peakRssBytes / 1e6),
          requests: of(({ stats }) => countRequests(stats)),
          outputMb: of(({ outputs }) => outputs.bytes / 1e6),
        })
      }
    })
  }
  return points
}
