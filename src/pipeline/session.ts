import type { Observable } from 'rxjs'
import type { RunReport } from '../model/report.js'
import type { Journal, JournalFacts } from './journal.js'

/** What a run was asked to be about, where that is not everything. As of `RunOptions`. */
export interface Chosen {
  readonly only?: readonly string[]
  readonly skip?: readonly string[]
  readonly symbols?: readonly string[]
  readonly pairs?: Readonly<Record<string, readonly string[]>>
}

/** What is kept of a run until it is complete. Its journals hold the master list and everything else that is in place. */
export interface RunRecord {
  readonly run: string
  /** The run's "now", epoch milliseconds; a run that continues keeps it. */
  readonly asOf: number
  /** Digest of the configuration that matters for what is stored. */
  readonly configuration: string
  /** So that it can be continued by who does not know what was asked for. */
  readonly chosen?: Chosen
  /** Digest of the configuration without the streams and stocks that were chosen. */
  readonly settings?: string
  /** The streams that run. */
  readonly streams?: readonly string[]
  /** When the run ended, epoch milliseconds, if it did so with something missing that the same command may still get. */
  readonly endedAt?: number
}

/** What is kept of a run that is complete, for as long as no other one begins. */
export interface CompleteRun extends RunRecord {
  readonly report: RunReport
}

/** What a place of storage must know of a run that takes it into its hands. */
export interface Beginning {
  /** Folders that outputs go to, relative to the place of storage; what broken-off writes left in them is swept away. */
  readonly folders: readonly string[]
  /** The streams of the run, whose journals are to be opened. */
  readonly streams: readonly JournalFacts[]
  /** What the run leaves in place, relative to the place of storage; `*` stands for the name of an item. */
  readonly outputs: readonly string[]
  /** Whether a complete run is as good as the one that is wanted, if only everything is in place as that one left it. */
  readonly suffices: (complete: CompleteRun) => boolean
  /** Picks the record to go by: the unfinished run's to continue it, another one to begin anew. */
  readonly choose: (unfinished: RunRecord | undefined) => RunRecord
  /** Whether the run that is wanted asks for a part only of what another one did, on the same trading day and with the same settings. */
  readonly isPartOf: (other: RunRecord) => boolean
}

/** A place of storage in the hands of one run. */
export interface Session {
  readonly record: RunRecord
  /** Whether it goes on with an unfinished run. */
  readonly isContinued: boolean
  /** The unfinished run that is given up for this one. */
  readonly givenUp?: string
  /** The complete run that suffices, with everything in place: there is nothing to do, and nothing was touched. */
  readonly complete?: CompleteRun
  /** What is no longer as a complete run left it that would have sufficed. */
  readonly changed?: string
  /** The journal of each stream, with what an unfinished run noted. */
  readonly journals: ReadonlyMap<string, Journal>
  /**
   * Called once, before anything is stored. A run that begins anew changes nothing until then, so that a command that is rejected leaves
   * everything as it was. Emits once, something to know that is no failure or nothing. Absent where there is nothing to change.
   */
  readonly commit?: () => Observable<string | undefined>
  /**
   * The run has ended, and lacks what may come later: record and journals stay, so that the same command asks for that alone. Absent where
   * no run can be continued.
   */
  readonly leave?: (endedAt: number) => Observable<void>
  /** The run is over: record and journals go. The report is that of a complete run, upon which a later one may have nothing to do. */
  readonly finish: (complete?: RunReport) => Observable<void>
}
