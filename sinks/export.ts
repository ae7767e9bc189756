import type { Observable } from 'rxjs'

/** A table as it was loaded. */
export interface Loaded {
  readonly table: string
  readonly rows: number
  /** Rows of the files that are not among them: a key that came again later, or no day that could be read. */
  readonly leftOut: number
  readonly ms: number
  /** Whether none of its files are there, so that the place keeps what it holds of it. */
  readonly isSkipped: boolean
}

/**
 * Brings the outputs of a folder into a database or files for analysis. What is there afterwards is what the folder holds, however often
 * it is done; until all is in place, it is what was there before. A table of which no file is there is skipped and keeps what it holds:
 * an output that is missing is no output that is empty.
 */
export interface Export {
  /** Where it goes, without secrets. */
  readonly name: string
  /**
   * Loads all tables, upon subscription and in one step; emits each when all are in place. Unsubscribing takes it back. Errors:
   * `UsageError` where a package is missing or the place is none, `StorageError` where it cannot be written, `DamagedFile` for an output
   * that cannot be read.
   */
  write(folder: string): Observable<Loaded>
}
