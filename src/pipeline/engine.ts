import { type Observable, type OperatorFunction, of } from 'rxjs'
import type { Item, ItemOutcome } from '../model/outcome.js'
import { mergeMapPool, type WorkerSlot } from '../operators/merge-map-pool.js'
import type { StreamDefinition } from './define-stream.js'
import { createItemWork, oncePerSecondPass } from './item-work.js'
import type { PlannedStream } from './plan.js'
import type { ActivityCounter, RunServices } from './run.js'

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

/** Decides when the streams of a run retry the items that failed for a temporary reason. */
export interface Passes {
  /** Emits once, as soon as a stream may begin its second pass. */
  readonly whenSecondPass: (stream: StreamDefinition) => Observable<void>
  /** Marks the first pass of a stream as finished; also called if the stream fails early. */
  readonly endFirstPass: (stream: StreamDefinition) => void
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

/** Works on all items in this process, `workers` items of a stream at a time. */
export const inProcess: Engine = {
  begin: (run) => {
    const again = { ...run, shared: oncePerSecondPass(run.shared) }
    return of({
      work: ({ stream, workers, findStored, activeItems, hasRoom, isSecondPass }) => {
        const work = createItemWork(stream, isSecondPass ? again : run)
        const workOn = (item: Item, slot: WorkerSlot): Observable<ItemOutcome> => {
          const before = findStored(item)
          if (before !== undefined) return of(before)
          activeItems.begin()
          return work(item, slot)
        }
        return mergeMapPool(workOn, workers, { isFree: hasRoom, freed$: activeItems.ended$, backlog: MAX_BACKLOG })
      },
      finish: () => of(undefined),
    })
  },
}
