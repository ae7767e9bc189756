import { runInTurns, withBench } from '../harness/bench.js'
import type { Measurement } from '../harness/figure.js'
import { fixed, logNormal } from '../provider/conditions.js'

/** The full run: wall time ÷ bound, CPU, memory, event-loop delay. */
export const full: Measurement = {
  name: 'full',
  summary: 'the whole run, with all candles: wall ÷ bound, peak RSS, event-loop delay',
  run: async (context) => {
    const stocks = context.quick ? 80 : 2_775
    return withBench(context, { stocks }, async ({ run }) => {
      const { spread, even } = await runInTurns(context.runs, {
        spread: () => run({ latency: logNormal(100) }),
        even: () => run({ latency: fixed(50) }),
      })
      const ratios = (runs: typeof even) => runs.map(({ wallMs, boundMs }) => wallMs / boundMs)
      const all = [...spread, ...even]
      const boundIn = ([first]: typeof even) =>
        `${stocks} stocks, bound ${((first?.boundMs ?? 0) / 1_000).toFixed(2)} s`
      return [
        {
          name: 'full run, log-normal latency of mean 100 ms: wall ÷ bound',
          unit: '×',
          values: ratios(spread),
          goal: 1.05,
          remark: boundIn(spread),
        },
        {
          name: 'full run, fixed 50 ms: wall ÷ bound',
          unit: '×',
          values: ratios(even),
          goal: 1.15,
          remark: boundIn(even),
        },
        {
          name: 'full run, fixed 50 ms: CPU',
          unit: 's',
          values: even.map(({ cpuMicros }) => cpuMicros / 1e6),
          remark: `${stocks} stocks`,
        },
        {
          name: 'full run: peak RSS',
          unit: 'MB',
          values: all.map(({ peakRssBytes }) => peakRssBytes / 1e6),
          goal: 256,
        },
        {
          name: 'full run: event-loop delay, p99',
          unit: 'ms',
          values: all.map(({ delayP99Ms }) => delayP99Ms),
          goal: 50,
        },
      ]
    })
  },
}
