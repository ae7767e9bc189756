import type { Measurement } from '../harness/figure.js'
import { runScript } from '../harness/process.js'
import type { OperatorPrices } from './operator-prices-script.js'

/** Each operator of a run alone, around a request that is answered at once. */
export const operatorPrices: Measurement = {
  name: 'operator-prices',
  summary: 'CPU that each operator adds to a request',
  run: async ({ product, runs, quick }) => {
    const args = [product, String(runs * 2), String(quick ? 2_000 : 50_000)]
    const prices = await runScript<OperatorPrices>(
      new URL('./operator-prices-script.js', import.meta.url),
      args,
      {},
    )
    return Object.entries(prices).map(([name, values]) => ({
      name: `${name}: CPU per request`,
      unit: 'µs' as const,
      values,
    }))
  },
}
