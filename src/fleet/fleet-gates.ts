import { catchError, defer, from, mergeMap, type Observable, tap, throwError, timer } from 'rxjs'
import { HostClosed, Throttled } from '../model/errors.js'
import { addressOf, type Gates } from '../provider/gate/gates.js'
import type { Asker } from '../provider/gate/host-gate.js'
import type { Held, Holds } from './hold.js'
import type { Pulse } from './pulse.js'
import type { WorkerSite } from './site.js'

export interface FleetGatesOptions {
  readonly workerRun: Pick<WorkerSite, 'gates' | 'settings'>
  readonly backoffs: Holds
  readonly stallDetector: Pick<Pulse, 'check'>
  /** Pauses the queues whose items send requests to the host. */
  readonly pauseQueues: (backoff: Held) => Promise<void>
  /** Puts the item back into its queue until the host may be requested again. */
  readonly requeue: () => void
}

/**
 * The limiters of one item on a worker: those of this process, preceded by the back-offs of the whole fleet. If a host backs off or answers
 * 429, the item is requeued without losing an attempt. A request that other items share is sent again after the back-off.
 */
export const fleetGates = ({ workerRun, backoffs, stallDetector, pauseQueues, requeue }: FleetGatesOptions): Gates => ({
  notices: workerRun.gates.notices,
  line: workerRun.gates.line,
  of: (endpoint) => {
    const gate = workerRun.gates.of(endpoint)
    const address = addressOf(workerRun.settings, endpoint.host)
    const retryLater = <T>({ ms, isFinal }: Held, attempt$: Observable<T>, asker: Asker): Observable<T> => {
      if (isFinal) return throwError(() => new HostClosed('rate_limit', '429: the provider has rate-limited the whole fleet for too long'))
      requeue()
      return timer(Math.ceil(ms)).pipe(mergeMap(() => through(attempt$, asker)))
    }
    const through = <T>(attempt$: Observable<T>, asker: Asker): Observable<T> =>
      defer(() => {
        stallDetector.check()
        const backoff = backoffs.of(address)
        if (backoff.ms > 0) return retryLater(backoff, attempt$, asker)
        return gate.through(attempt$, asker).pipe(
          tap(() => backoffs.serve(address, backoff.generation)),
          catchError((error: unknown) => {
            if (!(error instanceof Throttled)) return throwError(() => error)
            return from(backoffs.refuse(address, backoff.generation, error.retryAfterMs, workerRun.settings)).pipe(
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
    return { ...gate, through }
  },
})
