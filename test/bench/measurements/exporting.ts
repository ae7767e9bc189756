import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { withBench } from '../harness/bench.js'
import { failOn } from '../harness/check.js'
import type { Measurement } from '../harness/figure.js'
import { runProcess } from '../harness/process.js'
import { findCommand } from '../harness/product.js'
import { fixed } from '../provider/conditions.js'

/**
 * Exports all tables to one DuckDB file after a run: a new process each time, with the outputs in the disk
 * cache.
 */
export const exporting: Measurement = {
  name: 'export',
  summary: 'all tables of a full run into one DuckDB file: wall',
  run: (context) => {
    const stocks = context.quick ? 60 : 2_775
    return withBench(context, { stocks }, async ({ run }) => {
      const out = join(context.scratch, 'exported')
      const market = join(context.scratch, 'market.duckdb')
      await run({ latency: fixed(0), out })
      const values: number[] = []
      for (let round = 0; round < context.runs; round++) {
        const args = ['export', '--out', out, '--to', market]
        const { code, stdout, stderr, wallMs } = await runProcess(
          process.execPath,
          [findCommand(context.product), ...args],
          {},
        )
        failOn(code === 0 ? [] : [`it exited with ${code}: ${stderr.slice(-500)}`], 'the export')
        failOn(stdout.includes('candles') ? [] : ['the output does not mention candles'], 'the export')
        values.push(wallMs / 1_000)
        rmSync(market)
      }
      return [
        { name: 'export of all tables into DuckDB', unit: 's', values, goal: 10, remark: `${stocks} stocks` },
      ]
    })
  },
}
