import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { FIRST_RUN_AT, fixed, type Latency } from '../provider/conditions.js'
import type { Provider } from '../provider/process.js'
import type { ProviderStats } from '../provider/stats.js'
import type { ProbeResult } from './probe.js'
import { runProcess } from './process.js'

export interface RunOptions {
  readonly provider: Provider
  /** The checkout whose build is run. */
  readonly product: string
  readonly latency: Latency
  readonly out: string
  readonly asOf?: string
  readonly only?: readonly string[]
  /** Further arguments of the command. */
  readonly more?: readonly string[]
}

/** One run of the whole command, as a process. */
export interface ProductRun extends ProbeResult {
  readonly wallMs: number
  readonly startedAt: number
  readonly stats: ProviderStats
}

/** The file of the command in the build of a checkout. */
export const findCommand = (product: string): string => {
  const { bin } = JSON.parse(readFileSync(join(product, 'package.json'), 'utf8')) as {
    readonly bin: { readonly scripstream: string }
  }
  return join(product, bin.scripstream)
}

const probe = new URL('./probe.js', import.meta.url).href

/** Runs the product against the provider; rejects if it fails. */
export const runProduct = async ({
  provider,
  product,
  latency,
  out,
  asOf = FIRST_RUN_AT,
  only,
  more = [],
}: RunOptions): Promise<ProductRun> => {
  await provider.control({ latency, asOf, reset: true })
  const probed = `${out}.probe.json`
  const args = [
    'run',
    '--as-of',
    asOf,
    '--out',
    out,
    '--progress',
    'none',
    ...(only === undefined ? [] : ['--only', only.join(',')]),
    ...more,
  ]
  const command = ['--import', probe, findCommand(product), ...args]
  const { code, stdout, stderr, wallMs, startedAt } = await runProcess(process.execPath, command, {
    ...provider.env,
    BENCH_PROBE: probed,
  })
  if (code !== 0)
    throw new Error(`the run ended with ${code}\n${stdout.slice(-2_000)}\n${stderr.slice(-2_000)}`)
  const result = JSON.parse(readFileSync(probed, 'utf8')) as ProbeResult
  rmSync(probed)
  return { ...result, wallMs, startedAt, stats: await provider.stats() }
}

const LISTS = [
  'master-data',
  'listing-dates',
  'corporate-actions',
  'surveillance-lists',
  'circuit-stocks',
  'bulk-block-deals',
]
const MORE_LISTS = ['incremental-price-bands', 'complete-price-bands', 'all-indices']

/** Fills the provider's caches and the disk cache before anything is measured. */
export const warmUp = async (
  options: Pick<RunOptions, 'provider' | 'product' | 'out' | 'asOf'>,
): Promise<void> => {
  await runProduct({ ...options, latency: fixed(0), only: [...LISTS, ...MORE_LISTS] })
  rmSync(options.out, { recursive: true })
}
