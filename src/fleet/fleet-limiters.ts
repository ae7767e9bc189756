import { catchError, defer, from, mergeMap, type Observable, tap, throwError, timer } from 'rxjs'
import type { ScheduleOptions } from '../limiter/host-limiter.js'
import { type LimiterRegistry, toHostAddress } from '../limiter/limiter-registry.js'
import { HostClosedError, ThrottledError } from '../model/errors.js'
import type { HostBackoff, SharedBackoffs } from './shared-backoffs.js'
import type { StallDetector } from './stall-detector.js'
import type { WorkerRun } from './worker-run.js'

export interface FleetLimiterOptions {
  readonly workerRun: Pick<WorkerRun, 'limiters' | 'settings'>
  readonly backoffs: SharedBackoffs
  readonly stallDetector: Pick<StallDetector, 'check'>
  /** Pauses the queues whose items send requests to the host. */
  readonly pauseQueues: (backoff: HostBackoff) => Promise<void>
  /** Puts the item back into its queue until the host may be requested again. */
  readonly requeue: () => void
}

/**
 * The limiters of one item on a worker: those of this process, preceded by the back-offs of the whole fleet. If a host backs off or answers
 * 429, the item is requeued without losing an attempt. A request that other items share is sent again after the back-off.
 */
export const createFleetLimiters = ({
  workerRun,
  backoffs,
  stallDetector,
  pauseQueues,
  requeue,
}: FleetLimiterOptions): LimiterRegistry => ({
  warnings: workerRun.limiters.warnings,
  link: workerRun.limiters.link,
  forEndpoint: (endpoint) => {
    const limiter = workerRun.limiters.forEndpoint(endpoint)
    const address = toHostAddress(workerRun.settings, endpoint.host)
    const retryLater = <T>({ ms, isFinal }: HostBackoff, attempt$: Observable<T>, asker: ScheduleOptions): Observable<T> => {
      if (isFinal)
        return throwError(() => new HostClosedError('rate_limit', '429: the provider has rate-limited the whole fleet for too long'))
      requeue()
      return timer(Math.ceil(ms)).pipe(mergeMap(() => scheduleOnFleet(attempt$, asker)))
    }
    const scheduleOnFleet = <T>(attempt$: Observable<T>, asker: ScheduleOptions): Observable<T> =>
      defer(() => {
        stallDetector.check()
        const backoff = backoffs.find(address)
        if (backoff.ms > 0) return retryLater(backoff, attempt$, asker)
        return limiter.schedule(attempt$, asker).pipe(
          tap(() => backoffs.onServed(address, backoff.generation)),
          catchError((error: unknown) => {
            if (!(error instanceof ThrottledError)) return throwError(() => error)
            return from(backoffs.onRefused(address, backoff.generation, error.retryAfterMs, workerRun.settings)).pipe(
              mergeMap((next) => {
                if (next.ms <= 0) return throwError(() => error)
                // After a final refusal the queues are not paused: their items fail at once.
                return next.isFinal
                  ? retryLater(next, attempt$, asker)
                  : from(pauseQueues(next)).pipe(mergeMap(() => retryLater(next, attempt$, asker)))
              }),
            )
          }),
        )
      })
    return { ...limiter, schedule: scheduleOnFleet }
  },
})
