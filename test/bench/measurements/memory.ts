import { rmSync } from 'node:fs'
import { runInTurns, withBench } from '../harness/bench.js'
import { type Context, type Measurement, median } from '../harness/figure.js'
import { fixed } from '../provider/conditions.js'

const LATENCY_MS = 5

/** Peak memory of full runs on a larger market. The latency is small to keep the time short. */
export const memory: Measurement = {
  name: 'memory',
  summary: 'peak RSS at 10 × the stocks ÷ at 1 × (minutes a run; not with --quick)',
  run: async (context) => {
    if (context.quick) return []
    const peakOf = (stocks: number, part: string) => () => {
      const own: Context = { ...context, scratch: `${context.scratch}-${part}` }
      // Remove several gigabytes at once: no time is measured here or afterwards.
      return withBench(
        own,
        { stocks },
        async ({ run }) => (await run({ latency: fixed(LATENCY_MS) })).peakRssBytes / 1e6,
      ).finally(() => rmSync(own.scratch, { recursive: true }))
    }
    const { one, ten } = await runInTurns(context.runs, {
      one: peakOf(2_775, 'one'),
      ten: peakOf(27_750, 'ten'),
    })
    return [
      {
        name: 'peak RSS at 10 × the stocks',
        unit: 'MB',
        values: ten,
        remark: `27,750 stocks, fixed ${LATENCY_MS} ms; at 2,775 ${median(one).toFixed(0)} MB`,
      },
      {
        name: 'peak RSS at 10 × the stocks ÷ at 1 ×',
        unit: '×',
        values: ten.map((peak, round) => peak / (one[round] as number)),
        goal: 1.4,
      },
    ]
  },
}
