import type { RunOptions } from '../collector.js'
import type { RefusalCode } from '../market/never-worse.js'
import type { Target } from './export/targets.js'
import type { FleetFlags } from './fleet.js'
import type { ProgressMode } from './progress.js'
import { simulatedStocks } from './provider.js'

/** What a run was asked to do. */
export interface RunFlags {
  readonly run: RunOptions
  /** Only what failed last time. */
  readonly retryFailed: boolean
  readonly out: string | undefined
  readonly config: string | undefined
  /** How many stocks to simulate; nothing to ask the provider that is set. */
  readonly simulate: number | undefined
  /** How long a host that is away is waited for, milliseconds. */
  readonly patience?: number | undefined
  readonly progress: ProgressMode
  readonly json: boolean
  readonly logLevel: string
  /** The port that metrics are served at; nothing if none are. */
  readonly metrics?: number | undefined
  /** What the outputs are loaded into once they are in place. */
  readonly sinks: readonly Target[]
  readonly fleet: FleetFlags
  /** What was typed after `scripstream`. */
  readonly args: readonly string[]
}

/** The options of `run` as the command line gives them. */
export interface RunInput extends RunOptions {
  readonly retryFailed?: boolean
  readonly out?: string
  readonly config?: string
  /** `true` where no number was given. */
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

export const flagsOf = (
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
  simulate: simulatedStocks(simulate),
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
