import type { Observable } from 'rxjs'
import type { StreamDefinition } from '../../engine/define-stream.js'
import type { Day } from '../../model/trading-day.js'

/** The result of loading one table. */
export interface LoadedTable {
  readonly table: string
  readonly rows: number
  /** Rows of the files that were not loaded: their key came again later, or their day is unreadable. */
  readonly leftOut: number
  readonly ms: number
  /** Whether the table has no files: then the target keeps its old content. */
  readonly isSkipped: boolean
  /** Of the lake: why the table has no file, though it can be computed; absent if it has one. */
  readonly missing?: string
}

/** Options of every export. */
export interface ExportOptions {
  /** The streams whose tables are loaded, such as `streams` of `scripstream/streams`. */
  readonly streams: readonly StreamDefinition[]
  /** The names of tables and views. Default: all. */
  readonly tables?: readonly string[] | undefined
  /** Tables are loaded as they stood on this day. Default: now. */
  readonly asOf?: Day | undefined
  /**
   * Gets what is left out of the history because it is damaged, and what a target cannot have. Without it,
   * damage is a `DamagedFileError`.
   */
  readonly warn?: ((text: string) => void) | undefined
}

/**
 * Loads the outputs of a folder, and what is derived from them, into a database or into files. Loading is
 * idempotent and atomic: the target has either its old content or that of the folder. A table without files
 * is skipped and keeps its content: a missing output is not an empty one.
 */
export interface Export {
  /** The target, without secrets. */
  readonly name: string
  /**
   * Loads all tables in one transaction, on subscription; emits each table after the commit. Unsubscribing
   * rolls back. Errors: `UsageError` if a package is missing or the target is invalid, `StorageError` if it
   * cannot be written, `DamagedFileError` for an unreadable output.
   */
  write(folder: string): Observable<LoadedTable>
}
