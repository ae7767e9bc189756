import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { runInTurns, withBench } from '../harness/bench.js'
import { failOn, findWrongRequests } from '../harness/check.js'
import { type Measurement, median } from '../harness/figure.js'
import { runScript } from '../harness/process.js'
import { fixed } from '../provider/conditions.js'
import type { ProviderStats } from '../provider/request-counter.js'
import { type CpuUsage, HOT_PASSES, WARM_PASSES } from '../references/spent.js'

/** Announcements and indicators without latency: CPU per item with warm code, compared with a bare HTTP client loop. */
export const hot: Measurement = {
  name: 'hot',
  summary: 'CPU per small-JSON item ÷ a bare undici loop with JSON.parse',
  run: async (context) => {
    const stocks = context.quick ? 600 : 2_775
    return withBench(context, { stocks }, async ({ provider }) => {
      const measure = async (script: string, args: readonly string[]): Promise<number> => {
        await provider.control({ latency: fixed(0), reset: true })
        const { cpuMicros, items } = await runScript<CpuUsage>(new URL(script, import.meta.url), args, provider.env)
        failOn(findWrongRequests(toOnePass(await provider.stats()), stocks), script)
        return cpuMicros / items
      }
      const out = join(context.scratch, 'hot')
      const { ours, bare } = await runInTurns(context.runs, {
        ours: async () => {
          const micros = await measure('./hot-product.js', [context.product, out, String(stocks)])
          rmSync(out, { recursive: true })
          return micros
        },
        bare: () => measure('../references/bare-loop.js', [String(stocks)]),
      })
      context.say(`per item: ours ${ours.map((n) => n.toFixed(1)).join(', ')} µs; bare ${bare.map((n) => n.toFixed(1)).join(', ')} µs`)
      const remark = `${stocks * 2} items a pass, warm, in one process; bare loop ${median(bare).toFixed(1)} µs`
      return [
        {
          name: 'hot CPU per small-JSON item ÷ bare undici loop',
          unit: '×',
          values: ours.map((micros, round) => micros / (bare[round] as number)),
          goal: 1.25,
          remark,
        },
        { name: 'hot CPU per small-JSON item', unit: 'µs', values: ours },
      ]
    })
  },
}

const PASSES = WARM_PASSES + HOT_PASSES

/** The counts of one of the passes: all send the same requests. */
const toOnePass = (stats: ProviderStats): ProviderStats => ({
  ...stats,
  endpoints: Object.fromEntries(
    Object.entries(stats.endpoints).map(([name, counts]) => {
      const requests = counts.requests / PASSES
      return [name, { ...counts, requests, duplicates: counts.duplicates - requests * (PASSES - 1) }]
    }),
  ),
})
