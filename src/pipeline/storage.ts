import type { MonoTypeOperatorFunction, Observable } from 'rxjs'
import type { RefusalCode } from '../market/refusal-policy.js'
import type { SessionEvidence } from '../model/history.js'
import type { Item } from '../model/outcome.js'
import type { RunLogEntry } from '../model/run-log.js'
import { type Stored, toStatePath } from '../model/stored.js'
import type { Day } from '../model/trading-day.js'
import type { Output } from './output.js'
import type { Journal, Session, SessionRequest, SinkItem } from './session.js'

export { REPORT_FILE, STATE_FOLDER, type Stored, type Tail, toStatePath } from '../model/stored.js'

/** The outputs before the last run. */
export const PREVIOUS_FOLDER = toStatePath('previous')

/**
 * Stores the outcomes of a stream. Emits each item again, with the files that it added, once the data of that item is on disk. Errors only
 * if storing itself is impossible (`StorageError`).
 */
export type Sink = MonoTypeOperatorFunction<SinkItem>

/** The parts of a run that a sink uses. */
export interface SinkContext {
  /** The name of the stream. */
  readonly stream: string
  readonly exchange: string
  readonly asOf: number
  /** Every listed stock of the stream, in the order of the master list, even if this run does not request it; known when its first item ends. */
  readonly listed: readonly Item[]
  /** Whether the run accepts answers that this rule refuses. */
  readonly accepts: (code: RefusalCode) => boolean
  /** Holds the records of a one-file output until the stream ends. */
  readonly journal: Journal
  /** Reports a written file. */
  readonly wrote: (bytes: number) => void
  /** Adds a warning to the report. */
  readonly warn: (text: string) => void
  /** Reports that stored data was kept because an answer looks wrong by this rule. The stream ends as partial. */
  readonly refuse: (code: RefusalCode, text: string) => void
}

/** The destination of outputs: a folder, memory, or your own implementation. */
export interface Storage {
  readonly stored: Stored
  /**
   * Opens a session for one run, and emits it once; unsubscribing closes it. Errors with a `StorageError` that names the holder if another
   * run has the storage locked.
   */
  openSession(request: SessionRequest): Observable<Session>
  open(output: Output, context: SinkContext): Sink
  /** Stores a document about the run itself, such as its report. */
  storeDocument(name: string, document: unknown): Observable<void>
  /** Reads the days with a session that the stored files show, ascending; absent if it cannot list its files. */
  readSessionDays?(evidence: SessionEvidence): Observable<readonly Day[]>
  /** Adds an ended run to the history of runs; absent if the storage has none. */
  logRun?(entry: RunLogEntry): Observable<void>
}
