import { withBench } from '../harness/bench.js'
import type { Measurement } from '../harness/figure.js'
import { fixed } from '../provider/conditions.js'

/** The candle stream alone, after its master list; the bound includes the request of the list. */
export const candles: Measurement = {
  name: 'candles',
  summary: 'the candle stream alone: wall ÷ bound',
  run: async (context) => {
    const stocks = context.quick ? 80 : 2_775
    return withBench(context, { stocks }, async ({ run }) => {
      const values: number[] = []
      for (let round = 0; round < context.runs; round++) {
        const { wallMs, boundMs } = await run({ latency: fixed(50), only: ['all-ohlcv'] })
        values.push(wallMs / boundMs)
      }
      return [
        {
          name: 'candle stream alone, fixed 50 ms: wall ÷ bound',
          unit: '×',
          values,
          goal: 1.1,
          remark: `${stocks} stocks, the master list in the bound`,
        },
      ]
    })
  },
}
