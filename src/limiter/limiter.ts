import { type Subscription, timer } from 'rxjs'
import type { HostClosedError } from '../model/errors.js'
import { createFailFastError, type LimiterSettings } from './backoff.js'
import { type AttemptEnd, applyAttemptEnd, countSent, decideAdmission, initialLimiterState, type LimiterState } from './limiter-state.js'

/** A request in the queue of a limiter. */
export interface QueuedRequest {
  /** The request was admitted: send it now. */
  readonly start: (permit: Permit) => void
  /** Called before a request that has waited is sent; `false` if it has left the queue instead. */
  readonly mayStart?: () => boolean
  /** The host was given up: fail the request. */
  readonly reject: (error: HostClosedError) => void
  /** The caller has another source: fail at once while the circuit is open. */
  readonly failFast: boolean
}

/** Admits one request; it must be released when the attempt ends. */
export type Permit = Pick<AttemptEnd, 'generation' | 'sentAt'>

/** What the limiter learns from an attempt. */
export type AttemptResult = Omit<AttemptEnd, 'now' | keyof Permit>

export type Limiter = ReturnType<typeof createLimiter>

export interface LimiterOptions {
  readonly settings: LimiterSettings
  /** A monotonic clock, milliseconds. */
  readonly now: () => number
  /** Requests a second. */
  readonly maxRate?: number | undefined
  readonly onChange: (before: LimiterState, after: LimiterState, now: number) => void
}

/** Admits requests to a host, or to one of its endpoints, first in, first out. */
export const createLimiter = (options: LimiterOptions) => {
  const state: QueueState = {
    ...options,
    queue: new Set(),
    host: { ...initialLimiterState, rate: { ...initialLimiterState.rate, maxPerSecond: options.maxRate ?? Number.POSITIVE_INFINITY } },
    timerSubscription: undefined,
    isAdmitting: false,
    isScheduled: false,
    admitQueued: () => admitQueued(state),
  }
  return {
    /** Calls `start` or `reject` once, now or later. The returned function removes the request from the queue. */
    acquire: (request: QueuedRequest): (() => void) => acquire(state, request),
    /**
     * Returns the permit with the result of the attempt. Queued requests start in a later turn of the event loop, so that a caller that
     * cancels many at once does not start their successors one by one.
     */
    release: (permit: Permit, end: AttemptResult): void => release(state, permit, end),
    state: (): LimiterState => state.host,
    /** How many requests are in the queue. */
    waiting: (): number => state.queue.size,
  }
}

interface QueueState extends LimiterOptions {
  readonly queue: Set<QueuedRequest>
  host: LimiterState
  timerSubscription: Subscription | undefined
  isAdmitting: boolean
  /** The queue is served in a later turn. */
  isScheduled: boolean
  /** Bound once: a timer is set for most replies of a busy host. */
  readonly admitQueued: () => void
}

const acquire = (state: QueueState, request: QueuedRequest): (() => void) => {
  const { queue, host, now } = state
  if (request.failFast && host.backoff?.why === 'down' && now() < host.backoff.until) {
    request.reject(createFailFastError(host.backoff, now()))
    return removeNothing
  }
  if (!state.isAdmitting && queue.size === 0 && decideAdmission(host, now()) === 0) {
    sendNow(state, request)
    return removeNothing
  }
  queue.add(request)
  admitQueued(state)
  return () => {
    queue.delete(request)
    if (queue.size === 0) state.timerSubscription?.unsubscribe()
  }
}

const removeNothing = (): void => undefined

const release = (state: QueueState, permit: Permit, end: AttemptResult): void => {
  const [before, at] = [state.host, state.now()]
  state.host = applyAttemptEnd(before, { ...permit, ...end, now: at }, state.settings)
  if (state.host.backoff !== before.backoff) state.onChange(before, state.host, at)
  if (state.queue.size > 0 && !state.isScheduled) {
    state.isScheduled = true
    scheduleAdmission(state, 0)
  }
}

const send = (state: QueueState, request: QueuedRequest): void => {
  const sentAt = state.now()
  state.host = countSent(state.host, sentAt)
  request.start({ generation: state.host.generation, sentAt })
}

/** The fast path: most requests never wait, so they skip the queue. */
const sendNow = (state: QueueState, request: QueuedRequest): void => {
  state.isAdmitting = true
  send(state, request)
  state.isAdmitting = false
  if (state.queue.size > 0) admitQueued(state)
}

/** A loop, not recursion: a request that ends synchronously and makes its caller send another must not grow the stack. */
const admitQueued = (state: QueueState): void => {
  if (state.isAdmitting) return
  state.isAdmitting = true
  state.isScheduled = false
  state.timerSubscription?.unsubscribe()
  for (const next of state.queue) {
    const delay = decideAdmission(state.host, state.now())
    if (typeof delay === 'number' && delay > 0) {
      // An attempt that ended in this loop may have scheduled the next one, which this replaces.
      state.isScheduled = false
      if (delay < Number.POSITIVE_INFINITY) scheduleAdmission(state, delay)
      break
    }
    state.queue.delete(next)
    if (typeof delay !== 'number') next.reject(delay)
    else if (next.mayStart?.() ?? true) send(state, next)
  }
  state.isAdmitting = false
}

const scheduleAdmission = (state: QueueState, ms: number): void => {
  state.timerSubscription?.unsubscribe()
  state.timerSubscription = timer(Math.ceil(ms)).subscribe(state.admitQueued)
}
