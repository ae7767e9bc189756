import { asyncScheduler, type MonoTypeOperatorFunction, Observable, type Subscription, tap } from 'rxjs'
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

/** A reply that is being waited for. */
export interface AwaitedReply extends Deadline {
  /** Epoch milliseconds; moved when the system clock is set forwards. */
  startedAt: number
  readonly fail: (error: TransportError) => void
}

export type DeadlineSweep = ReturnType<typeof createDeadlineSweep>

/** Watches the deadlines of many replies with one timer, which is due with the earliest of them. There is none while no reply is awaited. */
export const createDeadlineSweep = () => {
  const awaited = new Set<AwaitedReply>()
  let timer: Subscription | undefined
  let timerAt = Number.POSITIVE_INFINITY
  const stopTimer = (): void => {
    timer?.unsubscribe()
    timerAt = Number.POSITIVE_INFINITY
  }
  const startTimer = (at: number, now: number): void => {
    stopTimer()
    timerAt = at
    timer = asyncScheduler.schedule(sweep, at - now)
  }
  const sweep = (): void => {
    const now = asyncScheduler.now()
    // The clock was set, or this machine slept: the timer took as long as it should, and the others keep the rest of their time.
    const skippedMs = now - timerAt
    stopTimer()
    let next = Number.POSITIVE_INFINITY
    for (const reply of awaited) {
      reply.startedAt = Math.min(now, reply.startedAt + skippedMs)
      const dueAt = reply.transfer?.isComplete ? Number.POSITIVE_INFINITY : findDue(reply, now)
      if (dueAt <= now) {
        awaited.delete(reply)
        reply.fail(toDeadlineError(reply, now))
      } else next = Math.min(next, dueAt)
    }
    if (awaited.size > 0 && next < timerAt) startTimer(next, now)
  }
  return {
    add: (reply: AwaitedReply): void => {
      awaited.add(reply)
      const dueAt = reply.startedAt + Math.min(reply.idleMs, reply.totalMs ?? reply.idleMs)
      // Replies of one stream have the same timeout: the timer of an earlier one is due before.
      if (dueAt < timerAt) startTimer(dueAt, reply.startedAt)
    },
    remove: (reply: AwaitedReply): void => {
      if (awaited.delete(reply) && awaited.size === 0) stopTimer()
    },
  }
}

/** When a reply fails if no further byte arrives; at most one idle timeout from now, because we may not be reading. */
const findDue = ({ startedAt, idleMs, totalMs = idleMs, transfer }: AwaitedReply, now: number): number =>
  Math.min(startedAt + totalMs, Math.min(now, Math.max(startedAt, transfer?.bytesAt ?? 0)) + idleMs)

const toDeadlineError = ({ startedAt, idleMs, totalMs = idleMs, transfer }: AwaitedReply, now: number): TransportError => {
  const message = startedAt + totalMs <= now ? `no whole answer within ${formatMs(totalMs)}` : `no byte for ${formatMs(idleMs)}`
  return new TransportError('deadline', message, { hasBegun: transfer !== undefined && transfer.bytesAt > 0 })
}

const formatMs = (ms: number): string => (ms < 1_000 ? `${ms} ms` : `${ms / 1_000} s`)

/**
 * Errors with a `TransportError` (deadline) when no byte of a reply arrived for `idleMs`, or the reply is not complete within `totalMs`.
 * The source is unsubscribed, which aborts the request. A slow reply that makes progress is not aborted before `totalMs`.
 *
 * @throws UsageError for an unknown option, or a time that is not 0 or more
 * @example
 * send(request).pipe(deadline({ idleMs: 10_000, totalMs: 60_000, transfer }))
 */
export const deadline = <T>(limits: Deadline): MonoTypeOperatorFunction<T> => {
  checkOperatorOptions('deadline', limits, ['idleMs', 'totalMs', 'transfer'])
  return (source$) =>
    new Observable((subscriber) => {
      const sweep = createDeadlineSweep()
      const reply = { ...limits, startedAt: asyncScheduler.now(), fail: (error: TransportError) => subscriber.error(error) }
      const stop = (): void => sweep.remove(reply)
      sweep.add(reply)
      subscriber.add(stop)
      source$.pipe(tap(stop)).subscribe(subscriber)
    })
}
