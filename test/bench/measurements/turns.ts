import { type Bench, runInTurns, withBench } from '../harness/bench.js'
import { type Context, type Figure, median } from '../harness/figure.js'
import { fixed } from '../provider/conditions.js'
import { countRequests } from '../provider/request-counter.js'

/** Maximum ratio to the other build. */
const GOAL = 1.03

/** Alternating full runs of two builds: ratios of wall time, CPU and memory. Both must send the same requests. */
export const measureTurns = (
  context: Context,
  { stocks, latencyMs, against }: { readonly stocks: number; readonly latencyMs: number; readonly against: string },
): Promise<readonly Figure[]> =>
  withBench(context, { stocks }, async ({ run }) => {
    const latency = fixed(latencyMs)
    // One uncounted run of each fills the disk cache.
    const build = (product: string) => (): ReturnType<Bench['run']> => run({ latency, product })
    const turns = { theirs: build(against), ours: build(context.product) }
    await runInTurns(1, turns)
    const { theirs, ours } = await runInTurns(context.runs, turns)
    const ratios = (read: (run: (typeof ours)[number]) => number) => ours.map((one, round) => read(one) / read(theirs[round] as typeof one))
    const requests = (runs: typeof ours): number => median(runs.map(({ stats }) => countRequests(stats)))
    const remark = `${stocks} stocks, fixed ${latencyMs} ms, ${requests(ours)} requests against ${requests(theirs)}`
    return [
      { name: 'whole run ÷ the other build: wall', unit: '×', values: ratios(({ wallMs }) => wallMs), goal: GOAL, remark },
      { name: 'whole run ÷ the other build: CPU', unit: '×', values: ratios(({ cpuMicros }) => cpuMicros) },
      { name: 'whole run ÷ the other build: peak RSS', unit: '×', values: ratios(({ peakRssBytes }) => peakRssBytes) },
    ]
  })
