import type { AsyncSubject, Observable } from 'rxjs'
import type { RefusalCode } from '../market/never-worse.js'
import type { Emit } from '../model/event.js'
import type { Item } from '../model/outcome.js'
import type { Settings } from '../model/settings.js'
import type { DriftWatch } from '../provider/drift.js'
import type { Gates } from '../provider/gate/gates.js'
import type { RequestEnd } from '../provider/reading.js'
import type { Transport } from '../provider/transport.js'
import type { Activity } from './activity.js'
import type { Tools } from './define-stream.js'
import type { Chosen, Session } from './session.js'
import type { Storage } from './storage.js'

/** Everything that one run has and hands down; nothing of it outlives the run. */
export interface Run {
  readonly settings: Settings
  readonly asOf: number
  /** Rules whose refusals are stored all the same. */
  readonly accept: readonly RefusalCode[]
  /** What the run is about, where that is not everything. */
  readonly chosen: Chosen
  readonly storage: Storage
  /** The place of storage, as long as it is this run's. */
  readonly session: Session
  readonly activity: Activity
  readonly transport: Transport
  readonly gates: Gates
  readonly emit: Emit
  /** Watches the shapes of answers. */
  readonly drift: DriftWatch
  /** Hears how the requests of a stream ended, if anyone wants to know. */
  readonly watch?: ((stream: string) => (end: RequestEnd) => void) | undefined
  /** The current instant, epoch milliseconds. */
  readonly clock: () => number
  readonly random: () => number
  readonly shared: Tools['shared']
  /** Items that a stream offers to those that follow it, once it has found them. */
  readonly offered: ReadonlyMap<string, AsyncSubject<readonly Item[]>>
  /** Completes for each stream of this run when it has ended. */
  readonly ended: ReadonlyMap<string, Observable<never>>
  /** Every listed stock, in the master list's order; filled when the list is known. */
  readonly listed: Item[]
}
