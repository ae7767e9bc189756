import type { Observable, OperatorFunction } from 'rxjs'
import type { Item, Settled } from '../model/outcome.js'
import type { Part } from './activity.js'
import type { StreamDefinition } from './define-stream.js'
import type { Passes } from './passes.js'
import type { Planned } from './plan.js'
import type { Run } from './run.js'

/** One pass over the items of a stream. */
export interface Stage {
  readonly stream: StreamDefinition
  /** Maximum number of active items, in all processes together. */
  readonly workers: number
  /** The outcome of an item that an unfinished run has stored: such an item is not worked on again. */
  readonly earlier: (item: Item) => Settled | undefined
  /** Counts items from the beginning of their work, or from the arrival of their outcome, until they are stored. */
  readonly inWork: Part
  /** Whether one more item may begin, or its outcome be received: a slow disk must not fill the memory. */
  readonly hasRoom: () => boolean
  /** Whether the items failed in the first pass of this run for a temporary reason. */
  readonly isSecondPass: boolean
}

/** Works on the items of one run. */
export interface Hands {
  /**
   * Emits one outcome per item of a stage, in any order, then completes. A second pass is a separate stage. Unsubscribing stops active
   * items.
   */
  readonly work: (stage: Stage) => OperatorFunction<Item, Settled>
  /** The run has ended and everything is stored: the state for resuming it can be removed. */
  readonly finish: () => Observable<void>
}

/** The services of a run, and what works on its items. */
export interface RunAtWork extends Run {
  readonly hands: Hands
  readonly passes: Passes
  /** Wraps the sinks of a stream, if something must happen before it stores. */
  readonly beforeStoring?: (store: OperatorFunction<Settled, number>) => OperatorFunction<Settled, number>
}

/** Runs the work of items, in this process or in others. It neither reduces nor stores outcomes. */
export interface Engine {
  /** Emits the executor of a run once; unsubscribing releases it. Errors with a `UsageError` or a `StorageError` if it cannot start. */
  readonly begin: (run: Run, plan: readonly Planned[]) => Observable<Hands>
}
