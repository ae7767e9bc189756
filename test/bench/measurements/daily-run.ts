import { spawnSync } from 'node:child_process'
import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { withBench } from '../harness/bench.js'
import { failOn } from '../harness/check.js'
import type { Figure, Measurement } from '../harness/figure.js'
import { countWritten, readFileMarks, readOutputs } from '../harness/outputs.js'
import { runProduct, warmUp } from '../harness/product.js'
import { fixed, NEXT_RUN_AT } from '../provider/conditions.js'
import { countRequests } from '../provider/stats.js'

const getStockCount = (isQuick: boolean): number => (isQuick ? 60 : 2_775)

/** The next daily run on a copy of the first outputs: all lists again, and one day of candles. */
export const incremental: Measurement = {
  name: 'incremental',
  summary: 'the next daily run, with one new day of candles: wall ÷ bound',
  run: async (context) => {
    const stocks = getStockCount(context.quick)
    return withBench(context, { stocks }, async ({ provider, run }) => {
      const first = join(context.scratch, 'first')
      await run({ latency: fixed(0), out: first })
      await warmUp({
        provider,
        product: context.product,
        out: join(context.scratch, 'warm-up'),
        asOf: NEXT_RUN_AT,
      })
      const values: number[] = []
      for (let round = 0; round < context.runs; round++) {
        const out = join(context.scratch, `next-${round}`)
        cpSync(first, out, { recursive: true, preserveTimestamps: true })
        // In real use these files were written a day ago: flush the copy, so that the run does not pay for
        // it.
        spawnSync('sync')
        const { wallMs, boundMs } = await run({ latency: fixed(50), out, asOf: NEXT_RUN_AT })
        values.push(wallMs / boundMs)
      }
      return [
        {
          name: 'incremental daily run, fixed 50 ms: wall ÷ bound',
          unit: '×',
          values,
          goal: 1.1,
          remark: `${stocks} stocks`,
        },
      ]
    })
  },
}

/** The same command again, when everything is up to date. */
export const rerun: Measurement = {
  name: 'rerun',
  summary: 'a rerun of a finished daily run: wall, data bytes and files written',
  run: async (context): Promise<readonly Figure[]> => {
    const stocks = getStockCount(context.quick)
    const { product } = context
    return withBench(context, { stocks }, async ({ provider, run }) => {
      const out = join(context.scratch, 'finished')
      const { outputs } = await run({ latency: fixed(0), out })
      const seconds: number[] = []
      const written: ReturnType<typeof countWritten>[] = []
      for (let round = 0; round < context.runs; round++) {
        const marks = readFileMarks(out)
        const { wallMs, stats } = await runProduct({ provider, product, latency: fixed(50), out })
        seconds.push(wallMs / 1_000)
        written.push(countWritten(marks, out))
        failOn(readOutputs(out).hash === outputs.hash ? [] : ['the outputs have changed'], 'the rerun')
        context.say(
          `${(wallMs / 1_000).toFixed(2)} s, ${countRequests(stats)} requests, ${written.at(-1)?.files} files written`,
        )
      }
      return [
        {
          name: 'rerun of a finished daily run, fixed 50 ms',
          unit: 's',
          values: seconds,
          goal: 2,
          remark: `${stocks} stocks`,
        },
        {
          name: 'rerun of a finished daily run: data bytes written',
          unit: 'bytes',
          values: written.map(({ bytes }) => bytes),
          goal: 0,
        },
      ]
    })
  },
}
