import type { MonoTypeOperatorFunction, Observable } from 'rxjs'
import type { RefusalCode } from '../market/never-worse.js'
import type { Item } from '../model/outcome.js'
import type { Journal, Kept } from './journal.js'
import type { Output } from './output.js'
import type { Beginning, Session } from './session.js'

/**
 * Stores what a stream settled. Emits each item again, with the files that it added, once that item's data is safely in place; completes
 * when all is. Errors only when storing itself is impossible (`StorageError`).
 */
export type Sink = MonoTypeOperatorFunction<Kept>

/** What a stored file of lines begins and ends with. */
export interface Tail {
  /** The file's first line, without its end. */
  readonly header: string
  /** The last whole lines after it, two at most, the newest last; one without its line end does not count. */
  readonly lines: readonly string[]
  /** The instant as of which the file was written, epoch milliseconds. */
  readonly asOf: number
}

/** What earlier runs left. Paths are relative to the output folder. Each emits once. */
export interface Stored {
  exists(file: string): Observable<boolean>
  /** Nothing if there is no such file. */
  tail(file: string): Observable<Tail | undefined>
  /** The whole text; nothing if there is no such file. */
  text(file: string): Observable<string | undefined>
  /** A JSON document; nothing if there is no such file. Errors with `DamagedFile` if it is none. */
  document(file: string): Observable<unknown>
}

/** What a sink needs to know of the run. */
export interface SinkContext {
  readonly exchange: string
  readonly asOf: number
  /** Every listed stock, in the master list's order, whether this run asks for it or not; known when a sink ends. */
  readonly listed: readonly Item[]
  /** Whether the run stores what this rule refuses. */
  readonly accepts: (code: RefusalCode) => boolean
  /** Where the records of an output that is one file lie until the stream ends. */
  readonly journal: Journal
  /** Tells the report that a file is in place. */
  readonly wrote: (bytes: number) => void
  /** Tells the report something that is no failure. */
  readonly notice: (text: string) => void
}

/** A place that outputs go to: a folder, memory, or one of your own. */
export interface Storage {
  readonly stored: Stored
  /**
   * Puts itself into the hands of one run, until it is unsubscribed; emits once. Errors with a `StorageError` that says who holds it
   * while another run does.
   */
  begin(beginning: Beginning): Observable<Session>
  open(output: Output, context: SinkContext): Sink
  /** Keeps a document about the run itself, such as its report. */
  keep(name: string, document: unknown): Observable<void>
}
