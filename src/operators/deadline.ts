import { asyncScheduler, defer, type MonoTypeOperatorFunction, mergeMap, NEVER, type Observable, race, timer } from 'rxjs'
import { TransportError } from '../model/errors.js'

/** The progress of a reply. */
export interface Transfer {
  /** When the last bytes arrived, epoch milliseconds; 0 before the first, `Infinity` while we do not read. */
  bytesAt: number
  /** The whole reply has arrived, even if it is emitted later: no deadline applies any more. */
  isComplete?: boolean
}

/** How long a reply may take, in milliseconds. */
export interface Deadline {
  /** The longest time without a byte, the first one included. */
  readonly idleMs: number
  /** The longest total time; `idleMs` if absent. */
  readonly totalMs?: number
  /** Updated as bytes arrive; without it only the first value counts as progress. */
  readonly transfer?: Transfer
}

/**
 * Errors with a `TransportError` (deadline) when no byte of a reply arrived for `idleMs`, or the reply is not complete within `totalMs`.
 * The source is unsubscribed, which aborts the request. A slow reply that makes progress is not aborted before `totalMs`.
 *
 * @example
 * send(request).pipe(deadline({ idleMs: 10_000, totalMs: 60_000, transfer }))
 */
export const deadline =
  <T>({ idleMs, totalMs = idleMs, transfer }: Deadline): MonoTypeOperatorFunction<T> =>
  (source$) =>
    defer(() => {
      const startedAt = asyncScheduler.now()
      const computeTimeLeft = (): number => {
        const now = asyncScheduler.now()
        const totalLeft = startedAt + totalMs - now
        const idleLeft = Math.min(idleMs, Math.max(startedAt, transfer?.bytesAt ?? 0) + idleMs - now)
        const hasBegun = transfer !== undefined && transfer.bytesAt > 0
        if (totalLeft <= 0) throw new TransportError('deadline', `no whole answer within ${totalMs} ms`, { hasBegun })
        if (idleLeft <= 0) throw new TransportError('deadline', `no byte for ${idleMs} ms`, { hasBegun })
        return Math.min(totalLeft, idleLeft)
      }
      // One timer per request, not one per chunk: when it fires, it checks the time of the last byte and waits for the rest.
      const watchdog = (ms: number): Observable<never> =>
        timer(ms).pipe(mergeMap(() => (transfer?.isComplete ? NEVER : watchdog(computeTimeLeft()))))
      return race(source$, watchdog(Math.min(idleMs, totalMs)))
    })
