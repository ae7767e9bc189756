import { map, mergeMap, Observable, single } from 'rxjs'
import type { RunEvent } from '../model/event.js'
import { withoutSecrets } from '../model/redact.js'
import type { Drift } from '../model/report.js'
import { createSlot } from '../operators/slot.js'
import type { StreamDefinition } from '../pipeline/define-stream.js'
import { itemWork } from '../pipeline/item-work.js'
import type { Blobs } from './blobs.js'
import { type FleetGatesOptions, fleetGates } from './fleet-gates.js'
import { type Asked, NOTHING_ASKED, type Outcome, putAway, type Work } from './outcome.js'
import type { WorkerSite } from './site.js'

/** The dependencies of the item jobs of one stream. */
export interface JobTools extends Pick<FleetGatesOptions, 'holds' | 'pulse' | 'pause'> {
  /** The name of the worker. */
  readonly by: string
  readonly blobs: Blobs
  /** Includes the requests of requeued items: the next outcome reports them. */
  readonly told: Told
  /** Creates the error that puts the job back into its queue. */
  readonly givenBack: () => Error
}

/** What a worker has not reported yet for a stream, and the drift that it reported last. */
export interface Told {
  asked: Asked
  drift: string
}

export const nothingTold = (): Told => ({ asked: NOTHING_ASKED, drift: '[]' })

/** Processes one item on a worker. Emits its outcome without secrets, after its rows are stored. */
export const itemJob = (
  stream: StreamDefinition,
  work: Work,
  site: WorkerSite,
  { by, blobs, told, givenBack, ...gate }: JobTools,
): Observable<Outcome> =>
  new Observable((subscriber) => {
    const warnings: string[] = []
    const emit = (event: RunEvent): void => {
      if (event.type === 'noticed') warnings.push(site.redact(event.text))
      const [requests, retries, rateLimited] = told.asked
      if (event.type === 'requested') told.asked = [requests + 1, retries, rateLimited]
      if (event.type === 'retried') told.asked = [requests, retries + 1, rateLimited]
      if (event.type === 'rate-limited') told.asked = [requests, retries, rateLimited + 1]
    }
    const gates = fleetGates({ ...gate, site, requeue: () => subscriber.error(givenBack()) })
    const outcomeOf = (rest: Omit<Outcome, 'by' | 'asked'>): Outcome => {
      const { asked } = told
      told.asked = NOTHING_ASKED
      const drift = driftOf(stream, site, told)
      return {
        by,
        ...withoutSecrets(rest, site.redact),
        ...(asked === NOTHING_ASKED ? {} : { asked }),
        ...(warnings.length > 0 ? { notices: warnings } : {}),
        ...(drift ? { drift } : {}),
      }
    }
    subscriber.add(
      itemWork(stream, { ...site, gates, emit, shared: work.isSecondPass ? site.sharedAgain : site.shared })(work.item, ownSlot())
        .pipe(
          single(),
          mergeMap((settled) => putAway(stream.name, work, settled, blobs)),
          map(outcomeOf),
        )
        .subscribe(subscriber),
    )
  })

/** BullMQ limits the concurrency, so each item has a slot of its own. */
const ownSlot = () =>
  createSlot({
    wait: (begin) => {
      begin()
      return () => undefined
    },
    free: () => undefined,
  })

/** All drift seen in a stream so far, if it differs from the last report. */
const driftOf = ({ name }: StreamDefinition, { drift, redact }: WorkerSite, told: Told): readonly Drift[] | undefined => {
  const found = drift.found().filter(({ stream }) => stream === name)
  const text = JSON.stringify(found)
  if (text === told.drift) return undefined
  told.drift = text
  return found.map((one) => ({ ...one, field: redact(one.field), example: redact(one.example) }))
}
