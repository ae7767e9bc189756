import { type Measurement, median } from '../harness/figure.js'
import { runScript } from '../harness/process.js'
import type { OperatorCosts } from './operators-script.js'

/** The pipeline with an immediate transport and memory storage: only our own CPU, on short and long lists. */
export const operators: Measurement = {
  name: 'operators',
  summary: 'operator cost per item at 28,000 stocks ÷ at 2,800',
  run: async ({ product, runs, quick }) => {
    const [few, many] = quick ? [300, 3_000] : [2_800, 28_000]
    const args = [product, String(few), String(many), String(runs)]
    const costs = await runScript<OperatorCosts>(new URL('./operators-script.js', import.meta.url), args, {})
    const values = costs.many.map((micros, round) => micros / (costs.few[round] as number))
    const remark = `${median(costs.many).toFixed(0)} µs and ${median(costs.few).toFixed(0)} µs, six streams, no sockets, no disk`
    return [
      {
        name: `operator cost per item at ${many.toLocaleString('en')} stocks ÷ at ${few.toLocaleString('en')}`,
        unit: '×',
        values,
        goal: 1.5,
        remark,
      },
    ]
  },
}
