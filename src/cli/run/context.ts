import type { RunOptions } from '../../collector.js'
import type { Log, Telemetry } from '../../engine/event-bus.js'
import type { RunReport } from '../../model/report.js'
import type { Settings } from '../../model/settings.js'
import type { Signal } from '../../tables/changes/signals.js'
import type { Metrics } from '../../telemetry/prometheus.js'
import type { Input } from '../command.js'
import type { ExportResult, Target } from '../export/targets.js'
import type { Origins } from '../hints.js'
import type { ExitSignal } from '../signals.js'
import type { RunFlags } from './flags.js'

export interface RunCommandContext extends Pick<Input, 'io' | 'dependencies' | 'args'> {
  readonly flags: RunFlags
  /** The options of the collector, with a watchlist from the settings. */
  readonly run: RunOptions
  readonly sinks: readonly Target[]
  readonly settings: Settings
  readonly origins: Origins
  readonly log: Log | undefined
  readonly traces?: Telemetry | undefined
  readonly metrics?: Metrics | undefined
}

/** How a run ended. Without a report, it had not started. */
export interface RunEnding {
  readonly report?: RunReport
  readonly signal?: ExitSignal
  readonly error?: unknown
  /** Whether the run itself has stored the report. */
  readonly isReportStored?: boolean
}

export interface EndedCommand extends RunEnding {
  readonly exitCode: number
  /** When it ended, epoch milliseconds. */
  readonly at: number
  readonly signals?: readonly Signal[]
}

/** What the terminal shows between the end of a run and its summary. */
export interface EndScreen {
  /** Writes a line above the progress. */
  readonly writeAbove: (text: string) => void
  /** Names what is done now. */
  readonly step: (text: string) => void
  /** Ends the progress; call it before the summary. */
  readonly end: () => void
}

export type SinkResult = ExportResult | { readonly sink: string; readonly error: string }
