import {
  catchError,
  defer,
  from,
  map,
  merge,
  mergeMap,
  type Observable,
  of,
  Subject,
  single,
  take,
  tap,
  throwError,
  timer,
} from 'rxjs'
import type { StreamDefinition } from '../engine/define-stream.js'
import { createItemWork, workOnItems } from '../engine/in-process.js'
import { type LimiterRegistry, toHostAddress } from '../limiter/limiter-registry.js'
import { HostClosedError, ThrottledError } from '../model/errors.js'
import type { RunEvent } from '../model/event.js'
import { redactRecord } from '../model/redact.js'
import type { Drift } from '../model/report.js'
import {
  type BlobStore,
  type ItemJobData,
  NO_REQUESTS,
  type RequestCounts,
  storeRows,
  type WorkerOutcome,
} from './blobs.js'
import type { HostBackoff, SharedBackoffs } from './shared-backoffs.js'
import type { WorkerRun } from './worker-run.js'

export interface ItemJobDependencies
  extends Pick<FleetLimiterOptions, 'backoffs' | 'checkStall' | 'pauseQueues'> {
  /** The name of the worker. */
  readonly by: string
  readonly blobs: BlobStore
  /** Includes the requests of requeued items: the next outcome reports them. */
  readonly unreported: Unreported
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
  defer(() => {
    const requeued$ = new Subject<never>()
    const warnings: string[] = []
    const emit = (event: RunEvent) => {
      if (event.type === 'warning') warnings.push(workerRun.redact(event.text))
      const [requests, retries, rateLimited] = unreported.requestCounts
      if (event.type === 'requested') unreported.requestCounts = [requests + 1, retries, rateLimited]
      if (event.type === 'retried') unreported.requestCounts = [requests, retries + 1, rateLimited]
      if (event.type === 'rate-limited') unreported.requestCounts = [requests, retries, rateLimited + 1]
    }
    const limiters = createFleetLimiters({
      ...limiterOptions,
      workerRun,
      requeue: () => requeued$.error(createRequeueError()),
    })
    const toOutcome = (rest: Omit<WorkerOutcome, 'by' | 'requestCounts'>): WorkerOutcome => {
      const { requestCounts } = unreported
      unreported.requestCounts = NO_REQUESTS
      const drift = findNewDrift(stream, workerRun, unreported)
      return {
        by,
        ...redactRecord(rest, workerRun.redact),
        ...(requestCounts !== NO_REQUESTS && { requestCounts }),
        ...(warnings.length > 0 && { warnings }),
        ...(drift && { drift }),
      }
    }
    const shared = work.isSecondPass ? workerRun.sharedInSecondPass : workerRun.shared
    const outcome$ = of(work.item).pipe(
      // BullMQ limits the concurrency.
      workOnItems(createItemWork(stream, { ...workerRun, limiters, emit, shared }), { stream, workers: 1 }),
      single(),
      mergeMap((outcome) => storeRows(stream.name, work, outcome, blobs)),
      map(toOutcome),
    )
    return merge(requeued$, outcome$).pipe(take(1))
  })

/** All drift seen in a stream so far, if it differs from the last report. */
const findNewDrift = (
  { name }: StreamDefinition,
  { drift, redact }: WorkerRun,
  unreported: Unreported,
): readonly Drift[] | undefined => {
  const found = drift.listDrifts().filter(({ stream }) => stream === name)
  const text = JSON.stringify(found)
  if (text === unreported.drift) return undefined
  unreported.drift = text
  return found.map((one) => ({ ...one, field: redact(one.field), example: redact(one.example) }))
}

interface FleetLimiterOptions {
  readonly workerRun: Pick<WorkerRun, 'limiters' | 'settings'>
  readonly backoffs: SharedBackoffs
  /** Called before each request: fails the item if this process was stalled. */
  readonly checkStall: () => void
  /** Pauses the queues whose items send requests to the host. */
  readonly pauseQueues: (backoff: HostBackoff) => Promise<void>
  /** Puts the item back into its queue until the host may be requested again. */
  readonly requeue: () => void
}

/**
 * The limiters of one item on a worker: those of this process, preceded by the back-offs of the whole fleet.
 * If a host backs off or answers 429, the item is requeued without losing an attempt. A request that other
 * items share is sent again after the back-off.
 */
const createFleetLimiters = ({
  workerRun,
  backoffs,
  checkStall,
  pauseQueues,
  requeue,
}: FleetLimiterOptions): LimiterRegistry => ({
  ...workerRun.limiters,
  forEndpoint: (endpoint) => {
    const limiter = workerRun.limiters.forEndpoint(endpoint)
    const address = toHostAddress(workerRun.settings, endpoint.host)
    const retryLater = <T>({ ms, isFinal }: HostBackoff, attempt$: Observable<T>): Observable<T> => {
      if (isFinal)
        return throwError(
          () =>
            new HostClosedError(
              'rate_limit',
              '429: the provider has rate-limited the whole fleet for too long',
            ),
        )
      requeue()
      return timer(Math.ceil(ms)).pipe(mergeMap(() => scheduleOnFleet(attempt$)))
    }
    const scheduleOnFleet = <T>(attempt$: Observable<T>): Observable<T> =>
      defer(() => {
        checkStall()
        const backoff = backoffs.find(address)
        if (backoff.ms > 0) return retryLater(backoff, attempt$)
        return attempt$.pipe(
          tap(() => backoffs.onServed(address, backoff.generation)),
          catchError((error: unknown) => {
            if (!(error instanceof ThrottledError)) return throwError(() => error)
            const { policy } = workerRun.limiters
            return from(backoffs.onRefused(address, backoff.generation, error.retryAfterMs, policy)).pipe(
              mergeMap((next) => {
                if (next.ms <= 0) return throwError(() => error)
                // After a final refusal the queues are not paused: their items fail at once.
                return next.isFinal
                  ? retryLater(next, attempt$)
                  : from(pauseQueues(next)).pipe(mergeMap(() => retryLater(next, attempt$)))
              }),
            )
          }),
        )
      })
    return { ...limiter, around: scheduleOnFleet }
  },
})
