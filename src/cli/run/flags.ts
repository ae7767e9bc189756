import type { RunOptions } from '../../collector.js'
import type { Target } from '../export/targets.js'
import type { FleetFlags } from '../fleet.js'
import type { ProgressMode } from '../terminal/progress.js'

/** The options of `run` as commander parses them. */
export interface RunInput extends RunOptions, FleetFlags {
  /** Retry only what failed last time. */
  readonly retryFailed?: boolean
  readonly out?: string
  readonly config?: string
  /** Number of simulated stocks; undefined for the configured provider. */
  readonly simulate?: number
  /** How long to wait for a host that is down, milliseconds. */
  readonly patience?: number
  readonly progress: ProgressMode
  readonly json?: boolean
  /** Print nothing if the run is complete, and the brief if it is not. */
  readonly quiet?: boolean
  /** List the files of each stream in the summary. */
  readonly verbose?: boolean
  readonly logLevel: string
  /** The port of the metrics; undefined without metrics. */
  readonly metrics?: number
  /** Targets into which the finished outputs are loaded. */
  readonly sink?: readonly Target[]
  /** The same as `accept: ['shrink']`. */
  readonly acceptShrink?: boolean
}

/** The flags of `run`, with those of the collector and of the fleet apart. */
export interface RunFlags extends Omit<RunInput, keyof RunOptions | keyof FleetFlags | 'sink' | 'acceptShrink'> {
  readonly run: RunOptions
  readonly fleet: FleetFlags
  readonly sinks: readonly Target[]
  /** The arguments after `scripstream`. */
  readonly args: readonly string[]
}

/** What commander parses as options of the collector, as they are. */
const COLLECTOR_OPTIONS = ['only', 'skip', 'symbols', 'asOf', 'fresh'] as const

export const toRunFlags = (input: RunInput, args: readonly string[]): RunFlags => {
  const { accept = [], acceptShrink = false, sink = [] } = input
  const accepted = acceptShrink ? [...accept, 'shrink' as const] : accept
  const run: RunOptions = Object.fromEntries(COLLECTOR_OPTIONS.flatMap((name) => (name in input ? [[name, input[name]]] : [])))
  return { ...input, run: accepted.length === 0 ? run : { ...run, accept: accepted }, fleet: input, sinks: sink, args }
}
