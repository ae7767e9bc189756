import type { Command as Program } from 'commander'
import type { Observable, SchedulerLike } from 'rxjs'
import type { Collector, CollectorOptions } from '../collector.js'
import type { SettingRow, SettingsSources } from '../config.js'
import type { StreamDefinition } from '../engine/define-stream.js'
import type { Storage } from '../engine/storage.js'
import type * as FleetDriver from '../fleet/driver.js'
import type * as FleetWorker from '../fleet/worker.js'
import type { Settings } from '../model/settings.js'
import type { Wall } from '../model/wall.js'
import type { Simulator, SimulatorOptions } from '../simulator/index.js'
import type { ExitSignal } from './signals.js'
import type { TerminalStream } from './terminal/terminal.js'

/** The process as commands see it; they use nothing else of it. */
export interface ProcessIo {
  /** `isTTY`: whether a person types the input. */
  readonly stdin: { readonly isTTY: boolean }
  /** The next line that a person types; empty at the end of the input. */
  readonly readLine: () => Promise<string>
  readonly stdout: TerminalStream
  readonly stderr: TerminalStream
  /** What keeps the onlookers of a run from ending it. */
  readonly wall: Wall
  readonly env: NodeJS.ProcessEnv
  readonly scheduler: SchedulerLike
  readonly signal$: Observable<ExitSignal>
  readonly exit: (code: number) => void
}

export interface Dependencies {
  readonly version: string
  readonly pageFolder: string
  readonly streams: readonly StreamDefinition[]
  /** Why the streams of the user cannot be loaded; the settings may name them. */
  readonly failure?: unknown
  readonly optionalPackages: readonly string[]
  readonly settingRows: (streams: readonly StreamDefinition[]) => readonly SettingRow[]
  readonly loadSettings: (sources: SettingsSources) => Settings
  /** The settings that a notification needs, also where others are wrong. */
  readonly loadNotifySettings: (sources: SettingsSources) => Settings
  /** Where each setting that is not its default comes from. */
  readonly findOrigins: (sources: SettingsSources) => ReadonlyMap<string, string>
  readonly createCollector: (options: CollectorOptions) => Pick<Collector, 'events' | 'run' | 'stream'>
  /** The output folder, for documents of a run as a whole. */
  readonly storage: (settings: Settings) => Pick<Storage, 'stored' | 'storeDocument'>
  readonly fleet: () => Promise<
    Pick<typeof FleetDriver & typeof FleetWorker, 'fleet' | 'fleetWorker' | 'reachFleet' | 'workerName'>
  >
  /** How many files the process may have open; infinite if the system does not say. */
  readonly findMaxOpenFiles: () => number
  readonly serveSimulator: (options: SimulatorOptions) => Promise<Simulator>
}

export interface CommandContext {
  readonly args: readonly string[]
  readonly io: ProcessIo
  readonly dependencies: Dependencies
  readonly act: (code$: Observable<number>) => Promise<void>
}

export type AddCommand = (program: Program, context: CommandContext) => void

/** Commands by the headings of the help. */
export type CommandGroups = Readonly<Record<string, readonly AddCommand[]>>
