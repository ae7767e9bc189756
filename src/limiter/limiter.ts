import { asyncScheduler, type Observable, type Subscription, timer } from 'rxjs'
import { formatError, type HostClosedError, HostDownError, TransportError } from '../model/errors.js'
import type { Transfer } from '../operators/deadline.js'
import {
  type AttemptEnd,
  answered,
  applyAttemptEnd,
  classifyError,
  computeRefusalPause,
  countAnswer,
  countSent,
  createFailFastError,
  createLimiterState,
  decideAdmission,
  type HealthSignal,
  hasTrouble,
  inconclusive,
  isDown,
  isProbedLate,
  isRefusing,
  type LimiterSettings,
  type LimiterState,
} from './state.js'

/** What the queue needs of a request. */
type QueuedRequest = Pick<LimitedRequest, 'start' | 'mayStart' | 'reject' | 'failFast'>

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

  constructor(private readonly options: LimiterContext) {
    this.state = createLimiterState(options.maxRate ?? Number.POSITIVE_INFINITY, options.maxInFlight)
  }

  get name(): string {
    return this.options.name
  }

  get waiting(): number {
    return this.queue.size
  }

  /** Calls `start` or `reject` of the request once, now or later, unless it leaves. Most requests never wait, so they skip the queue. */
  acquire(request: QueuedRequest): void {
    const { backoff } = this.state
    const now = this.options.now()
    if (request.failFast && backoff?.why === 'down' && (now < backoff.until || isProbedLate(this.state))) {
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

/** Limits the requests of all streams of a run to one endpoint: by the limits of the host and by those of the endpoint. */
export interface HostLimiter {
  readonly endpoint: Limiter
  readonly host: HostContext
  /** Wraps each attempt; a fleet waits for the back-offs of its other workers here. */
  readonly around?: (<T>(attempt$: Observable<T>) => Observable<T>) | undefined
}

/** What the endpoints of a host share. */
export interface HostContext {
  readonly limiter: Limiter
  readonly endpoints: Limiter[]
  itemFailures: ItemFailures
  readonly link: NetworkLink
  readonly now: () => number
  readonly settings: LimiterSettings
}

/** A back-off that began with this very refusal may end some milliseconds before its pause. */
const MAX_EARLY_MS = 100

/**
 * A request, attempt by attempt. It sends as soon as it has a permit of its endpoint, then one of its host, each first in, first out. Both
 * learn from the result of the attempt.
 */
export abstract class LimitedRequest {
  /** When the attempt was sent, epoch milliseconds; moved when the system clock is set forwards. */
  startedAt = 0
  /** The stock, index or list that it is for. */
  abstract readonly item: string
  /** It is one of a few lists: no other items can show whether a failure is the host's or the item's. */
  abstract readonly isList: boolean
  abstract readonly idleMs: number
  /** The caller has another source: fail at once while the circuit is open. */
  abstract readonly failFast: boolean
  private endpointPermit: Permit | undefined
  private hostPermit: Permit | undefined

  constructor(protected readonly limiter: HostLimiter) {}

  /** The host was given up: fail the request. */
  abstract reject(error: HostClosedError): void

  /** Both limiters admit the attempt. */
  protected abstract send(): void

  protected enqueue(): void {
    this.limiter.endpoint.acquire(this)
  }

  /** The endpoint, and then the host, has admitted the attempt. */
  start(permit: Permit): void {
    if (this.endpointPermit === undefined) {
      this.endpointPermit = permit
      this.limiter.host.limiter.acquire(this)
      return
    }
    this.hostPermit = permit
    this.startedAt = asyncScheduler.now()
    this.send()
  }

  /** Whether a request that has waited is sent: the endpoint may have refused another one while this one waited for the host. */
  mayStart(): boolean {
    const { endpoint } = this.limiter
    const { generation, backoff } = endpoint.state
    if (this.endpointPermit === undefined || backoff === undefined || generation === this.endpointPermit.generation) return true
    this.releaseUnsent(this.endpointPermit)
    this.enqueue()
    return false
  }

  private releaseUnsent(permit: Permit): void {
    this.endpointPermit = undefined
    this.limiter.endpoint.release(permit, { signal: inconclusive, item: this.item, isOneItemEnough: false })
  }

  /** Leaves the queues, or returns the permits without a result. */
  protected leave(): void {
    const { endpoint, host } = this.limiter
    endpoint.cancel(this)
    host.limiter.cancel(this)
    if (this.endpointPermit && !this.hostPermit) this.releaseUnsent(this.endpointPermit)
    this.release(inconclusive)
  }

  /** Whether host or endpoint are backing off, have an open circuit, or failed the last request. */
  protected isUnhealthy(): boolean {
    return hasTrouble(this.limiter.host.limiter.state) || hasTrouble(this.limiter.endpoint.state)
  }

  protected countAnswer(): void {
    this.limiter.host.link.onReply(asyncScheduler.now() - this.startedAt)
    this.release(answered)
  }

  /**
   * The attempt failed: returns the failure as the retries see it, and how long the request waits first, if nothing else holds it. During
   * an outage the failure is a `HostDownError`: retry it without counting.
   */
  protected countFailure(error: unknown): { readonly failure: unknown; readonly pauseMs: number | undefined } {
    const { host, endpoint } = this.limiter
    const failure = host.link.reclassify(error, this.idleMs)
    const signal = classifyError(failure)
    this.release(this.findCause(signal))
    const isOutage = signal.kind === 'trouble' && !this.failFast && (isDown(host.limiter.state) || isDown(endpoint.state))
    return {
      failure: isOutage ? new HostDownError(formatError(error), { cause: error }) : failure,
      pauseMs: signal.kind === 'refused' ? this.findOwnPause(signal.retryAfterMs) : undefined,
    }
  }

  /** The signal of a failure for the limiters: none if the item fails by itself. No item is to blame for a host that cannot be reached. */
  private findCause(signal: HealthSignal): HealthSignal {
    if (signal.kind !== 'trouble' || signal.sign === 'unreachable') return signal
    const { limiter, itemFailures } = this.limiter.host
    const isOwn = itemFailures.isOwn(`${this.limiter.endpoint.name} ${this.item}`, this.isList)
    if (!isOwn || limiter.state.backoff !== undefined) return signal
    return signal.sign === 'slow' ? { kind: 'slow' } : inconclusive
  }

  /** The pause of a refused request that nothing else holds; undefined if the back-off of its endpoint or host holds it for long enough. */
  private findOwnPause(retryAfterMs: number | undefined): number | undefined {
    const { host, endpoint } = this.limiter
    const pauseMs = computeRefusalPause(retryAfterMs, host.settings)
    const dueAt = host.now() + Math.max(0, pauseMs - MAX_EARLY_MS)
    return isRefusing(host.limiter.state, dueAt) || isRefusing(endpoint.state, dueAt) ? undefined : pauseMs
  }

  /** Returns the permits: both limiters learn from the signal. */
  private release(signal: HealthSignal): void {
    const { endpointPermit, hostPermit, item, isList } = this
    if (!endpointPermit || !hostPermit) return
    this.endpointPermit = undefined
    this.hostPermit = undefined
    const { endpoint, host } = this.limiter
    const { limiter, itemFailures, link } = host
    if (signal.kind === 'answered') {
      itemFailures.onAnswer(endpoint.name, item)
      limiter.release(hostPermit, ANSWERED)
      endpoint.release(endpointPermit, ANSWERED)
      return
    }
    const isHostFailure = signal.kind === 'trouble' && signal.sign !== 'item'
    const isOneItemEnough = link.served === 0 || (isHostFailure && (itemFailures.answers === 0 || isList))
    if (signal.kind === 'refused' || signal.kind === 'non-answer') {
      endpoint.release(endpointPermit, { signal, item, isOneItemEnough: false })
      // One refusing endpoint backs off alone; a second one makes the whole host back off.
      const isForAll = isRefusing(endpoint.state, host.now()) && isOtherRefusing(host, endpoint)
      const hostSignal = signal.kind === 'refused' ? { ...signal, isCertain: true } : signal
      limiter.release(hostPermit, { signal: isForAll ? hostSignal : inconclusive, item, isOneItemEnough })
      return
    }
    limiter.release(hostPermit, { signal, item, isOneItemEnough, isList })
    const isForHost = signal.kind === 'slow' || (signal.kind === 'trouble' && isDown(limiter.state))
    endpoint.release(endpointPermit, { signal: isForHost ? inconclusive : signal, item, isOneItemEnough: isHostFailure && isList, isList })
  }
}

const ANSWERED = { signal: answered, item: '', isOneItemEnough: false } as const

const isOtherRefusing = ({ endpoints, now }: HostContext, endpoint: Limiter): boolean =>
  endpoints.some((other) => other !== endpoint && isRefusing(other.state, now()))

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
   * Whether a failure is the item's own: it has failed before, and the host has answered others since. Such an item stays the cause of its
   * failures until it is answered; a list is judged anew each time, because few others show whether the host works.
   */
  isOwn(key: string, isList: boolean): boolean {
    const isOwn = (this.answersAtFailure.get(key) ?? this.answers) < this.answers
    this.answersAtFailure.set(key, isOwn && !isList ? -1 : this.answers)
    return isOwn
  }
}

/** EWMA weight of the newest reply. */
const EWMA_WEIGHT = 0.1
/** Above this share of the timeout, the average reply time means that some requests time out by load alone. */
const SATURATED_SHARE = 1 / 4

/** Measurements of the network link, shared by all hosts of a run. They tell a saturated link from a host that is down. */
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

  /** Turns a timeout on a saturated link into `slow`: the limiter lowers concurrency instead of blaming the host, and retries. */
  reclassify(error: unknown, idleMs: number): unknown {
    if (!(error instanceof TransportError) || error.reason !== 'deadline') return error
    const isReceiving = this.bytesAt > asyncScheduler.now() - idleMs
    const isSlow = this.answerMs === undefined || this.answerMs > idleMs * SATURATED_SHARE
    if (!isReceiving || !isSlow) return error
    const { detail, hasBegun, request } = error
    return new TransportError('slow', `${detail} on a saturated network link`, { cause: error, hasBegun, request })
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
