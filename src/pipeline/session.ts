import type { Observable } from 'rxjs'
import type { Journal, JournalFacts } from './journal.js'

/** What is kept of a run until it is complete. Its journals hold the master list and everything else that is in place. */
export interface RunRecord {
  readonly run: string
  /** The run's "now", epoch milliseconds; a run that continues keeps it. */
  readonly asOf: number
  /** Digest of the configuration that matters for what is stored. */
  readonly configuration: string
}

export interface Beginning {
  /** Folders that outputs go to, relative to the place of storage; what broken-off writes left in them is swept away. */
  readonly folders: readonly string[]
  /** The streams of the run, whose journals are to be opened. */
  readonly streams: readonly JournalFacts[]
  /** Picks the record to go by: the unfinished run's to continue it, another one to begin anew. */
  readonly choose: (unfinished: RunRecord | undefined) => RunRecord
}

/** A place of storage in the hands of one run. */
export interface Session {
  readonly record: RunRecord
  /** Whether it goes on with an unfinished run. */
  readonly isContinued: boolean
  /** The unfinished run that is given up for this one. */
  readonly givenUp?: string
  /** The journal of each stream, with what an unfinished run noted. */
  readonly journals: ReadonlyMap<string, Journal>
  /** The run is complete: record and journals go. */
  readonly finish: () => Observable<void>
}
