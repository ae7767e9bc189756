import type { Observable, OperatorFunction } from 'rxjs'
import type { Item, Settled } from '../model/outcome.js'
import type { Part } from './activity.js'
import type { StreamDefinition } from './define-stream.js'
import type { Passes } from './passes.js'
import type { Planned } from './plan.js'
import type { Run } from './run.js'

/** The items of one stream, to be worked on. */
export interface Stage {
  readonly stream: StreamDefinition
  /** Items in work at the same time, wherever they are worked on. */
  readonly workers: number
  /** What an unfinished run had in place of an item: it is not worked on again. */
  readonly earlier: (item: Item) => Settled | undefined
  /** Counts items from the beginning of their work, or from when they come back, until they are kept. */
  readonly inWork: Part
  /** Whether one more may be begun, or taken back: a slow disk must not fill the memory. */
  readonly hasRoom: () => boolean
  /** Whether the items were worked on before in this run, and failed for a temporary reason. */
  readonly isSecondPass: boolean
}

/** Works on the items of one run. */
export interface Hands {
  /** Settles every item of a stage once (a second pass is a stage of its own), in any order; completes when all are. Unsubscribing ends what is in work. */
  readonly work: (stage: Stage) => OperatorFunction<Item, Settled>
  /** The run is over and all is stored: nothing need be kept for going on with it. */
  readonly finish: () => Observable<void>
}

/** A run whose items are worked on. */
export interface RunAtWork extends Run {
  readonly hands: Hands
  readonly passes: Passes
  /** Stands around the sinks of a stream, where something must be known before it stores. */
  readonly beforeStoring?: (store: OperatorFunction<Settled, number>) => OperatorFunction<Settled, number>
}

/** Where the items of a run are worked on: in this process, or on others. It reduces and stores nothing. */
export interface Engine {
  /** Takes a run in hand until it is unsubscribed; emits once. Errors with a `UsageError` or a `StorageError` if it cannot. */
  readonly begin: (run: Run, plan: readonly Planned[]) => Observable<Hands>
}
