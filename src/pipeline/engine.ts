import type { Observable, OperatorFunction } from 'rxjs'
import type { Item, ItemOutcome } from '../model/outcome.js'
import type { ActivityCounter } from './activity.js'
import type { StreamDefinition } from './define-stream.js'
import type { Passes } from './passes.js'
import type { PlannedStream } from './plan.js'
import type { RunServices } from './run.js'

/** Items that may wait for a worker or for the sinks, besides those being fetched: a slow disk must not fill the memory. */
export const MAX_BACKLOG = 16

/** One pass over the items of a stream. */
export interface Stage {
  readonly stream: StreamDefinition
  /** Maximum number of active items, in all processes together. */
  readonly workers: number
  /** The outcome of an item that an unfinished run has stored: such an item is not worked on again. */
  readonly findStored: (item: Item) => ItemOutcome | undefined
  /** Counts items from the beginning of their work, or from the arrival of their outcome, until they are stored. */
  readonly activeItems: ActivityCounter
  /** Whether one more item may begin, or its outcome be received: a slow disk must not fill the memory. */
  readonly hasRoom: () => boolean
  /** Whether the items failed in the first pass of this run for a temporary reason. */
  readonly isSecondPass: boolean
}

/** Works on the items of one run. */
export interface Executor {
  /**
   * Emits one outcome per item of a stage, in any order, then completes. A second pass is a separate stage. Unsubscribing stops active
   * items.
   */
  readonly work: (stage: Stage) => OperatorFunction<Item, ItemOutcome>
  /** The run has ended and everything is stored: the state for resuming it can be removed. */
  readonly finish: () => Observable<void>
}

/** The services of a run, and what works on its items. */
export interface RunContext extends RunServices {
  readonly executor: Executor
  readonly passes: Passes
  /** Wraps the sinks of a stream, if something must happen before it stores. */
  readonly wrapStore?: (store: OperatorFunction<ItemOutcome, number>) => OperatorFunction<ItemOutcome, number>
}

/** Runs the work of items, in this process or in others. It neither reduces nor stores outcomes. */
export interface Engine {
  /** Emits the executor of a run once; unsubscribing releases it. Errors with a `UsageError` or a `StorageError` if it cannot start. */
  readonly begin: (run: RunServices, plan: readonly PlannedStream[]) => Observable<Executor>
}
