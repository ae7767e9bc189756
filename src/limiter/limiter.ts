import { asyncScheduler, type Observable, type Subscription, timer } from 'rxjs'
import { captureContext, type Within } from '../model/context.js'
import { type HostClosedError, TransportError } from '../model/errors.js'
import type { Transfer } from '../operators/deadline.js'
import { createFailFastError, type LimiterSettings } from './backoff.js'
import { slowStart, unlimited } from './rate.js'
import {
  type AttemptEnd,
  applyAttemptEnd,
  countAnswer,
  countSent,
  createLimiterState,
  decideAdmission,
  isProbedLate,
  type LimiterState,
  refuseSome,
  SAME_BURST_MS,
} from './state.js'

/** A request in the queue. */
export interface QueuedRequest {
  /** It has another source: fail at once while the circuit is open. */
  readonly failFast: boolean
  readonly start: (permit: Permit) => void
  /** Whether a request that has waited is still to be sent. */
  readonly mayStart: () => boolean
  /** The host was given up. */
  readonly reject: (error: HostClosedError) => void
}

/** Admits one request; it must be released when the attempt ends. */
export type Permit = Pick<AttemptEnd, 'generation' | 'sentAt'>

interface LimiterContext {
  readonly name: string
  readonly settings: LimiterSettings
  /** A monotonic clock, milliseconds. */
  readonly now: () => number
  /** Requests a second. */
  readonly maxRate?: number | undefined
  readonly maxInFlight?: number | undefined
  readonly onChange?: (before: LimiterState, after: LimiterState, now: number) => void
}

/** Admits requests to a host, or to one of its endpoints, first in, first out. */
export class Limiter {
  state: LimiterState
  /** Each with its context: it is admitted in that of another one, whose request has ended. */
  private readonly queue = new Map<QueuedRequest, Within>()
  private timerSubscription: Subscription | undefined
  private isAdmitting = false
  /** The queue is served in a later turn. */
  private isScheduled = false

  constructor(private readonly options: LimiterContext) {
    this.state = createLimiterState(options.maxRate ?? Number.POSITIVE_INFINITY, options.maxInFlight)
  }

  get name(): string {
    return this.options.name
  }

  get waiting(): number {
    return this.queue.size
  }

  /**
   * Calls `start` or `reject` of the request once, now or later, unless it leaves. Most requests never wait,
   * so they skip the queue.
   */
  acquire(request: QueuedRequest): void {
    const { backoff } = this.state
    const now = this.options.now()
    if (request.failFast && backoff?.why === 'down' && (now < backoff.until || isProbedLate(this.state))) {
      request.reject(createFailFastError(backoff, now))
      return
    }
    if (this.isAdmitting || this.queue.size > 0 || decideAdmission(this.state, now) !== 0) {
      this.queue.set(request, captureContext())
      this.admitQueued()
      return
    }
    this.isAdmitting = true
    this.send(request, now)
    this.isAdmitting = false
    if (this.queue.size > 0) this.admitQueued()
  }

  cancel(request: QueuedRequest): void {
    if (this.queue.delete(request) && this.queue.size === 0) this.timerSubscription?.unsubscribe()
  }

  /**
   * Returns the permit with the result of the attempt. Queued requests start in a later turn of the event
   * loop, so that a caller that cancels many at once does not start their successors one by one.
   */
  release(permit: Permit, result: Omit<AttemptEnd, 'now' | keyof Permit>): void {
    const now = this.options.now()
    if (result.signal.kind === 'answered' && countAnswer(this.state, permit, now)) this.admitLater()
    else this.change(applyAttemptEnd(this.state, { ...permit, ...result, now }, this.options.settings))
  }

  /** Takes another state, as attempts here or at another endpoint have led to. */
  change(state: LimiterState): void {
    const before = this.state
    this.state = state
    if (state.backoff !== before.backoff) this.options.onChange?.(before, state, this.options.now())
    this.admitLater()
  }

  private admitLater(): void {
    if (this.queue.size === 0 || this.isScheduled) return
    this.isScheduled = true
    this.schedule(0)
  }

  private send(request: QueuedRequest, now: number): void {
    countSent(this.state, now)
    request.start({ generation: this.state.generation, sentAt: now })
  }

  /**
   * A loop, not recursion: a request that ends synchronously and makes its caller send another must not grow
   * the stack.
   */
  private admitQueued(): void {
    if (this.isAdmitting) return
    this.isAdmitting = true
    this.isScheduled = false
    this.timerSubscription?.unsubscribe()
    for (const [next, within] of this.queue) {
      const now = this.options.now()
      const delay = decideAdmission(this.state, now)
      if (typeof delay === 'number' && delay > 0) {
        // An attempt that ended in this loop may have scheduled the next one, which this replaces.
        this.isScheduled = false
        if (delay < Number.POSITIVE_INFINITY) this.schedule(delay)
        break
      }
      this.queue.delete(next)
      within(() => {
        if (typeof delay !== 'number') next.reject(delay)
        else if (next.mayStart()) this.send(next, this.options.now())
      })
    }
    this.isAdmitting = false
  }

  private schedule(ms: number): void {
    this.timerSubscription?.unsubscribe()
    this.timerSubscription = timer(Math.ceil(ms)).subscribe(() => this.admitQueued())
  }
}

/**
 * A monotonic clock on RxJS' scheduler (virtual in tests), in milliseconds. It ignores backward steps of the
 * system clock.
 */
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

/**
 * Limits the requests of all streams of a run to one endpoint: by the limits of the host and by those of the
 * endpoint.
 */
export interface HostLimiter {
  readonly endpoint: Limiter
  readonly host: HostContext
  /** A request needs a permit of each, in this order: endpoint, host, origin. */
  readonly levels: readonly Limiter[]
  /** Wraps each attempt; a fleet waits for the back-offs of its other workers here. */
  readonly around?: (<T>(attempt$: Observable<T>) => Observable<T>) | undefined
}

/** What the services of one scheme, host name and port share: a limit that several endpoints ran into. */
export class Origin {
  /** When each endpoint was last refused, and answered. */
  readonly refusedAt = new Map<Limiter, number>()
  readonly answeredAt = new Map<Limiter, number>()
  private suspectUntil = 0
  /** Failures that may be a limit, since the first of them was sent. */
  private doubtful = { count: 0, from: 0 }

  constructor(
    readonly limiter: Limiter,
    readonly now: () => number,
  ) {}

  get isSuspect(): boolean {
    return this.now() < this.suspectUntil
  }

  /** An endpoint is refused: the limit may be that of all. */
  suspect(): void {
    this.suspectUntil = this.now() + SUSPECT_MS
  }

  /** Before the first request of an endpoint. Beside refusals it does not begin with all workers at once. */
  onFirst({ state: { inFlight, generation } }: Limiter): void {
    const { state } = this.limiter
    const isFree = state.rate.perSecond === unlimited && state.rate.inFlight === unlimited
    if (inFlight > 0 || generation > 0 || !this.isSuspect || !isFree) return
    this.limiter.state = { ...state, rate: { ...state.rate, ...slowStart(state.rate, this.now()) } }
  }

  onDoubt({ sentAt }: Permit): void {
    const { count, from } = this.doubtful
    this.doubtful =
      count === 0 ? { count: 1, from: sentAt } : { count: count + 1, from: Math.min(from, sentAt) }
  }

  /** An answer to a request that was sent with or after failures: they may be a limit of the origin. */
  onAnswer(endpoint: Limiter, { sentAt }: Permit): void {
    this.answeredAt.set(endpoint, this.now())
    const { count, from } = this.doubtful
    if (count === 0 || sentAt < from - SAME_BURST_MS) return
    this.doubtful = { count: 0, from: 0 }
    if (count >= MIN_FAILURES_BESIDE) this.limiter.state = refuseSome(this.limiter.state, this.now())
  }
}

/** So long after a refusal the other endpoints may have the same limit. */
const SUSPECT_MS = 10_000
/** So many failures beside answers are refusals. */
const MIN_FAILURES_BESIDE = 3

/** What the endpoints of a host share. */
export interface HostContext {
  readonly limiter: Limiter
  readonly origin?: Origin
  readonly endpoints: Limiter[]
  itemFailures: ItemFailures
  readonly link: NetworkLink
  readonly now: () => number
  readonly settings: LimiterSettings
}

/** Tells the failures of single items from those of their host. */
export class ItemFailures {
  answers = 0
  /** The number of answers when an item last failed; -1 for items that fail by themselves. */
  private readonly answersAtFailure = new Map<string, number>()

  onAnswer(endpoint: string, item: string): void {
    this.answers += 1
    if (this.answersAtFailure.size > 0) this.answersAtFailure.delete(`${endpoint} ${item}`)
  }

  /**
   * Whether a failure is the item's own: it has failed before, and the host has answered others since. Such
   * an item stays the cause of its failures until it is answered; a list is judged anew each time, because
   * few others show whether the host works.
   */
  isOwn(key: string, isList: boolean): boolean {
    const isOwn = (this.answersAtFailure.get(key) ?? this.answers) < this.answers
    this.answersAtFailure.set(key, isOwn && !isList ? -1 : this.answers)
    return isOwn
  }
}

/** EWMA weight of the newest reply. */
const EWMA_WEIGHT = 0.1
/**
 * Above this share of the timeout, the average reply time means that some requests time out by load alone.
 */
const SATURATED_SHARE = 1 / 4

/**
 * Measurements of the network link, shared by all hosts of a run. They tell a saturated link from a host that
 * is down.
 */
export class NetworkLink {
  /** When the last bytes arrived from any host, epoch milliseconds. */
  bytesAt = 0
  served = 0
  /** Moving average (EWMA) of the time to a complete reply; undefined before the first. */
  answerMs: number | undefined

  /** Forgets what was measured before. */
  reset(): void {
    Object.assign(this, { bytesAt: 0, served: 0, answerMs: undefined })
  }

  onReply(ms: number): void {
    this.served += 1
    this.answerMs = this.answerMs === undefined ? ms : this.answerMs + EWMA_WEIGHT * (ms - this.answerMs)
  }

  /**
   * Turns a timeout on a saturated link into `slow`: the limiter lowers concurrency instead of blaming the
   * host, and retries.
   */
  reclassify(error: unknown, idleMs: number): unknown {
    if (!(error instanceof TransportError) || error.reason !== 'deadline') return error
    const isReceiving = this.bytesAt > asyncScheduler.now() - idleMs
    const isSlow = this.answerMs === undefined || this.answerMs > idleMs * SATURATED_SHARE
    if (!isReceiving || !isSlow) return error
    const { detail, hasBegun, request } = error
    return new TransportError('slow', `${detail} on a saturated network link`, {
      cause: error,
      hasBegun,
      request,
    })
  }
}

/** The transfer of one reply; its bytes also count for the link. */
export class LinkTransfer implements Transfer {
  isComplete = false
  private lastBytesAt = 0
  constructor(private readonly link: NetworkLink) {}

  get bytesAt(): number {
    return this.lastBytesAt
  }

  set bytesAt(at: number) {
    this.lastBytesAt = at
    if (at < Number.POSITIVE_INFINITY) this.link.bytesAt = at
  }
}
