import { defer, finalize, type Observable } from 'rxjs'
import type { LimiterRegistry } from '../limiter/limiter-registry.js'
import { createTransfer } from '../limiter/network-link.js'
import { BadAnswerError, HttpError, ThrottledError, UsageError } from '../model/errors.js'
import { getOrAdd } from '../model/map.js'
import { createRedactor } from '../model/redact.js'
import { findAddress, findHeaders, type Settings, toAddressSetting } from '../model/settings.js'
import { deadline } from '../operators/deadline.js'
import type { SlotUse, WorkerSlot } from '../operators/merge-map-pool.js'
import { parseRetryAfter } from '../operators/retry-after-429.js'
import { retryFailures } from '../operators/retry-failures.js'
import { decodeReply, type ReplyObserver, readReplyText } from './decode-reply.js'
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

type HostLimiter = ReturnType<LimiterRegistry['forEndpoint']>

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
  readonly watch?: ReplyObserver['watch']
}

/** Creates the request function of an item. Its worker slot is released as soon as the answers have arrived, before they are decoded. */
export const createAsk = (dependencies: AskDependencies): ((slot: WorkerSlot, item?: string) => Ask) => {
  const { settings, limiters, timeoutMs, random, clock, onRequestEvent, drift, watch, stream, isList = false } = dependencies
  const { retries, throttleRetries, backoffMs, throttleMs, throttleMaxMs } = settings
  const policy = { retries, throttleRetries, backoffMs, throttleMs, throttleMaxMs, random, hasLimiter: true }
  const observer = { clock, watch, stream, redact: createRedactor(settings) }
  const prepared = new Map<AnyEndpoint, { readonly toRequest: (input: unknown) => HttpRequest; readonly limiter: HostLimiter }>()
  const prepare = (endpoint: AnyEndpoint) => ({
    toRequest: createRequestBuilder(endpoint, settings, timeoutMs),
    limiter: limiters.forEndpoint(endpoint),
  })
  return (slot, item = '') =>
    (endpoint, input, { failFast = false } = {}) => {
      const { toRequest, limiter } = getOrAdd(prepared, endpoint, () => prepare(endpoint))
      const request = toRequest(input)
      const read = (reply: HttpReply) => readAnswer(endpoint, acceptReply(reply, dependencies), input, drift?.(endpoint), item)
      return defer(() => {
        const use = slot.use()
        const options = { item, isList, idleMs: timeoutMs, failFast, onOwnPause: use.release }
        const sent = { endpoint, url: request.url, item, attempt: -1 }
        const attempt$ = defer(() => {
          sent.attempt += 1
          if (sent.attempt > 0) onRequestEvent('retried', item)
          onRequestEvent('requested')
          return sendAttempt(request, limiter, use, dependencies).pipe(decodeReply(sent, read, observer))
        })
        return use.acquire(limiter.schedule(attempt$, options)).pipe(retryFailures(policy), finalize(use.release))
      })
    }
}

/** Sends the request once, with the timeouts of an attempt. A complete reply releases the worker before it is decoded. */
const sendAttempt = (
  request: HttpRequest,
  limiter: HostLimiter,
  use: SlotUse,
  { transport, limiters, timeoutMs }: AskDependencies,
): Observable<HttpReply> => {
  const transfer = createTransfer(limiters.link)
  const arrived = (): void => {
    transfer.isComplete = true
    // While the host recovers, retries of started items go before requests of new ones.
    if (!limiter.isUnhealthy()) use.release()
  }
  return transport({ ...request, arrived, transfer }).pipe(deadline({ idleMs: timeoutMs, totalMs: timeoutMs * TOTAL_FACTOR, transfer }))
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

const readAnswer = <Input, Answer>(
  endpoint: Endpoint<Input, Answer>,
  reply: HttpReply,
  input: Input,
  drift: ShapeWatch | undefined,
  item: string,
): Answer => {
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
