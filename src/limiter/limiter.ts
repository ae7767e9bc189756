import { type Subscription, timer } from 'rxjs'
import type { HostClosedError } from '../model/errors.js'
import { createFailFastError, type LimiterSettings } from './backoff.js'
import { type AttemptEnd, applyAttemptEnd, countSent, decideAdmission, type HostState, initialHostState } from './host-state.js'

/** A request in the queue of a limiter. */
export interface QueuedRequest {
  /** The request was admitted: send it now. */
  readonly start: (permit: Permit) => void
  /** The host was given up: fail the request. */
  readonly reject: (error: HostClosedError) => void
  /** The caller has another source: fail at once while the circuit is open. */
  readonly failFast: boolean
}

/** Admits one request; it must be released when the attempt ends. */
export type Permit = Pick<AttemptEnd, 'generation' | 'sentAt'>

/** Admits requests to a host, or to one of its endpoints, first in, first out. */
export interface Limiter {
  /** Calls `start` or `reject` once, now or later. The returned function removes the request from the queue. */
  readonly acquire: (request: QueuedRequest) => () => void
  /**
   * Returns the permit with the result of the attempt. Queued requests start in a later turn of the event loop, so that a caller that
   * cancels many at once does not start their successors one by one.
   */
  readonly release: (permit: Permit, end: Omit<AttemptEnd, 'now' | keyof Permit>) => void
  readonly state: () => HostState
}

export interface LimiterOptions {
  readonly settings: LimiterSettings
  /** A monotonic clock, milliseconds. */
  readonly now: () => number
  readonly onChange: (before: HostState, after: HostState, now: number) => void
}

export const createLimiter = ({ settings, now, onChange }: LimiterOptions): Limiter => {
  const queue = new Set<QueuedRequest>()
  let host = initialHostState
  let timerSubscription: Subscription | undefined
  let isAdmitting = false
  let isScheduled = false

  const scheduleAdmit = (ms: number): void => {
    timerSubscription?.unsubscribe()
    timerSubscription = timer(Math.ceil(ms)).subscribe(admit)
  }
  const send = (request: QueuedRequest): void => {
    const sentAt = now()
    host = countSent(host, sentAt)
    request.start({ generation: host.generation, sentAt })
  }
  /** A loop, not recursion: a request that ends synchronously and makes its caller send another must not grow the stack. */
  const admit = (): void => {
    if (isAdmitting) return
    isAdmitting = true
    isScheduled = false
    timerSubscription?.unsubscribe()
    for (const next of queue) {
      const delay = decideAdmission(host, now())
      if (typeof delay === 'number' && delay > 0) {
        // An attempt that ended in this loop may have scheduled the next one, which this replaces.
        isScheduled = false
        if (delay < Number.POSITIVE_INFINITY) scheduleAdmit(delay)
        break
      }
      queue.delete(next)
      if (typeof delay === 'number') send(next)
      else next.reject(delay)
    }
    isAdmitting = false
  }
  /** The fast path: most requests never wait, so they skip the queue. */
  const sendNow = (request: QueuedRequest): void => {
    isAdmitting = true
    send(request)
    isAdmitting = false
    if (queue.size > 0) admit()
  }
  return {
    acquire: (request) => {
      if (request.failFast && host.backoff?.why === 'down' && now() < host.backoff.until) {
        request.reject(createFailFastError(host.backoff, now()))
        return removeNothing
      }
      if (!isAdmitting && queue.size === 0 && decideAdmission(host, now()) === 0) {
        sendNow(request)
        return removeNothing
      }
      queue.add(request)
      admit()
      return () => {
        queue.delete(request)
        if (queue.size === 0) timerSubscription?.unsubscribe()
      }
    },
    release: (permit, end) => {
      const [before, at] = [host, now()]
      host = applyAttemptEnd(before, { ...permit, ...end, now: at }, settings)
      if (host.backoff !== before.backoff) onChange(before, host, at)
      if (queue.size > 0 && !isScheduled) {
        isScheduled = true
        scheduleAdmit(0)
      }
    },
    state: () => host,
  }
}

const removeNothing = (): void => undefined
