import type { Observable } from 'rxjs'
import type { Item, Settled } from '../model/outcome.js'
import type { Output } from './output.js'

/** What a sink did; a sink emits exactly one of these, when everything it was given is in place. */
export interface SinkReport {
  readonly files: number
  readonly bytes: number
}

/** Stores what a stream settled. Errors only when storing itself is impossible (`StorageError`). */
export type Sink = (settled$: Observable<Settled>) => Observable<SinkReport>

/** The last whole line of a stored file; one without its line end does not count. */
export interface Tail {
  /** The file's first line, without its end. */
  readonly header: string
  readonly line: string
  /** The instant as of which the file was written, epoch milliseconds. */
  readonly asOf: number
}

/** What earlier runs left. Paths are relative to the output folder. Each emits once. */
export interface Stored {
  exists(file: string): Observable<boolean>
  tail(file: string): Observable<Tail | undefined>
  /** A JSON document; nothing if there is no such file. Errors with `DamagedFile` if it is none. */
  document(file: string): Observable<unknown>
}

/** What a sink needs to know of the run. */
export interface SinkContext {
  readonly exchange: string
  readonly asOf: number
  /** Every listed stock, in the master list's order, whether this run asks for it or not; known when a sink ends. */
  readonly listed: readonly Item[]
  /** Tells that a file is in place, for the report of a run that is interrupted. */
  readonly wrote: (bytes: number) => void
}

/** A place that outputs go to: a folder, memory, or one of your own. */
export interface Storage {
  readonly stored: Stored
  open(output: Output, context: SinkContext): Sink
  /** Keeps a document about the run itself, such as its report. */
  keep(name: string, document: unknown): Observable<void>
}
