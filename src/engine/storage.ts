import type { MonoTypeOperatorFunction, Observable } from 'rxjs'
import type { RefusalCode } from '../market/refusal-policy.js'
import type { HistoryRequest, SessionEvidence } from '../model/history.js'
import type { Item, ItemOutcome } from '../model/outcome.js'
import type { Drift, RunReport } from '../model/report.js'
import type { Row } from '../model/row.js'
import type { RunLogEntry } from '../model/run-log.js'
import { type Stored, toStatePath } from '../model/stored.js'
import type { Day } from '../model/trading-day.js'
import type { Output, SortOrder } from './define-stream.js'

export { REPORT_FILE, STATE_FOLDER, type Stored, type Tail, toStatePath } from '../model/stored.js'

/** The outputs before the last run. */
export const PREVIOUS_FOLDER = toStatePath('previous')

/**
 * Stores the outcomes of a stream. Emits each item again, with the files that it added, once the data of that
 * item is on disk. Errors only if storing itself is impossible (`StorageError`).
 */
export type Sink = MonoTypeOperatorFunction<SinkItem>

/** The parts of a run that a sink uses. */
export interface SinkContext {
  /** The name of the stream. */
  readonly stream: string
  readonly exchange: string
  readonly asOf: number
  /**
   * Every listed stock of the stream, in the order of the master list, even if this run does not request it;
   * known when its first item ends.
   */
  readonly listed: readonly Item[]
  /** Whether the run accepts answers that this rule refuses. */
  readonly accepts: (code: RefusalCode) => boolean
  /** Holds the records of a one-file output until the stream ends. */
  readonly journal: Journal
  /** Reports a written file. */
  readonly wrote: (bytes: number) => void
  /** Adds a warning to the report. */
  readonly warn: (text: string) => void
  /**
   * Reports that stored data was kept because an answer looks wrong by this rule. The stream ends as partial.
   */
  readonly refuse: (code: RefusalCode, text: string) => void
}

/** The destination of outputs: a folder, memory, or your own implementation. */
export interface Storage {
  readonly stored: Stored
  /**
   * Locks the storage for one run, and emits once what earlier runs left; unsubscribing releases it. Errors
   * with a `StorageError` that names the holder if another run has the storage locked.
   */
  openSession(request: SessionRequest): Observable<LockedStorage>
  open(output: Output, context: SinkContext): Sink
  /** Stores a document about the run itself, such as its report. */
  storeDocument(name: string, document: unknown): Observable<void>
  /**
   * Reads the days with a session that the stored files show, ascending; absent if it cannot list its files.
   */
  readSessionDays?(evidence: SessionEvidence): Observable<readonly Day[]>
  /**
   * Renames a stored file over another one, if it exists: its name belongs to another company now. Without
   * it, an answer about that company is compared with this file.
   */
  move?(from: string, to: string): Observable<void>
  /** Adds an ended run to the history of runs; absent if the storage has none. */
  logRun?(entry: RunLogEntry): Observable<void>
}

/**
 * What passes through the sinks: the outcome of an item, and the files written for it so far, each with its
 * size in bytes.
 */
export interface SinkItem {
  readonly outcome: ItemOutcome
  readonly files: Readonly<Record<string, number>>
}

/** The properties of a stream that its journal depends on (`toJournalFacts`). */
export interface JournalFacts {
  readonly stream: string
  /**
   * Whether lines contain the rows: if the output is one file for all items, or other streams need the rows.
   */
  readonly carriesRows: boolean
  /** Whether `findStored` returns the rows: if other streams depend on this one. */
  readonly offersRows: boolean
  /** Whether an unfinished run stored its items before they were published: nothing is taken over then. */
  readonly isOutdated?: boolean
  readonly sortBy?: SortOrder
}

/** A record of an earlier file that stays, and the rank of its item. */
export interface CarriedRecord {
  readonly rank: number
  readonly record: Row
}

/**
 * The stored items of a stream. A line is written only after the data of its item is on disk, so that an
 * unfinished run can resume. If the output is one file for all items, the journal also holds its records
 * until the stream ends.
 */
export interface Journal {
  /** The stored item of an unfinished run, unless it is outdated. */
  readonly findStored: (item: Item) => SinkItem | undefined
  /**
   * Emits each item once its line is written. A resumed run repeats items that were lost or may lack rows.
   */
  readonly write: MonoTypeOperatorFunction<SinkItem>
  /** Carries records of the previous file over to the new one. Emits each once it is written. */
  readonly carryOver: MonoTypeOperatorFunction<CarriedRecord>
  /**
   * The written and carried records as JSON text or its bytes, in the order of the output file, separated by
   * a comma and a line end. A later line replaces the earlier records of an item. Those of an unfinished run
   * are read like the others; `findStored` noted their ranks. Call it once: it releases the records, so that
   * a stream that has ended holds no memory.
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

/**
 * The stored record of a run until it is complete. Its journals hold the master list and every stored item.
 */
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
  /**
   * When the run ended, epoch milliseconds, if it ended with failed items that the same command may still
   * fetch.
   */
  readonly endedAt?: number
}

/** The stored record of a run that has ended, complete or with items missing, until the next run begins. */
export interface EndedRun extends RunRecord {
  readonly report: RunReport
}

/** What a run requests from the storage when it opens a session. */
export interface SessionRequest {
  /**
   * Folders of the outputs, relative to the output folder; temporary files of interrupted writes in them are
   * deleted.
   */
  readonly folders: readonly string[]
  /** The streams of the run, to open their journals. */
  readonly streams: readonly JournalFacts[]
  /** The outputs of the run, relative to the output folder; `*` represents the name of an item. */
  readonly outputs: readonly string[]
  /**
   * The session in which the run is made, as far as holidays are known; of a simulated market, that of
   * `asOf`.
   */
  readonly session: Day
  /** What the history keeps of the run; absent if it is switched off. */
  readonly history?: HistoryRequest
}

/** What earlier runs left in a storage; nothing in one that cannot resume runs. */
export interface EarlierRuns {
  /** The run that did not finish. */
  readonly unfinished?: RunRecord | undefined
  /** A run of a part of the unfinished one that did not finish either. */
  readonly unfinishedPart?: RunRecord | undefined
  /** The run that left the storage complete. */
  readonly complete?: EndedRun | undefined
  /** The last complete run that fetched only a part of the complete one again. */
  readonly completePart?: EndedRun | undefined
  /** The last run of everything while something of it is missing. */
  readonly incomplete?: EndedRun | undefined
  /** Finds a file that has changed since one of these runs ended. Emits once: its path, or `undefined`. */
  readonly findChangedFile?: (ended: EndedRun) => Observable<string | undefined>
}

/** How a run begins after those before it. */
export interface SessionChoice {
  /** The record of the run: a new one, or that of the unfinished run or part that it resumes. */
  readonly record: RunRecord
  readonly isContinued: boolean
  /** Whether it is a part of the run of everything that ended last. */
  readonly isPartOfEnded: boolean
  /** Whether it is a part of the unfinished run, which takes over its journals; both can be resumed. */
  readonly isPartOfUnfinished: boolean
  /** Whether the outputs from before the earlier run stay those with which changes are compared. */
  readonly keepsPrevious: boolean
  /** The unfinished run that it resumes or replaces. */
  readonly unfinished: RunRecord | undefined
}

/** A storage that is locked for one run. */
export interface LockedStorage extends EarlierRuns {
  /**
   * Begins or resumes the run; emits once. Call it at most once. `request`: the one with which it was opened,
   * with what is known since.
   */
  readonly begin: (choice: SessionChoice, request?: SessionRequest) => Observable<Session>
  /** Releases the storage for another run, without a session; absent if it has no lock. */
  readonly release?: () => void
}

/** The storage, opened for one run. */
export interface Session {
  readonly record: RunRecord
  /** Whether it resumes an unfinished run. */
  readonly isContinued: boolean
  /** What the report should say of the storage. */
  readonly notes?: readonly string[]
  /** The drift that the resumed run had found. */
  readonly drift?: readonly Drift[]
  /**
   * Stores the drift found so far beside the journals, until the run ends for good. Absent if the storage
   * cannot resume runs.
   */
  readonly saveDrift?: (found: readonly Drift[]) => void
  /** The journal of each stream, with the items of the unfinished run. */
  readonly journals: ReadonlyMap<string, Journal>
  /**
   * Called once, before anything is stored. A new run changes nothing until then, so that a rejected command
   * leaves the folder as it was. Emits once: a warning, or `undefined`. Absent if there is nothing to change.
   */
  readonly commit?: () => Observable<string | undefined>
  /**
   * Adds what the run left to the history. Called before the run ends, so that a kill in between repeats it.
   * Emits once: a warning, or `undefined`. Absent if the storage has no history, or if it is switched off.
   */
  readonly keepHistory?: (report: RunReport) => Observable<string | undefined>
  /**
   * Ends a run whose failed items may succeed later: record and journals stay, so that the same command
   * requests only those items. Absent if the storage cannot resume runs.
   */
  readonly keepForResume?: (endedAt: number, report: RunReport) => Observable<void>
  /**
   * Ends the run and deletes record and journals. The report is stored, so that a later run can reuse what is
   * complete.
   */
  readonly finish: (report?: RunReport) => Observable<void>
}
