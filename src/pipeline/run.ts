import { type AsyncSubject, BehaviorSubject, filter, map, type Observable, Subject, take } from 'rxjs'
import type { RequestWatch } from '../http/decode-reply.js'
import type { DriftWatch } from '../http/drift.js'
import type { Transport } from '../http/transport.js'
import type { LimiterRegistry } from '../limiter/limiter-registry.js'
import type { RefusalCode } from '../market/refusal-policy.js'
import type { Emit } from '../model/event.js'
import type { Item } from '../model/outcome.js'
import type { Settings } from '../model/settings.js'
import type { Day } from '../model/trading-day.js'
import type { Tools } from './define-stream.js'
import type { SymbolRequest } from './known-stocks.js'
import type { RunSelection, Session } from './session.js'
import type { Storage } from './storage.js'

/** The services and settings of one run; nothing of it outlives the run. */
export interface RunServices {
  readonly settings: Settings
  readonly asOf: number
  /** Rules whose refused answers are stored all the same. */
  readonly accept: readonly RefusalCode[]
  /** Weekdays without a session. */
  readonly holidays: ReadonlySet<Day>
  /** The selected streams and items, if not all. */
  readonly chosen: RunSelection
  /** The symbols as they were given; those of `chosen` are resolved as far as the stored list allows. */
  readonly request: SymbolRequest
  readonly storage: Storage
  /** The storage session of this run. */
  readonly session: Session
  readonly activity: Activity
  readonly transport: Transport
  readonly limiters: LimiterRegistry
  readonly emit: Emit
  /** Watches the shapes of answers. */
  readonly drift: DriftWatch
  /** Observes the requests of a stream, for telemetry. */
  readonly watch?: ((stream: string) => RequestWatch) | undefined
  /** The current instant, epoch milliseconds. */
  readonly clock: () => number
  readonly random: () => number
  readonly shared: Tools['shared']
  /** The items that each stream offers to dependent streams, once they are known. */
  readonly offered: ReadonlyMap<string, AsyncSubject<readonly Item[]>>
  /** Completes, for each stream of this run, when the stream has ended. */
  readonly ended: ReadonlyMap<string, Observable<never>>
  /** Every listed stock, in the order of the master list; filled once the list is known. */
  readonly listed: Item[]
}

/** Counts the active items of a run, and reports whether the run accepts more. */
export type Activity = ReturnType<typeof createActivity>

export type ActivityCounter = ReturnType<Activity['createCounter']>

export const createActivity = () => {
  const active$ = new BehaviorSubject(0)
  let isStopping = false
  const add = (change: number): void => active$.next(active$.value + change)
  return {
    isStopping: (): boolean => isStopping,
    /** Lets no further item begin. */
    stop: (): void => {
      isStopping = true
    },
    /** A separate counter for one part of the run. */
    createCounter: () => {
      const ended$ = new Subject<void>()
      let own = 0
      const count = (change: number): void => {
        own += change
        add(change)
      }
      const end = (): void => {
        count(-1)
        ended$.next()
      }
      return {
        begin: () => count(1),
        end,
        count: () => own,
        /** Emits whenever an item ends. */
        ended$: ended$ as Observable<void>,
        /** Ends all items that are still active. */
        close: () => count(-own),
      }
    },
    /** Emits once, as soon as no item is active. */
    idle$: active$.pipe(
      filter((active) => active === 0),
      take(1),
      map(() => undefined),
    ),
  }
}
