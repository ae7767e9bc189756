import { type Measurement, median } from '../harness/figure.js'
import { runScript } from '../harness/process.js'
import type { ParseCosts } from './parse-script.js'

/**
 * Filings answers read by their endpoints, compared with `JSON.parse` of the same texts, alternating in one
 * process.
 */
export const parse: Measurement = {
  name: 'parse',
  summary: 'parse + validate of filings answers ÷ JSON.parse alone',
  run: async ({ product, runs, quick, say }) => {
    const args = [product, String(quick ? 5 : runs * 4)]
    const { read, bare, megabytes } = await runScript<ParseCosts>(
      new URL('./parse-script.js', import.meta.url),
      args,
      {},
    )
    say(`JSON.parse alone: ${((megabytes / median(bare)) * 1e6).toFixed(0)} MB/s`)
    const values = read.map((micros, round) => micros / (bare[round] as number))
    return [{ name: 'parse + validate ÷ JSON.parse alone, filings answers', unit: '×', values, goal: 1.25 }]
  },
}
