import type { Observable } from 'rxjs'
import type { Found, Item } from '../model/outcome.js'
import type { Row } from '../model/row.js'
import type { Settings } from '../model/settings.js'
import type { Ask } from '../provider/ask.js'
import type { AnyEndpoint } from '../provider/endpoint.js'
import type { Output } from './output.js'
import type { Stored } from './storage.js'

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
  /** Completes, without a value, when another stream has ended, well or not; at once if this run has no such stream. It must not run in a later phase. */
  readonly after: (stream: string) => Observable<never>
  /** Whether lists may hold much less than they held before. */
  readonly acceptShrink: boolean
  /** Tells the report something that is no failure. */
  readonly notice: (text: string) => void
}

/** How a stream cuts its work into items, and what it does for one. */
export interface Work {
  /** The stream whose offered items are worked on; without it, the fixed `parts` are. */
  readonly of?: string
  readonly parts: readonly Item[]
  /** The work of one item. Emits exactly once; `file` is the item's first output. */
  readonly each: (item: Item, tools: Tools, file: string) => Observable<Found>
}

/** A collection script. Adding one is a file like this in `streams/` and a line in `streams/index.ts`. */
export interface StreamDefinition {
  /** As in `--only`, the report and the file name. */
  readonly name: string
  readonly summary: string
  readonly phase: Phase
  /** Items in work at the same time, if the settings say nothing else. */
  readonly workers: number
  /** Time that one request may take in all. */
  readonly timeoutMs: number
  readonly endpoints: readonly AnyEndpoint[]
  /** Settings that must be there besides the addresses of its endpoints. */
  readonly requires?: readonly (keyof Settings)[]
  readonly work: Work
  /** The items that it offers to streams which follow it, from the rows that it found. */
  readonly offers?: (rows: readonly Row[], notice: Tools['notice']) => readonly Item[]
  readonly outputs: readonly [Output, ...Output[]]
}

export const defineStream = (definition: StreamDefinition): StreamDefinition => definition
