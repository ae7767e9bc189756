import type { Observable } from 'rxjs'
import type { Ask } from '../http/ask.js'
import type { AnyEndpoint } from '../http/endpoint.js'
import type { RefusalCode } from '../market/never-worse.js'
import type { Item, ItemResult } from '../model/outcome.js'
import type { Row } from '../model/row.js'
import type { Settings } from '../model/settings.js'
import type { Output } from './output.js'
import type { Stored } from './storage.js'

/** When a stream runs: `core` first and in sequence, then `enrichment` in parallel, with `candles` beside it if `fetchOhlcv` is on. */
export type Phase = 'core' | 'enrichment' | 'candles'

/** Everything of a run that the work of a stream can use. */
export interface Tools {
  readonly ask: Ask
  readonly stored: Stored
  readonly settings: Settings
  /** "Now" of the run, epoch milliseconds. */
  readonly asOf: number
  /** Runs `make` once per run and key: later callers get the same answer or the same error. */
  readonly shared: <T>(key: string, make: () => Observable<T>) => Observable<T>
  /** Completes when another stream has ended, even if it failed; at once if this run lacks it. The definition's `after` must name it. */
  readonly after: (stream: string) => Observable<never>
  /** Whether the run accepts answers that this rule refuses (`RunOptions.accept`). */
  readonly accepts: (code: RefusalCode) => boolean
  /** Adds a warning to the report. */
  readonly warn: (text: string) => void
}

/** How a stream divides its work into items, and the work for one item. `R` is the type of its rows. */
export interface Work<R = unknown> {
  /** The stream whose offered items are the items of this one; without it, `parts` are. */
  readonly of?: string
  readonly parts: readonly Item[]
  /** Selects some of the items of `of`; without it, all. */
  readonly where?: (item: Item) => boolean
  /** The work of one item. Emits exactly once; `file` is the item's first output. */
  readonly each: (item: Item, tools: Tools, file: string) => Observable<ItemResult<R>>
}

/** A collection script as data: its endpoints, its items and its outputs. `R` is the type of its rows. */
export interface StreamDefinition<Name extends string = string, R = unknown> {
  /** The name in `--only`, in the report and of the file. */
  readonly name: Name
  /** What it collects, in a few words, for lists and tables. */
  readonly summary: string
  readonly phase: Phase
  /** A built-in stream's place in lists and reports, and in the sequence of the core phase. Without one it comes last. */
  readonly position?: number
  /** Items that are active at the same time, unless the settings override it. */
  readonly workers: number
  /** Total time limit of one request. */
  readonly timeoutMs: number
  /** Every endpoint that it calls: their hosts need an address, and the simulator answers with their samples. */
  readonly endpoints: readonly AnyEndpoint[]
  /** Required settings, besides the addresses of its endpoints. */
  readonly requires?: readonly (keyof Settings)[]
  readonly work: Work<R>
  /** Streams that its work may wait for with `Tools.after`, because it reads their files. They must not run in a later phase. */
  readonly after?: readonly string[]
  /** Converts its rows to items for the streams that depend on it. */
  readonly offers?: (rows: readonly Row[], warn: Tools['warn']) => readonly Item[]
  /** Its outputs. `Work.each` receives the file of the first one. */
  readonly outputs: readonly [Output, ...Output[]]
}

/** Returns the definition, with its name and rows known to the compiler: `collector.stream(name)` emits rows of that type. */
export const defineStream = <const Name extends string, R>(definition: StreamDefinition<Name, R>): StreamDefinition<Name, R> => definition
