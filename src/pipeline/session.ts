import type { Observable } from 'rxjs'
import type { HistoryRequest } from '../model/history.js'
import type { Item, ItemOutcome } from '../model/outcome.js'
import type { Drift, RunReport } from '../model/report.js'
import type { Row } from '../model/row.js'
import type { Day } from '../model/trading-day.js'
import type { SortOrder } from './output.js'

/** What passes through the sinks: the outcome of an item, and the files written for it so far, each with its size in bytes. */
export interface SinkItem {
  readonly outcome: ItemOutcome
  readonly files: Readonly<Record<string, number>>
}

/** The properties of a stream that its journal depends on. */
export interface JournalFacts {
  readonly stream: string
  /** Whether lines contain the rows: if the output is one file for all items, or other streams need the rows. */
  readonly carriesRows: boolean
  /** Whether `findStored` returns the rows: if other streams depend on this one. */
  readonly offersRows: boolean
  readonly sortBy?: SortOrder
}

/**
 * The stored items of a stream. A line is written only after the data of its item is on disk, so that an unfinished run can resume. If
 * the output is one file for all items, the journal also holds its records until the stream ends.
 */
export interface Journal {
  /** The stored item of an unfinished run. */
  readonly findStored: (item: Item) => SinkItem | undefined
  /** Writes an item, and emits it once its line is written. A resumed run repeats items that were lost or may lack rows. */
  readonly write: (item: SinkItem) => Observable<SinkItem>
  /** Carries a record of the previous file over to the new one. Emits once it is written. */
  readonly carryOver: (rank: number, record: Row) => Observable<void>
  /**
   * The written and carried records as JSON text or its bytes, in the order of the output file, separated by a comma and a line end. A later
   * line replaces the earlier records of an item. Call it once: it releases the records, so that a stream that has ended holds no memory.
   */
  readonly takeRecords: () => Iterable<string | Uint8Array>
}

/** The selection of a run, if it does not cover everything; see `RunOptions`. */
export interface RunSelection {
  readonly only?: readonly string[] | undefined
  readonly skip?: readonly string[] | undefined
  readonly symbols?: readonly string[] | undefined
  readonly pairs?: Readonly<Record<string, readonly string[]>> | undefined
}

/** The stored record of a run until it is complete. Its journals hold the master list and every stored item. */
export interface RunRecord {
  readonly run: string
  /** The run's "now", epoch milliseconds; a resumed run keeps it. */
  readonly asOf: number
  /** The version of the package, without the patch: rows of another one may differ. */
  readonly version?: string
  /** Digest of the configuration that determines the stored bytes. */
  readonly configuration: string
  /** Lets a command resume the run without knowing its selection. */
  readonly chosen?: RunSelection
  /** Digest of the configuration without the selected streams and stocks. */
  readonly settings?: string
  /** The streams that run. */
  readonly streams?: readonly string[]
  /** When the run ended, epoch milliseconds, if it ended with failed items that the same command may still fetch. */
  readonly endedAt?: number
}

/** The stored record of a run that has ended, complete or with items missing, until the next run begins. */
export interface EndedRun extends RunRecord {
  readonly report: RunReport
}

/** What is left to do of a run that ended with items missing. */
export interface Remainder {
  /** The selection of a smaller run that did not finish; absent if the list of failed items says it. */
  readonly chosen?: RunSelection
  /** The streams that lack a session which is due. */
  readonly due: readonly string[]
}

/** What a run requests from the storage when it opens a session. */
export interface SessionRequest {
  /** Folders of the outputs, relative to the output folder; temporary files of interrupted writes in them are deleted. */
  readonly folders: readonly string[]
  /** The streams of the run, to open their journals. */
  readonly streams: readonly JournalFacts[]
  /** The outputs of the run, relative to the output folder; `*` represents the name of an item. */
  readonly outputs: readonly string[]
  /** The session in which the run is made, as far as holidays are known; of a simulated market, that of `asOf`. */
  readonly session: Day
  /** What the history keeps of the run; absent if it is switched off. */
  readonly history?: HistoryRequest
  /** Whether a complete run can be reused for the requested one, provided that its files are unchanged. */
  readonly isReusable: (complete: EndedRun) => boolean
  /**
   * What is left to do of a run that ended, provided that its files are unchanged. `unfinished` is a run that began after it. Undefined if
   * the requested run is another one.
   */
  readonly remainderOf?: (ended: EndedRun, unfinished: RunRecord | undefined) => Remainder | undefined
  /** Selects the record to use: that of the unfinished run to resume it, or a new one to start again. */
  readonly choose: (unfinished: RunRecord | undefined) => RunRecord
  /** Whether the requested run is a part of another one, on the same trading day and with the same settings. */
  readonly isPartOf: (other: RunRecord) => boolean
}

/** The storage, opened for one run. */
export interface Session {
  readonly record: RunRecord
  /** Whether it resumes an unfinished run. */
  readonly isContinued: boolean
  /** The unfinished run that this one replaces. */
  readonly givenUp?: RunRecord
  /** The reusable complete run, with all its files unchanged: there is nothing to do, and nothing was written. */
  readonly complete?: EndedRun
  /** The requested run ended before, and only this is left to do of it, as another run. The storage is already released. */
  readonly remainder?: Remainder
  /** The drift that the resumed run had found. */
  readonly drift?: readonly Drift[]
  /** Stores the drift found so far beside the journals, until the run ends for good. Absent if the storage cannot resume runs. */
  readonly saveDrift?: (found: readonly Drift[]) => void
  /** The changed file because of which a complete run could not be reused. */
  readonly changed?: string
  /** The journal of each stream, with the items of the unfinished run. */
  readonly journals: ReadonlyMap<string, Journal>
  /**
   * Called once, before anything is stored. A new run changes nothing until then, so that a rejected command leaves the folder as it was.
   * Emits once: a warning, or `undefined`. Absent if there is nothing to change.
   */
  readonly commit?: () => Observable<string | undefined>
  /**
   * Adds what the run left to the history. Called before the run ends, so that a kill in between repeats it. Emits once: a warning, or
   * `undefined`. Absent if the storage has no history, or if it is switched off.
   */
  readonly keepHistory?: (report: RunReport) => Observable<string | undefined>
  /**
   * Ends a run whose failed items may succeed later: record and journals stay, so that the same command requests only those items. Absent
   * if the storage cannot resume runs.
   */
  readonly keepForResume?: (endedAt: number, report: RunReport) => Observable<void>
  /** Ends the run and deletes record and journals. The report is stored, so that a later run can reuse what is complete. */
  readonly finish: (report?: RunReport) => Observable<void>
}
