import { asyncScheduler, type Subscription, timer } from 'rxjs'
import type { HostClosedError } from '../model/errors.js'
import {
  type AttemptEnd,
  applyAttemptEnd,
  countAnswer,
  countSent,
  createFailFastError,
  createLimiterState,
  decideAdmission,
  type LimiterSettings,
  type LimiterState,
} from './state.js'

/** A request in the queue of a limiter. */
export interface QueuedRequest {
  /** The request was admitted: send it now. */
  start(permit: Permit): void
  /** Called before a request that has waited is sent; `false` if it waits elsewhere instead. */
  mayStart(): boolean
  /** The host was given up: fail the request. */
  reject(error: HostClosedError): void
  /** The caller has another source: fail at once while the circuit is open. */
  readonly failFast: boolean
}

/** Admits one request; it must be released when the attempt ends. */
export type Permit = Pick<AttemptEnd, 'generation' | 'sentAt'>

interface LimiterOptions {
  /** Of the host, or of the endpoint. */
  readonly name: string
  readonly settings: LimiterSettings
  /** A monotonic clock, milliseconds. */
  readonly now: () => number
  /** Requests a second. */
  readonly maxRate?: number
  readonly onChange: (before: LimiterState, after: LimiterState, now: number) => void
}

/** Admits requests to a host, or to one of its endpoints, first in, first out. */
export class Limiter {
  state: LimiterState
  private readonly queue = new Set<QueuedRequest>()
  private timerSubscription: Subscription | undefined
  private isAdmitting = false
  /** The queue is served in a later turn. */
  private isScheduled = false

  constructor(private readonly options: LimiterOptions) {
    this.state = createLimiterState(options.maxRate ?? Number.POSITIVE_INFINITY)
  }

  get name(): string {
    return this.options.name
  }

  /** How many requests are in the queue. */
  get waiting(): number {
    return this.queue.size
  }

  /** Calls `start` or `reject` of the request once, now or later, unless it leaves. Most requests never wait, so they skip the queue. */
  acquire(request: QueuedRequest): void {
    const { backoff } = this.state
    const now = this.options.now()
    if (request.failFast && backoff?.why === 'down' && now < backoff.until) {
      request.reject(createFailFastError(backoff, now))
      return
    }
    if (this.isAdmitting || this.queue.size > 0 || decideAdmission(this.state, now) !== 0) {
      this.queue.add(request)
      this.admitQueued()
      return
    }
    this.isAdmitting = true
    this.send(request, now)
    this.isAdmitting = false
    if (this.queue.size > 0) this.admitQueued()
  }

  /** Removes a request from the queue. */
  cancel(request: QueuedRequest): void {
    if (this.queue.delete(request) && this.queue.size === 0) this.timerSubscription?.unsubscribe()
  }

  /**
   * Returns the permit with the result of the attempt. Queued requests start in a later turn of the event loop, so that a caller that
   * cancels many at once does not start their successors one by one.
   */
  release(permit: Permit, result: Omit<AttemptEnd, 'now' | keyof Permit>): void {
    const { settings, onChange } = this.options
    const { state: before } = this
    const now = this.options.now()
    if (result.signal.kind !== 'answered' || !countAnswer(before, permit.generation, now)) {
      this.state = applyAttemptEnd(before, { ...permit, ...result, now }, settings)
      if (this.state.backoff !== before.backoff) onChange(before, this.state, now)
    }
    if (this.queue.size === 0 || this.isScheduled) return
    this.isScheduled = true
    this.schedule(0)
  }

  private send(request: QueuedRequest, now: number): void {
    countSent(this.state, now)
    request.start({ generation: this.state.generation, sentAt: now })
  }

  /** A loop, not recursion: a request that ends synchronously and makes its caller send another must not grow the stack. */
  private admitQueued(): void {
    if (this.isAdmitting) return
    this.isAdmitting = true
    this.isScheduled = false
    this.timerSubscription?.unsubscribe()
    for (const next of this.queue) {
      const now = this.options.now()
      const delay = decideAdmission(this.state, now)
      if (typeof delay === 'number' && delay > 0) {
        // An attempt that ended in this loop may have scheduled the next one, which this replaces.
        this.isScheduled = false
        if (delay < Number.POSITIVE_INFINITY) this.schedule(delay)
        break
      }
      this.queue.delete(next)
      if (typeof delay !== 'number') next.reject(delay)
      else if (next.mayStart()) this.send(next, this.options.now())
    }
    this.isAdmitting = false
  }

  private schedule(ms: number): void {
    this.timerSubscription?.unsubscribe()
    this.timerSubscription = timer(Math.ceil(ms)).subscribe(() => this.admitQueued())
  }
}

/** A monotonic clock on RxJS' scheduler (virtual in tests), in milliseconds. It ignores backward steps of the system clock. */
export const createStopwatch = (): (() => number) => {
  let last = asyncScheduler.now()
  let passed = 0
  return () => {
    const at = asyncScheduler.now()
    passed += Math.max(0, at - last)
    last = at
    return passed
  }
}
