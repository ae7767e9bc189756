import { existsSync, readFileSync, rmSync } from 'node:fs'
import type { Status } from '../../../src/model/errors.js'
import { isLost } from '../../../src/model/outcome.js'
import type { RunReport } from '../../../src/model/report.js'
import { FIRST_RUN_AT } from '../provider/conditions.js'
import type { Provider } from '../provider/process.js'
import { countRequests, type ProviderStats } from '../provider/stats.js'
import { PROVIDER_NAME } from './failing-names.js'
import { countDifferences, readDigests } from './outputs.js'
import type { ProbeResult } from './probe.js'
import { runWithDeadline } from './process.js'
import { findCommand } from './product.js'

/** A run that may lose data: its report, the provider's counts and its output files. */
export interface TroubledRun {
  /** `null` if the run was killed at its deadline. */
  readonly code: number | null
  readonly wallMs: number
  readonly stats: ProviderStats
  readonly digests: ReadonlyMap<string, string>
  /** Absent if the run printed none. */
  readonly report: RunReport | undefined
  readonly peakRssBytes: number | undefined
}

export interface TroubledOptions {
  readonly provider: Provider
  readonly product: string
  readonly out: string
  readonly deadlineMs: number
  /** Use a host name for the provider; its lookup fails while this file exists. */
  readonly namesFile?: string
  readonly env?: Readonly<Record<string, string>>
  readonly more?: readonly string[]
}

const preload = (name: string): readonly string[] => [
  '--import',
  new URL(`./${name}.js`, import.meta.url).href,
]

/**
 * Runs the product and accepts any outcome. The caller sets the faults of the provider and resets its counts
 * before.
 */
export const runTroubled = async ({
  provider,
  product,
  out,
  deadlineMs,
  namesFile,
  env = {},
  more = [],
}: TroubledOptions) => {
  const probed = `${out}.probe.json`
  const args = ['run', '--as-of', FIRST_RUN_AT, '--out', out, '--progress', 'none', '--json', ...more]
  const named = Object.entries(provider.env).map(([key, value]) => [
    key,
    value.replace('//127.0.0.1:', `//${PROVIDER_NAME}:`),
  ])
  const { code, stdout, wallMs } = await runWithDeadline({
    file: process.execPath,
    args: [
      ...preload('probe'),
      ...(namesFile === undefined ? [] : preload('failing-names')),
      findCommand(product),
      ...args,
    ],
    env: {
      ...(namesFile === undefined ? provider.env : { ...Object.fromEntries(named), BENCH_NAMES: namesFile }),
      BENCH_PROBE: probed,
      ...env,
    },
    deadlineMs,
  })
  const result = existsSync(probed) ? (JSON.parse(readFileSync(probed, 'utf8')) as ProbeResult) : undefined
  rmSync(probed, { force: true })
  const stats = await provider.stats()
  return {
    code,
    wallMs,
    stats,
    digests: existsSync(out) ? readDigests(out) : new Map(),
    report: parseReport(stdout),
    peakRssBytes: result?.peakRssBytes,
  } satisfies TroubledRun
}

const parseReport = (stdout: string): RunReport | undefined => {
  try {
    return JSON.parse(stdout) as RunReport
  } catch {
    return undefined
  }
}

/** The losses of a run, compared with an undisturbed one. */
export interface Losses {
  readonly code: number | null
  /** Items that succeeded only in the other run, by stream; streams without losses are absent. */
  readonly lost: Readonly<Record<string, number>>
  /** Partial items, from the run's own report. */
  readonly degraded: number
  /** Output files that are missing or different; independent of the run's report. */
  readonly filesDifferent: number
  readonly extraRequests: number
}

export const computeLosses = (run: TroubledRun, calm: TroubledRun): Losses => ({
  code: run.code,
  lost: Object.fromEntries(
    Object.keys(calm.report?.scripts ?? {})
      .map((name): [string, number] => [
        name,
        Math.max(0, countGoodItems(calm, name) - countGoodItems(run, name)),
      ])
      .filter(([, count]) => count > 0),
  ),
  degraded: Object.values(run.report?.scripts ?? {}).reduce((sum, { degraded }) => sum + degraded, 0),
  filesDifferent: countDifferences(calm.digests, run.digests),
  extraRequests: countRequests(run.stats) - countRequests(calm.stats),
})

export const sumCounts = (counts: Readonly<Record<string, number>>): number =>
  Object.values(counts).reduce((sum, count) => sum + count, 0)

const countGoodItems = ({ report }: TroubledRun, stream: string): number => {
  const script = report?.scripts[stream]
  if (script === undefined) return 0
  return Object.entries(script.items).reduce(
    (sum, [status, count]) => sum + (isLost({ status: status as Status }) ? 0 : count),
    0,
  )
}
