import type { Observable } from 'rxjs'
import type { RunEvent } from './model/event.js'
import type { Settled } from './model/outcome.js'
import type { RunReport } from './model/report.js'

/** What one run is about; everything else is in the collector's settings. */
export interface RunOptions {
  /** Only these streams, and what they need. */
  readonly only?: readonly string[]
  /** All streams but these. */
  readonly skip?: readonly string[]
  /** Only these stocks; one-file outputs keep the others' records. */
  readonly symbols?: readonly string[]
  /** "Now", epoch milliseconds; the clock's if absent. */
  readonly asOf?: number
}

export interface Collector {
  /** Runs the graph; emits what happens, last `run-finished` with the report, then completes. Unsubscribing aborts. */
  events(options?: RunOptions): Observable<RunEvent>
  /** Runs the graph; emits the report. */
  run(options?: RunOptions): Observable<RunReport>
  /** One stream's items as they settle, stored nowhere. */
  stream(name: string, options?: Omit<RunOptions, 'only' | 'skip'>): Observable<Settled>
}
