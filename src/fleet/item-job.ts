import { map, mergeMap, Observable, single } from 'rxjs'
import type { RunEvent } from '../model/event.js'
import { redactRecord } from '../model/redact.js'
import type { Drift } from '../model/report.js'
import { createWorkerSlot } from '../operators/merge-map-pool.js'
import type { StreamDefinition } from '../pipeline/define-stream.js'
import { createItemWork } from '../pipeline/item-work.js'
import type { BlobStore } from './blobs.js'
import { createFleetLimiters, type FleetLimiterOptions } from './fleet-limiters.js'
import { type ItemJobData, NO_REQUESTS, type RequestCounts, storeRows, type WorkerOutcome } from './outcome.js'
import type { WorkerRun } from './worker-run.js'

/** The dependencies of the item jobs of one stream. */
export interface ItemJobDependencies extends Pick<FleetLimiterOptions, 'backoffs' | 'stallDetector' | 'pauseQueues'> {
  /** The name of the worker. */
  readonly by: string
  readonly blobs: BlobStore
  /** Includes the requests of requeued items: the next outcome reports them. */
  readonly unreported: Unreported
  /** Creates the error that puts the job back into its queue. */
  readonly createRequeueError: () => Error
}

/** What a worker has not reported yet for a stream, and the drift that it reported last. */
export interface Unreported {
  requestCounts: RequestCounts
  drift: string
}

export const createUnreported = (): Unreported => ({ requestCounts: NO_REQUESTS, drift: '[]' })

/** Processes one item on a worker. Emits its outcome without secrets, after its rows are stored. */
export const runItemJob = (
  stream: StreamDefinition,
  work: ItemJobData,
  workerRun: WorkerRun,
  { by, blobs, unreported, createRequeueError, ...limiterOptions }: ItemJobDependencies,
): Observable<WorkerOutcome> =>
  new Observable((subscriber) => {
    const warnings: string[] = []
    const emit = (event: RunEvent): void => {
      if (event.type === 'noticed') warnings.push(workerRun.redact(event.text))
      const [requests, retries, rateLimited] = unreported.requestCounts
      if (event.type === 'requested') unreported.requestCounts = [requests + 1, retries, rateLimited]
      if (event.type === 'retried') unreported.requestCounts = [requests, retries + 1, rateLimited]
      if (event.type === 'rate-limited') unreported.requestCounts = [requests, retries, rateLimited + 1]
    }
    const limiters = createFleetLimiters({ ...limiterOptions, workerRun, requeue: () => subscriber.error(createRequeueError()) })
    const outcomeOf = (rest: Omit<WorkerOutcome, 'by' | 'requestCounts'>): WorkerOutcome => {
      const { requestCounts } = unreported
      unreported.requestCounts = NO_REQUESTS
      const drift = findNewDrift(stream, workerRun, unreported)
      return {
        by,
        ...redactRecord(rest, workerRun.redact),
        ...(requestCounts === NO_REQUESTS ? {} : { requestCounts }),
        ...(warnings.length > 0 ? { warnings } : {}),
        ...(drift ? { drift } : {}),
      }
    }
    subscriber.add(
      createItemWork(stream, { ...workerRun, limiters, emit, shared: work.isSecondPass ? workerRun.sharedInSecondPass : workerRun.shared })(
        work.item,
        // BullMQ limits the concurrency.
        createWorkerSlot(),
      )
        .pipe(
          single(),
          mergeMap((settled) => storeRows(stream.name, work, settled, blobs)),
          map(outcomeOf),
        )
        .subscribe(subscriber),
    )
  })

/** All drift seen in a stream so far, if it differs from the last report. */
const findNewDrift = ({ name }: StreamDefinition, { drift, redact }: WorkerRun, unreported: Unreported): readonly Drift[] | undefined => {
  const found = drift.listDrifts().filter(({ stream }) => stream === name)
  const text = JSON.stringify(found)
  if (text === unreported.drift) return undefined
  unreported.drift = text
  return found.map((one) => ({ ...one, field: redact(one.field), example: redact(one.example) }))
}
