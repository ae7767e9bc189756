import { mkdirSync, mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import { createBenchTimeline, FIRST_RUN_AT, formatLatency } from '../provider/conditions.js'
import { type Provider, startProvider } from '../provider/process.js'
import type { ProviderOptions } from '../provider/provider.js'
import { countRequests } from '../provider/stats.js'
import { computeBound } from './bound.js'
import { createSameRunCheck, failOn, findWrongFiles, findWrongRequests } from './check.js'
import type { Context } from './figure.js'
import { type Outputs, readOutputs } from './outputs.js'
import { type ProductRun, type RunOptions, runProduct, warmUp } from './product.js'

/** A run with checked requests and output files. */
export interface CheckedRun extends ProductRun {
  readonly outputs: Outputs
  readonly boundMs: number
}

/**
 * A provider and runs of the product against it. The outputs are removed at the end of the whole benchmark:
 * for a minute after many files were deleted, a file system may need ten times as long to create new ones.
 */
export interface Bench {
  readonly provider: Provider
  /**
   * Runs the product and checks requests, files and bytes. It uses the existing files in `out`; if absent, a
   * new folder.
   */
  run(options: BenchRun): Promise<CheckedRun>
}

export interface BenchRun extends Pick<RunOptions, 'latency' | 'asOf' | 'only' | 'more'> {
  readonly out?: string
  /** Another checkout than the measured one. */
  readonly product?: string
}

export const withBench = async <T>(
  context: Context,
  options: ProviderOptions,
  use: (bench: Bench) => Promise<T>,
): Promise<T> => {
  const { product, say } = context
  const provider = await startProvider(options)
  const stocks = createBenchTimeline(options.stocks)(Date.parse(FIRST_RUN_AT)).stocks
  const checkSame = createSameRunCheck()
  let folders = 0
  try {
    mkdirSync(context.scratch, { recursive: true })
    const scratch = mkdtempSync(join(context.scratch, 'bench-'))
    await warmUp({ provider, product, out: join(scratch, 'warm-up') })
    return await use({
      provider,
      run: async ({ out = join(scratch, `out-${folders++}`), ...run }) => {
        const done = await runProduct({ provider, product, out, ...run })
        const outputs = readOutputs(out)
        const what = `${formatLatency(run.latency)}${run.only === undefined ? '' : `, ${run.only.join(', ')}`}`
        failOn(findWrongRequests(done.stats, stocks.length), what)
        if (run.only === undefined) failOn(findWrongFiles(outputs, stocks.length), what)
        checkSame(`${run.asOf ?? FIRST_RUN_AT} ${run.only?.join() ?? 'all'}`, outputs, done.stats)
        const boundMs = computeBound(done.stats.endpoints, stocks, run.latency)
        say(`${what}: ${describeRun(done, boundMs)}`)
        return { ...done, outputs, boundMs }
      },
    })
  } finally {
    await provider.close()
  }
}

const describeRun = ({ wallMs, cpuMicros, peakRssBytes, stats }: ProductRun, boundMs: number): string => {
  const requests = countRequests(stats)
  return [
    `${formatSeconds(wallMs)}${boundMs > 0 ? ` (bound ${formatSeconds(boundMs)})` : ''}, CPU ${formatSeconds(cpuMicros / 1_000)}, ${(peakRssBytes / 1e6).toFixed(0)} MB;`,
    `provider: ${requests} requests, ${(stats.cpuMicros / requests).toFixed(0)} µs CPU each`,
  ].join(' ')
}

const formatSeconds = (ms: number): string => `${(ms / 1_000).toFixed(2)} s`

/** Runs all alternatives in rounds, so that other load on the machine affects all of them. */
export const runInTurns = async <Name extends string, T>(
  runs: number,
  alternatives: Readonly<Record<Name, () => Promise<T>>>,
): Promise<Readonly<Record<Name, readonly T[]>>> => {
  const names = Object.keys(alternatives) as Name[]
  const results = Object.fromEntries(names.map((name) => [name, [] as T[]])) as Record<Name, T[]>
  for (let round = 0; round < runs; round++)
    for (const name of names) results[name].push(await alternatives[name]())
  return results
}
