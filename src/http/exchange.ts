import { gunzip, gunzipSync } from 'node:zlib'
import { asyncScheduler, Observable, type Subscriber } from 'rxjs'
import type { Dispatcher } from 'undici'
import { TransportError } from '../model/errors.js'
import { findAddress, listHeaders, listHosts, type Settings } from '../model/settings.js'
import { findRetryAfter } from '../model/text.js'
import type { Transfer } from '../operators/deadline.js'
import { type NetworkProxy, toProxyReplyError } from './proxy.js'
import type { CachedReply, HttpReply, HttpRequest, Transport } from './transport.js'
import {
  describeTransportError,
  type OriginRecord,
  type ReplyHeaders,
  readErrorReply,
} from './transport-errors.js'

/**
 * A dispatcher of undici: an agent, a proxy, a mock, or one with interceptors. Whoever creates it closes it.
 */
export type HttpDispatcher = Pick<Dispatcher, 'dispatch'>

/** What requests to an origin go through: a pool, or the agent of a proxy. */
export interface OriginRoute {
  readonly origin: string
  readonly agent: HttpDispatcher
  /** The agent, if it is to be closed with the connections. */
  readonly own?: Dispatcher
  readonly proxy?: NetworkProxy | undefined
  readonly record?: OriginRecord
}

interface Sender {
  readonly findTarget: (request: HttpRequest) => { readonly route: OriginRoute; readonly path: string }
  readonly redirect: Redirect | undefined
  readonly budget: BodyBudget
  /** Runs a task in a later turn. */
  readonly schedule: (task: () => void) => void
}

/**
 * Creates a transport that sends through the routes which `findTarget` returns, and follows redirects to the
 * addresses in `settings`.
 */
export const createTransport = (
  findTarget: Sender['findTarget'],
  settings: Settings | undefined,
): Transport => {
  const sender = {
    findTarget,
    redirect: settings && createRedirect(settings),
    budget: createBodyBudget(),
    schedule: createTimeSlicer(),
  }
  return (request) =>
    new Observable((subscriber) => {
      // An observer of the request may have cancelled it.
      if (subscriber.closed) return
      const exchange = new Exchange(sender, request, subscriber)
      exchange.send()
      return () => exchange.cancel()
    })
}

/**
 * One request and its reply so far: the handler that undici calls, and the share of the memory budget.
 * undici's own promises and an AbortSignal per request would add half of the request's CPU cost.
 */
class Exchange implements Dispatcher.DispatchHandler, BodyShare {
  bytes = 0
  private readonly transfer: Transfer
  private readonly chunks: Buffer[] = []
  private isOver = false
  private controller: Dispatcher.DispatchController | undefined
  private status = 0
  private headers: ReplyHeaders = {}
  private route: OriginRoute | undefined
  private hop = 0

  constructor(
    private readonly sender: Sender,
    private request: HttpRequest,
    private readonly subscriber: Subscriber<HttpReply>,
  ) {
    this.transfer = request.transfer ?? { bytesAt: 0 }
  }

  send(): void {
    const { method, headers: given, body = null, timeoutMs } = this.request
    const { route, path } = this.sender.findTarget(this.request)
    const { origin, agent, own, proxy } = route
    this.route = route
    // The agent of a proxy adds a header, and a dispatcher of the app may change them.
    const headers = proxy || !own ? { ...given } : given
    try {
      agent.dispatch(
        { origin, path, method, headers, body, headersTimeout: timeoutMs, bodyTimeout: timeoutMs },
        this,
      )
    } catch (error) {
      // A mock throws at once if it has no answer.
      this.fail(error)
    }
  }

  /** Cancels the request, or frees the memory of its reply. */
  cancel(): void {
    this.sender.budget.release(this)
    if (this.isOver) return
    this.isOver = true
    this.controller?.abort(new Error('cancelled'))
  }

  pause(): void {
    this.transfer.bytesAt = Number.POSITIVE_INFINITY
    this.controller?.pause()
  }

  resume(): void {
    this.transfer.bytesAt = asyncScheduler.now()
    this.controller?.resume()
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.controller = controller
    if (this.isOver) controller.abort(new Error('cancelled'))
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number, headers: ReplyHeaders): void {
    // Raw headers are slices of the socket's 64 KiB buffer; their list, in the old generation, would keep it
    // until the next major GC.
    if (Array.isArray(controller.rawHeaders)) controller.rawHeaders.length = 0
    // An interim response (103) is no progress: a host that sends nothing else is as silent as one that sends
    // nothing.
    if (status < 200 && status !== 101) return
    this.transfer.bytesAt = asyncScheduler.now()
    this.status = status
    this.headers = headers
    if (this.route?.record) this.route.record.hasAnswered = true
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.chunks.push(chunk)
    this.transfer.bytesAt = asyncScheduler.now()
    this.sender.budget.take(this, chunk.length)
    if (this.bytes > MAX_REPLY_BYTES)
      controller.abort(new TransportError('too_large', `the answer is larger than ${MAX_REPLY_BYTES} bytes`))
  }

  onResponseEnd(): void {
    const encoding = this.headers['content-encoding']
    // Emptied, not replaced: the list is in the old generation too, and would keep the chunks until the next
    // major GC.
    const chunks = this.chunks.splice(0)
    const body = chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks)
    if (encoding === 'gzip') this.decompress(body)
    else if (encoding === undefined || encoding === 'identity') this.finish(null, body)
    else this.finish(new TransportError('protocol', `unsupported content-encoding ${String(encoding)}`), body)
  }

  onResponseError(_: unknown, error: Error): void {
    const reply = readErrorReply(error)
    if (reply === undefined) {
      this.fail(error)
      return
    }
    this.status = reply.status
    this.headers = reply.headers
    this.finish(null, reply.body)
  }

  private decompress(body: Buffer): void {
    const limit = { maxOutputLength: MAX_REPLY_BYTES }
    if (body.length > MAX_BYTES_AT_ONCE) {
      gunzip(body, limit, (error, whole) => this.finish(error, whole))
      return
    }
    let whole: Buffer
    try {
      whole = gunzipSync(body, limit)
    } catch (error) {
      this.finish(error as Error)
      return
    }
    this.finish(null, whole)
  }

  private finish(error: Error | null, body: Buffer = Buffer.alloc(0)): void {
    if (this.isOver) return
    // Only a 200 is decoded: a broken body must not hide any other status.
    if (error && this.status === 200) {
      this.fail(error)
      return
    }
    const { sender, subscriber, request, route } = this
    const refusal = route?.proxy && toProxyReplyError(this.status, this.headers, route)
    if (refusal) {
      this.fail(refusal)
      return
    }
    if (this.headers['content-encoding'] !== undefined) sender.budget.take(this, body.length)
    const reply = toHttpReply(this.status, this.headers, body)
    const next = sender.redirect?.(reply, request, this.hop)
    if (next) {
      sender.budget.release(this)
      this.request = next
      this.hop += 1
      this.status = 0
      this.controller = undefined
      this.send()
      return
    }
    this.isOver = true
    const emit = (): void => {
      subscriber.next(reply)
      subscriber.complete()
    }
    // Nothing to decode, and the limiter must know the status before it admits another request.
    if (reply.status !== 200) {
      emit()
      return
    }
    this.transfer.isComplete = true
    sender.schedule(emit)
  }

  private fail(error: unknown): void {
    if (this.isOver) return
    this.isOver = true
    this.sender.budget.release(this)
    this.subscriber.error(describeTransportError(error, this.status !== 0, this.route))
  }
}

/** The reply, with those header fields that are used. */
const toHttpReply = (status: number, headers: ReplyHeaders, body: Uint8Array): HttpReply => ({
  status,
  body,
  retryAfter:
    status === 429
      ? findRetryAfter((name) => toHeaderText(headers[name]))
      : toHeaderText(headers['retry-after']),
  // The site redirects its data files so.
  location: toHeaderText(headers.location ?? headers['x-nextjs-redirect']),
  contentType: toHeaderText(headers['content-type']),
  cache: describeCache(headers),
  isUnframed: (headers['content-length'] ?? headers['transfer-encoding']) === undefined ? true : undefined,
})

const CACHE_HEADERS = ['age', 'x-cache', 'via', 'warning'] as const
const MAX_CACHE_TEXT = 60

/** What the headers say about a cache; nothing if there is none. */
const describeCache = (headers: ReplyHeaders): CachedReply | undefined => {
  if (CACHE_HEADERS.every((name) => headers[name] === undefined)) return undefined
  const shown = CACHE_HEADERS.flatMap((name) => {
    const text = toHeaderText(headers[name])?.slice(0, MAX_CACHE_TEXT)
    return text === undefined ? [] : [`${name}: ${text}`]
  })
  const age = Number(toHeaderText(headers.age) ?? 0)
  const isStale = /^\s*11[01]\b/.test(toHeaderText(headers.warning) ?? '')
  return { age: age > 0 ? age : 0, isStale, shown: shown.join(', ') }
}

const toHeaderText = (field: string | string[] | undefined): string | undefined =>
  typeof field === 'string' ? field : undefined

/**
 * Up to this size, to decompress at once takes less CPU time (34 of 59 µs at 5 kB) than to wait for the
 * thread pool.
 */
const MAX_BYTES_AT_ONCE = 16 * 1024

/** The share of the memory budget that one response body uses. */
interface BodyShare {
  /** The bytes in memory; counted by the budget. */
  bytes: number
  pause(): void
  resume(): void
}

type BodyBudget = ReturnType<typeof createBodyBudget>

/** Far more than usual bodies need together; two bodies of the maximum size. */
const MAX_BYTES_IN_FLIGHT = 64 * 1024 * 1024

/** Limit of a body, compressed and decompressed. The largest answer of a whole market is a third of it. */
export const MAX_REPLY_BYTES = 32 * 1024 * 1024

/**
 * Bounds the bytes of all response bodies that are being received or wait to be decoded. Above the limit only
 * one body is received further, until it ends and frees memory; the other sockets are paused (back-pressure).
 * Memory never exceeds the limit plus one body of the maximum size.
 */
export const createBodyBudget = (limit = MAX_BYTES_IN_FLIGHT) => {
  const paused = new Set<BodyShare>()
  let total = 0
  let favoured: BodyShare | undefined
  const resumePaused = (): void => {
    for (const next of paused) {
      if (total > limit && favoured !== undefined) return
      if (total > limit) favoured = next
      paused.delete(next)
      next.resume()
    }
  }
  return {
    /** Counts received bytes; pauses the body if the budget is exceeded. */
    take: (share: BodyShare, bytes: number): void => {
      share.bytes += bytes
      total += bytes
      if (total <= limit || favoured === share || paused.has(share)) return
      if (favoured === undefined) favoured = share
      else {
        paused.add(share)
        share.pause()
      }
    },
    /** The body was decoded or discarded. Idempotent. */
    release: (share: BodyShare): void => {
      total -= share.bytes
      share.bytes = 0
      paused.delete(share)
      if (favoured === share) favoured = undefined
      if (paused.size > 0) resumePaused()
    },
  }
}

/** Time budget of one turn; a single task may exceed it. */
const MAX_SLICE_MS = 1

/**
 * Creates a queue that runs tasks in order, about 1 ms of them per turn of the event loop. Replies that
 * arrive together would otherwise block all sockets until the last one is decoded. A task never runs in the
 * turn that queued it.
 */
export const createTimeSlicer = (): ((task: () => void) => void) => {
  const waiting: (() => void)[] = []
  let isScheduled = false
  const scheduleTurn = (): void => {
    if (!isScheduled && waiting.length > 0) setImmediate(turn)
    isScheduled = waiting.length > 0
  }
  const turn = (): void => {
    isScheduled = false
    const end = performance.now() + MAX_SLICE_MS
    do waiting.shift()?.()
    while (waiting.length > 0 && performance.now() < end)
    scheduleTurn()
  }
  return (task) => {
    waiting.push(task)
    scheduleTurn()
  }
}

/**
 * Returns the request that follows a redirect, or nothing if the reply is the answer. The first request is
 * hop 0.
 */
type Redirect = (reply: HttpReply, request: HttpRequest, hop: number) => HttpRequest | undefined

const MAX_HOPS = 2

const keepsMethod = ({ method }: HttpRequest, { status }: HttpReply): boolean =>
  status === 307 || status === 308 || (method === 'GET' && status >= 301 && status <= 303)

/**
 * Follows a redirect that keeps the method, leads to one of the configured hosts and does not downgrade https
 * to http. The headers of the settings are removed: they are for the original address. Any other redirect is
 * returned as the answer.
 */
export const createRedirect = (settings: Settings): Redirect => {
  const addresses = listHosts(settings).flatMap((host) => findAddress(settings, host) ?? [])
  const origins = new Set(addresses.map((url) => new URL(url).origin))
  const own = new Set(listHeaders(settings).map(([name]) => name.toLowerCase()))
  return (reply, request, hop) => {
    const { location } = reply
    if (
      hop >= MAX_HOPS ||
      location === undefined ||
      !keepsMethod(request, reply) ||
      !URL.canParse(location, request.url)
    )
      return undefined
    const target = new URL(location, request.url)
    const isDowngrade = request.url.startsWith('https:') && target.protocol === 'http:'
    if (!origins.has(target.origin) || isDowngrade || target.username !== '' || target.password !== '')
      return undefined
    const headers = Object.fromEntries(
      Object.entries(request.headers).filter(([name]) => !own.has(name.toLowerCase())),
    )
    return { ...request, url: target.href, headers }
  }
}
