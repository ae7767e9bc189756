import { asyncScheduler, type MonoTypeOperatorFunction, NEVER, Observable, type SchedulerAction, tap } from 'rxjs'
import { TransportError } from '../model/errors.js'

/** An answer on its way. */
export interface Transfer {
  /** When its last bytes came, epoch milliseconds; 0 before the first, `Infinity` while we ourselves do not read them. */
  bytesAt: number
}

/** How long an answer may take. Times are milliseconds. */
export interface Deadline {
  /** The longest time without a byte, the first one included. */
  readonly idleMs: number
  /** The longest time in all; `idleMs` if absent. */
  readonly totalMs?: number
  /** Tells of bytes as they come; without it the first value is the first sign of life. */
  readonly transfer?: Transfer
  /** Emits when the whole answer has arrived: then time no longer counts. */
  readonly arrived$?: Observable<unknown>
}

/**
 * Errors with a `TransportError` (deadline) when an answer has not brought a byte for `idleMs`, or is not whole within `totalMs`; the
 * source is unsubscribed, which aborts it. A slow answer that keeps coming is not cut off.
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
      // One timer for the whole request: it looks when the last byte came, and runs on for what is left of the silence.
      function look(this: SchedulerAction<void>): void {
        const now = asyncScheduler.now()
        const leftInAll = startedAt + totalMs - now
        const leftOfSilence = Math.min(idleMs, Math.max(startedAt, transfer?.bytesAt ?? 0) + idleMs - now)
        if (leftInAll <= 0) fail(`no whole answer within ${totalMs} ms`)
        else if (leftOfSilence <= 0) fail(`no byte for ${idleMs} ms`)
        else this.schedule(undefined, Math.min(leftInAll, leftOfSilence))
      }
      const timer = asyncScheduler.schedule(look, Math.min(idleMs, totalMs))
      const inTime = (): void => timer.unsubscribe()
      subscriber.add(timer)
      subscriber.add(arrived$.subscribe(inTime))
      source$.pipe(tap(inTime)).subscribe(subscriber)
    })
