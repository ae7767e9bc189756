import { asyncScheduler, type MonoTypeOperatorFunction, NEVER, Observable, type SchedulerAction, tap } from 'rxjs'
import { TransportError } from '../model/errors.js'

/** The progress of a reply. */
export interface Transfer {
  /** When the last bytes arrived, epoch milliseconds; 0 before the first, `Infinity` while we do not read. */
  bytesAt: number
}

/** How long a reply may take, in milliseconds. */
export interface Deadline {
  /** The longest time without a byte, the first one included. */
  readonly idleMs: number
  /** The longest total time; `idleMs` if absent. */
  readonly totalMs?: number
  /** Updated as bytes arrive; without it only the first value counts as progress. */
  readonly transfer?: Transfer
  /** Emits when the whole reply has arrived, which stops the timer. */
  readonly arrived$?: Observable<unknown>
}

/**
 * Errors with a `TransportError` (deadline) when no byte of a reply arrived for `idleMs`, or the reply is not complete within `totalMs`.
 * The source is unsubscribed, which aborts the request. A slow reply that makes progress is not aborted before `totalMs`.
 *
 * @example
 * send(request).pipe(deadline({ idleMs: 10_000, totalMs: 60_000, transfer }))
 */
export const deadline =
  <T>({ idleMs, totalMs = idleMs, transfer, arrived$ = NEVER }: Deadline): MonoTypeOperatorFunction<T> =>
  (source$) =>
    new Observable((subscriber) => {
      const startedAt = asyncScheduler.now()
      const hasBegun = (): boolean => transfer !== undefined && transfer.bytesAt > 0
      const fail = (message: string): void => subscriber.error(new TransportError('deadline', message, { hasBegun: hasBegun() }))
      // One timer per request, not one per chunk: when it fires, it checks the time of the last byte and reschedules for the rest.
      function check(this: SchedulerAction<void>): void {
        const now = asyncScheduler.now()
        const totalLeft = startedAt + totalMs - now
        const idleLeft = Math.min(idleMs, Math.max(startedAt, transfer?.bytesAt ?? 0) + idleMs - now)
        if (totalLeft <= 0) fail(`no whole answer within ${totalMs} ms`)
        else if (idleLeft <= 0) fail(`no byte for ${idleMs} ms`)
        else this.schedule(undefined, Math.min(totalLeft, idleLeft))
      }
      const timer = asyncScheduler.schedule(check, Math.min(idleMs, totalMs))
      const stopTimer = (): void => timer.unsubscribe()
      subscriber.add(timer)
      subscriber.add(arrived$.subscribe(stopTimer))
      source$.pipe(tap(stopTimer)).subscribe(subscriber)
    })
