import type { Observable, SchedulerLike } from 'rxjs'
import type { Collector, CollectorOptions } from '../collector.js'
import type { SettingRow, Sources } from '../config.js'
import type * as Fleet from '../fleet/index.js'
import type { Settings } from '../model/settings.js'
import type { StreamDefinition } from '../pipeline/define-stream.js'
import type { Storage } from '../pipeline/storage.js'
import type { Simulator, SimulatorOptions } from '../simulator/index.js'
import type { Signal } from './signals.js'
import type { TerminalStream } from './terminal.js'

/** The process as commands see it; nothing else of it is in their reach. */
export interface Shell {
  /** Whether what comes in is typed by a person. */
  readonly stdin: { readonly isTTY: boolean }
  readonly stdout: TerminalStream
  readonly stderr: TerminalStream
  readonly env: NodeJS.ProcessEnv
  /** Tells the time and lets it pass. */
  readonly scheduler: SchedulerLike
  readonly signal$: Observable<Signal>
  /** Ends the process at once. */
  readonly exit: (code: number) => void
}

/** What the commands are put together from. */
export interface Parts {
  readonly version: string
  readonly streams: readonly StreamDefinition[]
  /** Packages that are used where someone installed them. */
  readonly optionalPackages: readonly string[]
  readonly settingRows: readonly SettingRow[]
  readonly loadSettings: (sources: Sources) => Settings
  readonly createCollector: (options: CollectorOptions) => Collector
  /** The output folder, for what concerns a run as a whole. */
  readonly storage: (settings: Settings) => Pick<Storage, 'stored' | 'keep'>
  /** Loaded only where a fleet is wanted. */
  readonly fleet: () => Promise<Pick<typeof Fleet, 'fleet' | 'fleetWorker' | 'reachFleet' | 'workerName'>>
  readonly serveSimulator: (options: SimulatorOptions) => Promise<Simulator>
}

/** What a command does with its options; emits the exit code. */
export type Command<Options> = (options: Options, shell: Shell, parts: Parts) => Observable<number>
