import type { RunOptions } from '../collector.js'
import type { RefusalCode } from '../market/never-worse.js'
import type { Target } from './export/targets.js'
import type { FleetFlags } from './fleet.js'
import type { ProgressMode } from './progress.js'
import { countSimulatedStocks } from './provider.js'

/** The flags of `run`. */
export interface RunFlags {
  readonly run: RunOptions
  /** Retry only what failed last time. */
  readonly retryFailed: boolean
  readonly out: string | undefined
  readonly config: string | undefined
  /** Number of simulated stocks; undefined for the configured provider. */
  readonly simulate: number | undefined
  /** How long to wait for a host that is down, milliseconds. */
  readonly patience?: number | undefined
  readonly progress: ProgressMode
  readonly json: boolean
  readonly logLevel: string
  /** The port of the metrics; undefined without metrics. */
  readonly metrics?: number | undefined
  /** Targets into which the finished outputs are loaded. */
  readonly sinks: readonly Target[]
  readonly fleet: FleetFlags
  /** The arguments after `scripstream`. */
  readonly args: readonly string[]
}

/** The options of `run` as parsed by commander. */
export interface RunInput extends RunOptions {
  readonly retryFailed?: boolean
  readonly out?: string
  readonly config?: string
  /** `true` if no number was given. */
  readonly simulate?: number | true
  readonly patience?: number
  readonly progress: ProgressMode
  readonly json?: boolean
  readonly logLevel: string
  readonly metrics?: number
  readonly sink?: readonly Target[]
  readonly engine?: string
  readonly blobs?: string
  readonly allowVolatile?: boolean
  /** The same as `accept: ['shrink']`. */
  readonly acceptShrink?: boolean
}

export const toRunFlags = (
  {
    retryFailed = false,
    out,
    config,
    simulate,
    patience,
    progress,
    json = false,
    logLevel,
    metrics,
    sink = [],
    engine,
    blobs,
    allowVolatile = false,
    accept = [],
    acceptShrink = false,
    ...run
  }: RunInput,
  args: readonly string[],
): RunFlags => ({
  run: { ...run, ...withAccepted(acceptShrink ? [...accept, 'shrink'] : accept) },
  retryFailed,
  out,
  config,
  simulate: countSimulatedStocks(simulate),
  patience,
  progress,
  json,
  logLevel,
  metrics,
  sinks: sink,
  fleet: { engine, blobs, allowVolatile },
  args,
})

const withAccepted = (accept: readonly RefusalCode[]): Pick<RunOptions, 'accept'> => (accept.length === 0 ? {} : { accept })
