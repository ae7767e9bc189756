import {
  asyncScheduler,
  EMPTY,
  type MonoTypeOperatorFunction,
  Observable,
  type Subscription,
  tap,
} from 'rxjs'
import { TransportError } from '../model/errors.js'
import { checkOperatorOptions } from './request-errors.js'

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
  readonly totalMs?: number | undefined
  /** Updated as bytes arrive; without it only the first value counts as progress. */
  readonly transfer?: Transfer | undefined
}

/**
 * Errors with a `TransportError` (deadline) when no byte of a reply arrived for `idleMs`, or the reply is not
 * complete within `totalMs`. The source is unsubscribed, which aborts the request. A slow reply that makes
 * progress is not aborted before `totalMs`.
 *
 * @throws UsageError for an unknown option, or a time that is not 0 or more
 * @example
 * send(request).pipe(deadline({ idleMs: 10_000, totalMs: 60_000, transfer }))
 */
export const deadline = <T>(limits: Deadline): MonoTypeOperatorFunction<T> => {
  checkOperatorOptions('deadline', limits, ['idleMs', 'totalMs', 'transfer'])
  return (source$) =>
    new Observable((subscriber) => {
      const timer = startTimer(limits, (error) => subscriber.error(error))
      const stop = (): void => timer.unsubscribe()
      subscriber.add(timer)
      source$.pipe(tap(stop)).subscribe(subscriber)
    })
}

/**
 * Calls `fail` when a deadline has passed: looks when the earliest one is due, and again later if bytes have
 * arrived since.
 */
const startTimer = (limits: Deadline, fail: (error: TransportError) => void): Subscription => {
  const { idleMs, totalMs = idleMs, transfer } = limits
  let startedAt = asyncScheduler.now()
  let dueAt = startedAt + Math.min(idleMs, totalMs)
  if (dueAt === Number.POSITIVE_INFINITY) return EMPTY.subscribe()
  return asyncScheduler.schedule(function () {
    const now = asyncScheduler.now()
    // The clock was set, or this machine slept: the timer took as long as it should, and the reply keeps the
    // rest of its time.
    startedAt = Math.min(now, startedAt + now - dueAt)
    if (transfer?.isComplete) return
    dueAt = findDue(limits, startedAt, now)
    if (dueAt > now) this.schedule(undefined, dueAt - now)
    else fail(toDeadlineError(limits, startedAt, now))
  }, dueAt - startedAt)
}

/**
 * When a reply fails if no further byte arrives; at most one idle timeout from now, because we may not be
 * reading.
 */
const findDue = ({ idleMs, totalMs = idleMs, transfer }: Deadline, startedAt: number, now: number): number =>
  Math.min(startedAt + totalMs, Math.min(now, Math.max(startedAt, transfer?.bytesAt ?? 0)) + idleMs)

const toDeadlineError = (
  { idleMs, totalMs = idleMs, transfer }: Deadline,
  startedAt: number,
  now: number,
): TransportError => {
  const message =
    startedAt + totalMs <= now
      ? `no whole answer within ${formatMs(totalMs)}`
      : `no byte for ${formatMs(idleMs)}`
  return new TransportError('deadline', message, { hasBegun: transfer !== undefined && transfer.bytesAt > 0 })
}

const formatMs = (ms: number): string => (ms < 1_000 ? `${ms} ms` : `${ms / 1_000} s`)
