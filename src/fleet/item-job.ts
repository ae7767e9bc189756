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
export interface JobTools extends Pick<FleetGatesOptions, 'backoffs' | 'stallDetector' | 'pauseQueues'> {
  /** The name of the worker. */
  readonly by: string
  readonly blobs: Blobs
  /** Includes the requests of requeued items: the next outcome reports them. */
  readonly unreported: Told
  /** Creates the error that puts the job back into its queue. */
  readonly createRequeueError: () => Error
}

/** What a worker has not reported yet for a stream, and the drift that it reported last. */
export interface Told {
  requestCounts: Asked
  drift: string
}

export const nothingTold = (): Told => ({ requestCounts: NOTHING_ASKED, drift: '[]' })

/** Processes one item on a worker. Emits its outcome without secrets, after its rows are stored. */
export const itemJob = (
  stream: StreamDefinition,
  work: Work,
  workerRun: WorkerSite,
  { by, blobs, unreported, createRequeueError, ...limiterOptions }: JobTools,
): Observable<Outcome> =>
  new Observable((subscriber) => {
    const warnings: string[] = []
    const emit = (event: RunEvent): void => {
      if (event.type === 'noticed') warnings.push(workerRun.redact(event.text))
      const [requests, retries, rateLimited] = unreported.requestCounts
      if (event.type === 'requested') unreported.requestCounts = [requests + 1, retries, rateLimited]
      if (event.type === 'retried') unreported.requestCounts = [requests, retries + 1, rateLimited]
      if (event.type === 'rate-limited') unreported.requestCounts = [requests, retries, rateLimited + 1]
    }
    const gates = fleetGates({ ...limiterOptions, workerRun, requeue: () => subscriber.error(createRequeueError()) })
    const outcomeOf = (rest: Omit<Outcome, 'by' | 'requestCounts'>): Outcome => {
      const { requestCounts } = unreported
      unreported.requestCounts = NOTHING_ASKED
      const drift = driftOf(stream, workerRun, unreported)
      return {
        by,
        ...withoutSecrets(rest, workerRun.redact),
        ...(requestCounts === NOTHING_ASKED ? {} : { requestCounts }),
        ...(warnings.length > 0 ? { warnings } : {}),
        ...(drift ? { drift } : {}),
      }
    }
    subscriber.add(
      itemWork(stream, { ...workerRun, gates, emit, shared: work.isSecondPass ? workerRun.sharedAgain : workerRun.shared })(
        work.item,
        ownSlot(),
      )
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
const driftOf = ({ name }: StreamDefinition, { drift, redact }: WorkerSite, unreported: Told): readonly Drift[] | undefined => {
  const found = drift.found().filter(({ stream }) => stream === name)
  const text = JSON.stringify(found)
  if (text === unreported.drift) return undefined
  unreported.drift = text
  return found.map((one) => ({ ...one, field: redact(one.field), example: redact(one.example) }))
}
