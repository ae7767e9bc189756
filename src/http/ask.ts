import { Observable, type Observer, type Subscriber, Subscription, take, timer } from 'rxjs'
import { type HostLimiter, LimitedRequest, LinkTransfer } from '../limiter/limiter.js'
import type { LimiterRegistry } from '../limiter/limiter-registry.js'
import { BadAnswerError, CollectError, type HostClosedError, HttpError, ThrottledError, UsageError } from '../model/errors.js'
import { createRedactor, type Redact } from '../model/redact.js'
import { findAddress, findHeaders, type Settings, toAddressSetting } from '../model/settings.js'
import { type AwaitedReply, createDeadlineSweep, type DeadlineSweep } from '../operators/deadline.js'
import { parseRetryAfter } from '../operators/retry-after-429.js'
import { createRetryDelay, type RetryPolicy } from '../operators/retry-failures.js'
import { describeResponse, readReplyText } from './answer.js'
import type { ShapeWatch } from './drift.js'
import type { AnyEndpoint, Endpoint, HeaderSet } from './endpoint.js'
import type { HttpReply, HttpRequest, RequestFollower, RequestWatch, Transport } from './transport.js'

/**
 * Sends one request to the provider. Emits the answer once, or errors with the last failure after the retries. It repeats one request; whole
 * items are repeated by the second pass of a stream only. Unsubscribing aborts the request.
 */
export type Ask = <Input, Answer>(endpoint: Endpoint<Input, Answer>, input: NoInfer<Input>, how?: AskOptions) => Observable<Answer>

/** How to send one request; nothing is required. */
export interface AskOptions {
  /** The caller has another source: fail at once while the host's circuit is open, instead of waiting. */
  readonly failFast?: boolean | undefined
}

/** The worker of an item, which its requests need. */
export interface WorkerSlot {
  /** Calls `start` as soon as the item has a worker: at once if it has one, else the returned function leaves the queue. */
  acquire(start: () => void): (() => void) | undefined
  /** A request that was started has finished, with its retries. After the last one that is under way, the worker is free. */
  release(): void
}

/** The worker of a request that belongs to no run. */
export const OWN_WORKER: WorkerSlot = {
  acquire: (start) => {
    start()
    return undefined
  },
  release: () => undefined,
}

/** The total timeout is this multiple of the idle timeout. */
const TOTAL_FACTOR = 6

export interface AskDependencies {
  readonly transport: Transport
  readonly settings: Settings
  readonly stream?: string
  /** Shared by all streams of the run. */
  readonly limiters: LimiterRegistry
  /** Idle timeout of one attempt (no byte received); the total timeout is six times as long. Time in the limiter's queue does not count. */
  readonly timeoutMs: number
  readonly random: () => number
  /** The current instant, epoch milliseconds; the base of `Retry-After`. */
  readonly clock: () => number
  /** The drift check of an endpoint's answers. */
  readonly drift?: (endpoint: AnyEndpoint) => ShapeWatch | undefined
  /** The items are a few lists, not stocks or indices. */
  readonly isList?: boolean
  readonly onRequestEvent: (type: 'requested' | 'retried' | 'rate-limited', item?: string) => void
  readonly watch?: RequestWatch | undefined
}

interface EndpointRoute<Input, Answer> {
  readonly endpoint: Endpoint<Input, Answer>
  readonly limiter: HostLimiter
  readonly toRequest: (input: Input) => HttpRequest
  readonly drift: ShapeWatch | undefined
  readonly shared: SharedDependencies
}

interface SharedDependencies extends AskDependencies {
  readonly deadlines: DeadlineSweep
  readonly redact: Redact
  readonly policy: RetryPolicy
}

/** Creates the request function of an item. Its worker slot is released as soon as the answers have arrived, before they are decoded. */
export const createAsk = (dependencies: AskDependencies): ((slot: WorkerSlot, item?: string) => Ask) => {
  const { settings, limiters, timeoutMs, random } = dependencies
  const { retries, throttleRetries, backoffMs, throttleMs, throttleMaxMs } = settings
  const policy = { retries, throttleRetries, backoffMs, throttleMs, throttleMaxMs, random, hasLimiter: true }
  const shared = { ...dependencies, deadlines: createDeadlineSweep(), redact: createRedactor(settings), policy }
  const routes = new Map<AnyEndpoint, EndpointRoute<unknown, unknown>>()
  const open = (endpoint: AnyEndpoint): EndpointRoute<unknown, unknown> => {
    const toRequest = createRequestBuilder(endpoint, settings, timeoutMs)
    const route = { endpoint, limiter: limiters.forEndpoint(endpoint), shared, toRequest, drift: shared.drift?.(endpoint) }
    routes.set(endpoint, route)
    return route
  }
  return (slot, item = '') =>
    <Input, Answer>(endpoint: Endpoint<Input, Answer>, input: Input, { failFast = false }: AskOptions = {}) => {
      const route = (routes.get(endpoint) ?? open(endpoint)) as EndpointRoute<Input, Answer>
      return new Observable<Answer>((subscriber) => new PendingRequest(route, { input, item, slot, failFast }, subscriber).begin())
    }
}

/**
 * One request: waits for a worker, for the permits of endpoint and host, for its reply, and for its retries. It observes its transport, and
 * the deadlines watch it. An object instead of operators and their closures, because a run sends 20,000 requests.
 */
class PendingRequest<Input, Answer> extends LimitedRequest implements Observer<HttpReply>, AwaitedReply {
  readonly item: string
  readonly failFast: boolean
  readonly isList: boolean
  readonly idleMs: number
  readonly totalMs: number
  /** While an attempt is sent. A transport that ends at once may still emit after its reply was refused. */
  transfer: LinkTransfer | undefined
  private hasWorker = false
  /** What it waits for: a worker, the reply, or the pause before a retry. */
  private waiting: Subscription | undefined
  private sent: HttpRequest | undefined
  private attempts = 0
  private retryDelay: ReturnType<typeof createRetryDelay> | undefined
  /** The attempt as `around` sees it. */
  private wrapped: Subscriber<Answer> | undefined
  private watched: WatchedAttempt | undefined

  constructor(
    private readonly route: EndpointRoute<Input, Answer>,
    private readonly given: { readonly input: Input; readonly item: string; readonly slot: WorkerSlot; readonly failFast: boolean },
    private readonly subscriber: Subscriber<Answer>,
  ) {
    super(route.limiter)
    const { isList = false, timeoutMs } = route.shared
    this.item = given.item
    this.failFast = given.failFast
    this.isList = isList
    this.idleMs = timeoutMs
    this.totalMs = timeoutMs * TOTAL_FACTOR
  }

  begin(): void {
    this.subscriber.add(this)
    this.attempt()
  }

  private attempt(): void {
    const { around } = this.limiter
    if (this.subscriber.closed) return
    if (around === undefined) {
      this.acquireWorker()
      return
    }
    const attempt$ = new Observable<Answer>((wrapped) => {
      this.wrapped = wrapped
      this.acquireWorker()
      return () => {
        if (this.wrapped === wrapped) this.abort()
      }
    })
    const { subscriber } = this
    const answered = { next: (answer: Answer) => subscriber.next(answer), complete: () => subscriber.complete() }
    subscriber.add(around(attempt$).subscribe({ ...answered, error: (error: unknown) => this.retry(error) }))
  }

  private acquireWorker(): void {
    if (this.hasWorker) {
      this.enqueue()
      return
    }
    const leave = this.given.slot.acquire(() => {
      this.waiting = undefined
      this.hasWorker = true
      this.enqueue()
    })
    if (leave) this.wait(new Subscription(leave))
  }

  private wait(begun: Subscription): void {
    if (this.subscriber.closed) begun.unsubscribe()
    else if (!begun.closed) this.waiting = begun
  }

  protected send(): void {
    const { endpoint, toRequest, shared } = this.route
    const { watch, clock, onRequestEvent, redact } = shared
    const { item } = this
    try {
      const attempt = this.attempts++
      if (attempt > 0) onRequestEvent('retried', item)
      onRequestEvent('requested')
      const request = toRequest(this.given.input)
      this.sent = request
      const at = watch ? clock() : 0
      const follower = watch?.begin?.({ endpoint, at, url: redact(request.url), item, attempt })
      if (watch) this.watched = { at, follower, status: undefined, bytes: 0, ms: undefined }
      if (follower) follower.run(() => this.transmit(request))
      else this.transmit(request)
    } catch (error) {
      this.fail(error)
    }
  }

  private transmit(request: HttpRequest): void {
    const { limiters, deadlines, transport } = this.route.shared
    // An observer of the request may have cancelled it.
    if (this.subscriber.closed) return
    const transfer = new LinkTransfer(limiters.link)
    // Called for a 200 only: the worker of a refused request may have to wait with it.
    const arrived = (): void => {
      transfer.isComplete = true
      // While the host recovers, retries of started items go before requests of new ones.
      if (!this.isUnhealthy()) this.releaseWorker()
    }
    this.transfer = transfer
    deadlines.add(this)
    const begun = transport({ ...request, arrived, transfer }).subscribe(this)
    // It may have failed at once, and wait for its retry.
    if (this.transfer === transfer) this.wait(begun)
    else begun.unsubscribe()
  }

  next(reply: HttpReply): void {
    const { shared } = this.route
    const { watched } = this
    if (this.transfer === undefined) return
    shared.deadlines.remove(this)
    if (watched) Object.assign(watched, { status: reply.status, bytes: reply.body.length, ms: shared.clock() - watched.at })
    let answer: Answer
    try {
      answer = this.read(acceptReply(reply, shared))
    } catch (error) {
      this.fail(error, reply)
      return
    }
    this.endWatch(undefined)
    this.countAnswer()
    const { wrapped = this.subscriber } = this
    wrapped.next(answer)
  }

  private read(reply: HttpReply): Answer {
    const { endpoint, drift } = this.route
    const answer = endpoint.readBytes?.(reply.body)
    if (answer === undefined) return endpoint.read(readReplyText(reply, endpoint), this.given.input, drift?.forItem(this.item))
    drift?.countAsExpected()
    return answer
  }

  error(error: unknown): void {
    if (this.transfer) this.fail(error)
  }

  complete(): void {
    if (this.transfer === undefined) return
    const { wrapped = this.subscriber } = this
    wrapped.complete()
  }

  /** The attempt failed. A failure gets its request and its reply, at no cost for a success. */
  fail(error: unknown, reply?: HttpReply): void {
    const described = error instanceof CollectError && error.request === undefined ? this.addExchange(error, reply) : error
    this.stop()
    this.endWatch(described instanceof CollectError ? described.code : 'error')
    const { failure, pauseMs } = this.countFailure(described)
    if (pauseMs === undefined) {
      this.endAttempt(failure)
      return
    }
    // Its worker can do other work. In a back-off of its endpoint the request waits in the limiter and keeps it.
    this.releaseWorker()
    this.wait(timer(pauseMs).subscribe(() => this.endAttempt(failure)))
  }

  private addExchange(error: CollectError, reply: HttpReply | undefined): CollectError {
    const { endpoint, shared } = this.route
    const { method, host, path } = endpoint
    const { stream, redact } = shared
    return error.during({
      request: { method, host, path, url: redact(this.sent?.url ?? ''), stream, item: this.item },
      response: reply && describeResponse(reply, redact),
    })
  }

  reject(error: HostClosedError): void {
    this.leave()
    this.endAttempt(error)
  }

  private endAttempt(failure: unknown): void {
    const { wrapped } = this
    // Its end must not end the wait of the retry.
    this.wrapped = undefined
    if (wrapped === undefined) this.retry(failure)
    else wrapped.error(failure)
  }

  private retry(failure: unknown): void {
    this.retryDelay ??= createRetryDelay(this.route.shared.policy)
    const delay$ = this.retryDelay(failure).pipe(take(1))
    this.wait(delay$.subscribe({ next: () => this.attempt(), error: (error: unknown) => this.subscriber.error(error) }))
  }

  private releaseWorker(): void {
    if (this.hasWorker) this.given.slot.release()
    this.hasWorker = false
  }

  /** Ends the attempt without a result. */
  private abort(): void {
    this.endWatch('cancelled')
    this.stop()
    this.leave()
  }

  private stop(): void {
    this.route.shared.deadlines.remove(this)
    this.transfer = undefined
    this.waiting?.unsubscribe()
    this.waiting = undefined
  }

  /** The request has ended. Its worker is free after that: earlier, the next request would start too early. */
  unsubscribe(): void {
    this.abort()
    this.releaseWorker()
  }

  private endWatch(failure: string | undefined): void {
    const { watched } = this
    if (watched === undefined) return
    this.watched = undefined
    const { endpoint, shared } = this.route
    const { at, follower, status, bytes, ms = shared.clock() - at } = watched
    const ended = { endpoint, at, failure, status, bytes, ms }
    shared.watch?.end(ended)
    follower?.end(ended)
  }
}

interface WatchedAttempt {
  readonly at: number
  readonly follower: RequestFollower | undefined
  status: number | undefined
  bytes: number
  ms: number | undefined
}

/** Returns a 200 with a body; throws for any other reply. */
const acceptReply = (reply: HttpReply, { clock, onRequestEvent }: AskDependencies): HttpReply => {
  if (reply.status === 200 && reply.body.length === 0) throw new BadAnswerError('empty', 'the body is empty')
  if (reply.status === 200) return reply
  const pauseMs = parseRetryAfter(reply.retryAfter, clock())
  if (reply.status !== 429) throw new HttpError(reply.status, pauseMs)
  onRequestEvent('rate-limited')
  throw new ThrottledError(pauseMs)
}

const USER_AGENT = 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36'

/** Returns a function that builds the requests to an endpoint; common parts are built once. A path in the host's base address is kept. */
export const createRequestBuilder = <Input>(
  { name, host, method, path, headers: set }: Endpoint<Input, unknown>,
  settings: Settings,
  timeoutMs: number,
): ((input: Input) => HttpRequest) => {
  const base = findAddress(settings, host)?.replace(/\/+$/, '')
  if (base === undefined) throw new UsageError(`${toAddressSetting(host)} is not set; ${name} needs it`)
  const url = base + path
  const usual = { 'accept-encoding': 'gzip', ...selectHeaders(set, settings), ...findHeaders(settings, host) }
  const headers = method === 'POST' ? { 'content-type': 'application/json', ...usual } : usual
  if (method === 'POST') return (input) => ({ method, url, headers, timeoutMs, body: JSON.stringify(input) })
  return (input) => ({ method, url: base + fillPath(path, input as Readonly<Record<string, string>>), headers, timeoutMs })
}

/** Fills the placeholders of a path. Values are percent-encoded, except for slashes. */
const fillPath = (path: string, values: Readonly<Record<string, string>>): string =>
  path.replace(/\{(\w+)\}/g, (_, name: string) => (values[name] ?? '').split('/').map(encodeURIComponent).join('/'))

/** The headers that the interface document specifies for each endpoint. */
const selectHeaders = (set: HeaderSet, settings: Settings): Readonly<Record<string, string>> => {
  if (set === 'bare') return {}
  if (set === 'browser') return { accept: '*/*', 'user-agent': USER_AGENT }
  const usual = { accept: 'application/json, text/plain, */*', 'accept-language': 'en-IN,en;q=0.9', 'user-agent': USER_AGENT }
  const site = set === 'origin' ? (findAddress(settings, 'web') ?? findAddress(settings, 'analytics')) : undefined
  return site === undefined ? usual : { ...usual, origin: new URL(site).origin }
}
