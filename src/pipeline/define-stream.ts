import type { Observable } from 'rxjs'
import type { RefusalCode } from '../market/never-worse.js'
import type { Found, Item } from '../model/outcome.js'
import type { Row } from '../model/row.js'
import type { Settings } from '../model/settings.js'
import type { Ask } from '../provider/ask.js'
import type { AnyEndpoint } from '../provider/endpoint.js'
import type { Output } from './output.js'
import type { Stored } from './storage.js'

/** When a stream runs: first, one after the other; after that side by side; beside those, and only where candles are wanted. */
export type Phase = 'core' | 'enrichment' | 'candles'

/** What a stream's work is handed; nothing else of the run is in its reach. */
export interface Tools {
  readonly ask: Ask
  readonly stored: Stored
  readonly settings: Settings
  /** "Now" of the run, epoch milliseconds. */
  readonly asOf: number
  /** Asks once per run, whoever asks first: later callers get the same answer, or the same error. */
  readonly shared: <T>(key: string, make: () => Observable<T>) => Observable<T>
  /** Completes, without a value, when another stream has ended, well or not; at once if this run has no such stream. The definition must name it. */
  readonly after: (stream: string) => Observable<never>
  /** Whether the run stores answers that this rule refuses (`RunOptions.accept`). */
  readonly accepts: (code: RefusalCode) => boolean
  /** Tells the report something that is no failure. */
  readonly notice: (text: string) => void
}

/** How a stream cuts its work into items, and what it does for one. `R` is the kind of row that it finds. */
export interface Work<R = unknown> {
  /** The stream whose offered items are worked on; without it, the fixed `parts` are. */
  readonly of?: string
  readonly parts: readonly Item[]
  /** The work of one item. Emits exactly once; `file` is the item's first output. */
  readonly each: (item: Item, tools: Tools, file: string) => Observable<Found<R>>
}

/** A collection script, as plain facts: what it asks, how it cuts its work, what it leaves. `R` is the kind of row that it finds. */
export interface StreamDefinition<Name extends string = string, R = unknown> {
  /** As in `--only`, the report and the file name. */
  readonly name: Name
  /** What it collects, in a few words; shown in lists and tables. */
  readonly summary: string
  readonly phase: Phase
  /** Items in work at the same time, if the settings say nothing else. */
  readonly workers: number
  /** Time that one request may take in all. */
  readonly timeoutMs: number
  /** Every call that it makes: their hosts must have an address, and the embedded provider answers them by their samples. */
  readonly endpoints: readonly AnyEndpoint[]
  /** Settings that must be there besides the addresses of its endpoints. */
  readonly requires?: readonly (keyof Settings)[]
  readonly work: Work<R>
  /** Streams that its work may wait for, by `Tools.after`, because it reads what they store. They must not run in a later phase. */
  readonly after?: readonly string[]
  /** The items that it offers to streams which follow it, from the rows that it found. */
  readonly offers?: (rows: readonly Row[], notice: Tools['notice']) => readonly Item[]
  /** What it leaves behind; the first one's file is what its work is told of. */
  readonly outputs: readonly [Output, ...Output[]]
}

/** A stream as it is given, its name and rows known to the compiler: `collector.stream(name)` emits rows of that type. */
export const defineStream = <const Name extends string, R>(definition: StreamDefinition<Name, R>): StreamDefinition<Name, R> => definition
