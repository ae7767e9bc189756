import type { RunOptions } from '../../collector.js'
import type { Settings } from '../../model/settings.js'
import type { Log, Telemetry } from '../../pipeline/event-bus.js'
import type { Metrics } from '../../telemetry/prometheus.js'
import type { Dependencies, ProcessIo } from '../dependencies.js'
import type { Target } from '../export/targets.js'
import type { FleetFlags } from '../fleet.js'
import type { Origins } from '../hints.js'
import { readSymbols } from '../symbols.js'
import type { ProgressMode } from '../terminal/progress.js'

/** The options of `run` as commander parses them. */
export interface RunInput extends Omit<RunOptions, 'symbols'>, FleetFlags {
  readonly symbols?: string
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
  readonly logFile?: string
  /** False: the day is not added to the history. */
  readonly history?: boolean
  readonly notify?: string
  readonly notifyOn?: string
  /** The port of the metrics; undefined without metrics. */
  readonly metrics?: number
  readonly metricsFile?: string
  /** The port of the page; true: the usual one, or the next free one. Undefined without a page. */
  readonly serve?: number | true
  /** Targets into which the finished outputs are loaded. */
  readonly sink?: readonly Target[]
  /** The same as `accept: ['shrink']`. */
  readonly acceptShrink?: boolean
}

/** The flags of `run`, with those of the collector and of the fleet apart. */
export interface RunFlags extends Omit<RunInput, Exclude<keyof RunOptions, 'symbols'> | keyof FleetFlags | 'sink' | 'acceptShrink'> {
  readonly run: RunOptions
  readonly fleet: FleetFlags
  readonly sinks: readonly Target[]
  /** The arguments after `scripstream`. */
  readonly args: readonly string[]
}

/** All that the parts of the command use. */
export interface RunCommandContext {
  readonly flags: RunFlags
  readonly settings: Settings
  readonly origins: Origins
  readonly io: ProcessIo
  readonly dependencies: Dependencies
  /** The log file, if there is one. */
  readonly log: Log | undefined
  /** The traces, if the environment asks for them. */
  readonly traces?: Telemetry | undefined
  /** The metrics, if somebody reads them. */
  readonly metrics?: Metrics | undefined
}

/** What commander parses as options of the collector, as they are. */
const COLLECTOR_OPTIONS = ['only', 'skip', 'asOf', 'recordLate', 'fresh'] as const

export const toRunFlags = (input: RunInput, args: readonly string[]): RunFlags => {
  const { accept = [], acceptShrink = false, sink = [] } = input
  const accepted = acceptShrink ? [...accept, 'shrink' as const] : accept
  const run: RunOptions = Object.fromEntries(COLLECTOR_OPTIONS.flatMap((name) => (name in input ? [[name, input[name]]] : [])))
  return { ...input, run: accepted.length === 0 ? run : { ...run, accept: accepted }, fleet: input, sinks: sink, args }
}

/** The options of a run, with its watchlist from the settings. */
export const readRunOptions = ({ run, symbols }: RunFlags, settings: Settings): RunOptions => ({
  ...run,
  ...readSymbols(symbols, settings),
})
