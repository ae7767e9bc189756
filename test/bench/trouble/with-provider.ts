import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Context } from '../harness/figure.js'
import { runTroubled, type TroubledOptions, type TroubledRun } from '../harness/troubled.js'
import type { Latency } from '../provider/conditions.js'
import { FIRST_RUN_AT } from '../provider/conditions.js'
import { type Provider, startProvider } from '../provider/process.js'
import type { ProviderControl } from '../provider/provider.js'
import { countRequests } from '../provider/stats.js'

export interface TroubleProviderOptions {
  readonly stocks: number
  readonly latency: Latency
}

export interface TroubledRunOptions extends Pick<TroubledOptions, 'deadlineMs' | 'env' | 'more'> {
  readonly what: string
  /** The fault of the provider. */
  readonly trouble?: ProviderControl
  /** Use a host name for the provider. */
  readonly isNamed?: boolean
  /** The folder of an earlier run; a new one if absent. */
  readonly out?: string
}

export interface TroubleBench {
  readonly provider: Provider
  readonly folder: (name: string) => string
  /** One run; the fault ends afterwards. */
  readonly run: (options: TroubledRunOptions) => Promise<TroubledRun>
  readonly remove: (folder: string) => void
}

const NO_TROUBLE: ProviderControl = { outage: null, line: null, refuse: null, padding: null }

/**
 * A provider with faults, and runs of the product against it. Everything is removed at the end, even after a
 * failure.
 */
export const withTrouble = async <T>(
  context: Context,
  { stocks, latency }: TroubleProviderOptions,
  use: (bench: TroubleBench) => Promise<T>,
) => {
  const { product, say, scratch } = context
  mkdirSync(scratch, { recursive: true })
  const namesFile = join(scratch, 'name-does-not-resolve')
  const provider = await startProvider({ stocks, namesFile })
  let folders = 0
  const folder = (name: string): string => join(scratch, `${name}-${folders++}`)
  try {
    return await use({
      provider,
      folder,
      remove: (path) => rmSync(path, { recursive: true, force: true }),
      run: async ({ what, trouble = {}, isNamed = false, out = folder('out'), ...rest }) => {
        await provider.control({ latency, asOf: FIRST_RUN_AT, reset: true, ...NO_TROUBLE, ...trouble })
        const done = await runTroubled({ provider, product, out, ...(isNamed ? { namesFile } : {}), ...rest })
        await provider.control(NO_TROUBLE)
        const ended = done.code === null ? 'killed at its deadline' : `exit ${done.code}`
        const counted = `${countRequests(done.stats)} requests, ${((done.peakRssBytes ?? 0) / 1e6).toFixed(0)} MB`
        say(`${what}: ${ended}, ${(done.wallMs / 1_000).toFixed(1)} s, ${counted}`)
        return done
      },
    })
  } finally {
    await provider.close()
    rmSync(scratch, { recursive: true, force: true })
  }
}
