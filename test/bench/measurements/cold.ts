import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { withBench } from '../harness/bench.js'
import { failOn } from '../harness/check.js'
import type { Measurement } from '../harness/figure.js'
import { runProcess } from '../harness/process.js'
import { findCommand } from '../harness/product.js'
import { FIRST_RUN_AT, fixed } from '../provider/conditions.js'

/**
 * From the start of the process to the arrival of its first request; a new process each time, with a warm
 * disk cache.
 */
export const cold: Measurement = {
  name: 'cold',
  summary: 'cold start: from the process to its first request',
  run: (context) =>
    withBench(context, { stocks: 60 }, async ({ provider }) => {
      const values: number[] = []
      for (let round = 0; round < context.runs * 3; round++) {
        await provider.control({ latency: fixed(0), reset: true })
        const out = join(context.scratch, 'out')
        const args = [
          'run',
          '--as-of',
          FIRST_RUN_AT,
          '--out',
          out,
          '--only',
          'master-data',
          '--progress',
          'none',
        ]
        const { code, startedAt } = await runProcess(
          process.execPath,
          [findCommand(context.product), ...args],
          provider.env,
        )
        const { firstAt } = await provider.stats()
        failOn(code === 0 && firstAt !== undefined ? [] : [`it exited with ${code}`], 'the start')
        values.push((firstAt ?? 0) - startedAt)
        rmSync(out, { recursive: true })
      }
      return [{ name: 'start to first request, cold', unit: 'ms', values, goal: 300 }]
    }),
}
