import { asyncScheduler, Observable, type Observer, type Subscriber } from 'rxjs'
import { LinkTransfer } from '../limiter/learn.js'
import type { HostLimiter, LimiterRegistry } from '../limiter/limiter-registry.js'
import { BadAnswerError, CollectError, HttpError, ThrottledError, UsageError } from '../model/errors.js'
import { getOrAdd } from '../model/map.js'
import { createRedactor, type Redact } from '../model/redact.js'
import { findAddress, findHeaders, type Settings, toAddressSetting } from '../model/settings.js'
import { type AwaitedReply, createDeadlineSweep, type DeadlineSweep } from '../operators/deadline.js'
import type { SlotUse, WorkerSlot } from '../operators/merge-map-pool.js'
import { parseRetryAfter } from '../operators/retry-after-429.js'
import { retryFailures } from '../operators/retry-failures.js'
import { describeResponse, type RequestEnd, type RequestFollower, type RequestWatch, readReplyText } from './decode-reply.js'
import type { ShapeWatch } from './drift.js'
import { type AnyEndpoint, type Endpoint, fillPath, type HeaderSet } from './endpoint.js'
import type { HttpReply, HttpRequest, Transport } from './transport.js'

/**
 * Sends one request to the provider. Emits the answer once, or errors with the last failure after the retries. This is the only place that
 * retries, and it repeats one request, never a whole item. Unsubscribing aborts the request.
 */
export type Ask = <Input, Answer>(endpoint: Endpoint<Input, Answer>, input: NoInfer<Input>, how?: AskOptions) => Observable<Answer>

/** How to send one request; nothing is required. */
export interface AskOptions {
  /** The caller has another source: fail at once while the host's circuit is open, instead of waiting. */
  readonly failFast?: boolean | undefined
}

/** The total timeout is this multiple of the idle timeout. */
const TOTAL_FACTOR = 6

export interface AskDependencies {
  readonly transport: Transport
  readonly settings: Settings
  /** The name of the stream, for errors. */
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
  /** Observes each request. */
  readonly watch?: RequestWatch | undefined
}

/** Creates the request function of an item. Its worker slot is released as soon as the answers have arrived, before they are decoded. */
export const createAsk = (dependencies: AskDependencies): ((slot: WorkerSlot, item?: string) => Ask) => {
  const { settings, limiters, timeoutMs, random, isList = false } = dependencies
  const { retries, throttleRetries, backoffMs, throttleMs, throttleMaxMs } = settings
  const policy = { retries, throttleRetries, backoffMs, throttleMs, throttleMaxMs, random, hasLimiter: true }
  const shared = { ...dependencies, deadlines: createDeadlineSweep(), redact: createRedactor(settings) }
  const prepared = new Map<AnyEndpoint, { readonly toRequest: (input: unknown) => HttpRequest; readonly limiter: HostLimiter }>()
  const prepare = (endpoint: AnyEndpoint) => ({
    toRequest: createRequestBuilder(endpoint, settings, timeoutMs),
    limiter: limiters.forEndpoint(endpoint),
  })
  return (slot, item = '') =>
    <Input, Answer>(endpoint: Endpoint<Input, Answer>, input: Input, { failFast = false }: AskOptions = {}) => {
      const { toRequest, limiter } = getOrAdd(prepared, endpoint, () => prepare(endpoint))
      const request = toRequest(input)
      return new Observable<Answer>((subscriber) => {
        const use = slot.use()
        const call = { ...{ endpoint, input, item, request, limiter, use, shared }, attempts: 0 }
        const attempt$ = new Observable<Answer>((attempt) => new Attempt(call, attempt).begin())
        const options = { item, isList, idleMs: timeoutMs, failFast, onOwnPause: use.release }
        use.acquire(limiter.schedule(attempt$, options)).pipe(retryFailures(policy)).subscribe(subscriber)
        // After the request has ended: earlier, the next one would start too early.
        subscriber.add(use.release)
      })
    }
}

/** One request, over all its attempts. */
interface Call<Input, Answer> {
  readonly endpoint: Endpoint<Input, Answer>
  readonly input: Input
  readonly item: string
  readonly request: HttpRequest
  readonly limiter: HostLimiter
  readonly use: SlotUse
  readonly shared: AskDependencies & { readonly deadlines: DeadlineSweep; readonly redact: Redact }
  attempts: number
}

/**
 * One attempt of a request: the observer of its transport, with its deadline. An object instead of operators and their closures, because a
 * run sends 20,000 requests.
 */
class Attempt<Input, Answer> implements Observer<HttpReply>, AwaitedReply {
  startedAt = asyncScheduler.now()
  readonly idleMs: number
  readonly totalMs: number
  readonly transfer: LinkTransfer
  private readonly number: number
  private sentAt = 0
  private follower: RequestFollower | undefined
  private arrival: Pick<RequestEnd, 'status' | 'bytes' | 'ms'> | undefined
  private hasEnded = false

  constructor(
    private readonly call: Call<Input, Answer>,
    private readonly subscriber: Subscriber<Answer>,
  ) {
    const { limiters, timeoutMs } = call.shared
    this.idleMs = timeoutMs
    this.totalMs = timeoutMs * TOTAL_FACTOR
    this.transfer = new LinkTransfer(limiters.link)
    this.number = call.attempts++
  }

  begin(): void {
    const { endpoint, item, request, shared } = this.call
    const { clock, watch, onRequestEvent, redact } = shared
    if (this.number > 0) onRequestEvent('retried', item)
    onRequestEvent('requested')
    if (watch) this.sentAt = clock()
    this.follower = watch?.begin?.({ endpoint, at: this.sentAt, url: redact(request.url), item, attempt: this.number })
    if (this.follower) this.follower.run(() => this.send())
    else this.send()
  }

  private send(): void {
    const { request, limiter, use, shared } = this.call
    const { transfer } = this
    const arrived = (): void => {
      transfer.isComplete = true
      // While the host recovers, retries of started items go before requests of new ones.
      if (!limiter.isUnhealthy()) use.release()
    }
    shared.deadlines.add(this)
    this.subscriber.add(this)
    this.subscriber.add(shared.transport({ ...request, arrived, transfer }).subscribe(this))
  }

  next(reply: HttpReply): void {
    const { shared } = this.call
    shared.deadlines.remove(this)
    if (shared.watch) this.arrival = { status: reply.status, bytes: reply.body.length, ms: shared.clock() - this.sentAt }
    let answer: Answer
    try {
      answer = readAnswer(this.call, acceptReply(reply, shared))
    } catch (error) {
      this.fail(error, reply)
      return
    }
    this.end(undefined)
    this.subscriber.next(answer)
  }

  error(error: unknown): void {
    this.fail(error)
  }

  complete(): void {
    this.subscriber.complete()
  }

  /** A failure gets its request and its reply, at no cost for a success. */
  fail(error: unknown, reply?: HttpReply): void {
    const failure = error instanceof CollectError && error.request === undefined ? this.addExchange(error, reply) : error
    this.end(failure instanceof CollectError ? failure.code : 'error')
    this.subscriber.error(failure)
  }

  private addExchange(error: CollectError, reply: HttpReply | undefined): CollectError {
    const { endpoint, request, item, shared } = this.call
    const { method, host, path } = endpoint
    const { stream, redact } = shared
    return error.during({
      request: { method, host, path, url: redact(request.url), stream, item },
      response: reply && describeResponse(reply, redact),
    })
  }

  unsubscribe(): void {
    this.call.shared.deadlines.remove(this)
    this.end('cancelled')
  }

  private end(failure: string | undefined): void {
    const { endpoint, shared } = this.call
    const { watch, clock } = shared
    if (watch === undefined || this.hasEnded) return
    this.hasEnded = true
    const { status, bytes, ms } = this.arrival ?? { status: undefined, bytes: 0, ms: clock() - this.sentAt }
    const ended = { endpoint, at: this.sentAt, failure, status, bytes, ms }
    watch.end(ended)
    this.follower?.end(ended)
  }
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

const readAnswer = <Input, Answer>({ endpoint, input, item, shared }: Call<Input, Answer>, reply: HttpReply): Answer => {
  const drift = shared.drift?.(endpoint)
  const answer = endpoint.readBytes?.(reply.body)
  if (answer === undefined) return endpoint.read(readReplyText(reply, endpoint), input, drift?.forItem(item))
  drift?.countAsExpected()
  return answer
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
  const usual = { 'accept-encoding': 'gzip', ...selectHeaders(set, settings) }
  const own = findHeaders(settings, host)
  if (method === 'POST') {
    const url = base + path
    const headers = { 'content-type': 'application/json', ...usual, ...own }
    return (input) => ({ method, url, headers, timeoutMs, body: JSON.stringify(input) })
  }
  const headers = { ...usual, ...own }
  return (input) => ({ method, url: base + fillPath(path, input as Readonly<Record<string, string>>), headers, timeoutMs })
}

/** The headers that the interface document specifies for each endpoint. */
const selectHeaders = (set: HeaderSet, settings: Settings): Readonly<Record<string, string>> => {
  const usual = { accept: 'application/json, text/plain, */*', 'accept-language': 'en-IN,en;q=0.9', 'user-agent': USER_AGENT }
  switch (set) {
    case 'bare':
      return {}
    case 'browser':
      return { accept: '*/*', 'user-agent': USER_AGENT }
    case 'usual':
      return usual
    case 'origin': {
      const site = findAddress(settings, 'web') ?? findAddress(settings, 'analytics')
      return site === undefined ? usual : { ...usual, origin: new URL(site).origin }
    }
  }
}
