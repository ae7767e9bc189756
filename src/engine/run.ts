import type { AsyncSubject, MonoTypeOperatorFunction, Observable, OperatorFunction } from 'rxjs'
import type { AskDependencies } from '../http/ask.js'
import type { DriftWatch } from '../http/drift.js'
import type { RefusalCode } from '../market/refusal-policy.js'
import type { Emit } from '../model/event.js'
import type { Item, ItemOutcome } from '../model/outcome.js'
import type { Redact } from '../model/redact.js'
import type { RunStats } from '../model/run-stats.js'
import type { MarketCalendar } from '../model/trading-day.js'
import type { StreamDefinition, Tools } from './define-stream.js'
import type { PlannedStream } from './plan.js'
import type { SymbolRequest } from './select-items.js'
import type { RunSelection, Session, Storage } from './storage.js'

/** What the runs of a collector share: the limiters of its hosts. */
export type { SharedLimiters } from '../limiter/limiter-registry.js'

/** What the work of an item needs, in this process or in a worker of a fleet. */
export interface ItemContext
  extends Pick<AskDependencies, 'settings' | 'transport' | 'limiters' | 'clock' | 'random'> {
  readonly asOf: number
  /** Default: that of every weekday. */
  readonly calendar?: MarketCalendar
  /** Rules whose refused answers are stored all the same. */
  readonly accept: readonly RefusalCode[]
  readonly storage: Pick<Storage, 'stored'>
  readonly emit: Emit
  readonly drift: DriftWatch
  readonly watch?: ((stream: string) => AskDependencies['watch']) | undefined
  readonly shared: Tools['shared']
  /** Completes, for each stream of this run, when the stream has ended. */
  readonly ended: ReadonlyMap<string, Observable<never>>
}

/** One run: what it does, and what it does it with. Nothing of it outlives the run. */
export interface RunContext extends ItemContext {
  readonly chosen: RunSelection
  /** The symbols as they were given; those of `chosen` are resolved as far as the stored list allows. */
  readonly request: SymbolRequest
  /** The items that each stream offers to dependent streams, once they are known. */
  readonly offered: ReadonlyMap<string, AsyncSubject<readonly Item[]>>
  /** Every listed stock, in the order of the master list; filled once the list is known. */
  readonly listed: Item[]
  readonly plan: readonly PlannedStream[]
  readonly calendar: MarketCalendar
  readonly storage: Storage
  readonly session: Session
  readonly activity: Activity
  readonly stats: RunStats
  readonly redact: Redact
  /**
   * What the outcomes of a stream pass through before they are stored; an unfinished run has stored some of
   * them already.
   */
  readonly beforeStore?:
    | ((stream: string, isStored: (item: Item) => boolean) => MonoTypeOperatorFunction<ItemOutcome>)
    | undefined
  readonly close: () => void
}

/**
 * Items of a stream that may pause or be stored beside those at work: a slow disk must not fill the memory.
 */
export const MAX_BACKLOG = 16

export interface Stage {
  readonly stream: StreamDefinition
  /** Items at work, in all processes together. Those that pause or are being stored come on top. */
  readonly workers: number
  /** The outcome of an item that an unfinished run has stored: such an item is not worked on again. */
  readonly findStored: (item: Item) => ItemOutcome | undefined
  /**
   * Counts items from the beginning of their work, or from the arrival of their outcome, until they are
   * stored.
   */
  readonly activeItems: ActivityCounter
  /** No further item begins. */
  readonly isStopping: () => boolean
  /** Whether the items failed in the first pass of this run for a temporary reason. */
  readonly isSecondPass: boolean
}

/** Works on the items of one run. */
export interface Executor {
  /**
   * Emits one outcome per item of a stage, in any order, then completes. A second pass is a separate stage.
   * Unsubscribing stops active items.
   */
  readonly work: (stage: Stage) => OperatorFunction<Item, ItemOutcome>
  /** The run has ended and everything is stored: the state for resuming it can be removed. */
  readonly finish: () => Observable<void>
}

/** Runs the work of items, in this process or in others. It neither reduces nor stores outcomes. */
export interface Engine {
  /**
   * Emits the executor of a run once; unsubscribing releases it. Errors with a `UsageError` or a
   * `StorageError` if it cannot start.
   */
  readonly begin: (run: RunContext) => Observable<Executor>
}

/** Counts the active items of a run, and says whether it accepts more. */
export interface Activity {
  /** No further item begins. */
  isStopping: boolean
  /** Emits once, as soon as no item is active. */
  readonly idle$: Observable<void>
  readonly createCounter: () => ActivityCounter
}

export interface ActivityCounter {
  readonly active: number
  readonly begin: () => void
  readonly end: () => void
  readonly ended$: Observable<void>
  /** Ends all items that are still active. */
  readonly close: () => void
}
