import { Socket } from 'node:net'
import { asyncScheduler, concatMap, defer } from 'rxjs'
import { buildConnector, type Dispatcher, Pool, type ProxyAgent } from 'undici'
import type { Transfer } from '../operators/deadline.js'
import { type BodyBudget, type BodyShare, createBodyBudget, MAX_BODY_BYTES, unpack } from './body-budget.js'
import { skipContinue } from './interim.js'
import { findProxy, hasProxy, type NetworkProxy } from './proxy.js'
import { createTimeSlicer, type Receiver, type Sender, sendAndFollow } from './send-and-follow.js'
import { type Connections, type HttpRequest, type Redirect, type ReplyHeaders, type Transport, toHttpReply } from './transport.js'
import { toTransportError } from './transport-error.js'

const CONNECT_TIMEOUT_MS = 5_000

export interface ConnectionOptions {
  readonly redirect?: Redirect
  /** The maximum of connections by origin; other origins are unbounded. */
  readonly maxConnections?: ReadonlyMap<string, number>
  /** Names the proxies. Default: the environment of the process. */
  readonly env?: Readonly<Record<string, string | undefined>>
}

/** Opens keep-alive connections, one pool per origin, through the proxies of the environment. */
export const openConnections = ({
  redirect = () => undefined,
  maxConnections = new Map(),
  env = process.env,
}: ConnectionOptions = {}): Connections => {
  let createProxyAgent: typeof ProxyAgent | undefined
  const { findTarget, close } = createTargets(maxConnections, (origin, options) => {
    const proxy = createProxyAgent && findProxy(origin, env)
    return { origin, proxy, agent: createProxyAgent && proxy ? openProxied(createProxyAgent, proxy, options) : new Pool(origin, options) }
  })
  const sender: Sender = {
    dispatch: (request, receiver) => dispatch(findTarget(request), request, receiver),
    redirect,
    schedule: createTimeSlicer(),
  }
  const send: Transport = (request) => sendAndFollow(request, sender)
  if (!hasProxy(env)) return { send, close }
  // Loaded on demand: most machines need no proxy.
  const load = async (): Promise<void> => {
    createProxyAgent ??= (await import('undici')).ProxyAgent
  }
  return { send: (request) => defer(load).pipe(concatMap(() => send(request))), close }
}

/** What requests to an origin go through: a pool, or the agent of a proxy. */
interface Route {
  readonly origin: string
  readonly agent: Dispatcher
  readonly proxy: NetworkProxy | undefined
}

/** Tunnels https; requests of plain http name the whole address, because many proxies tunnel to port 443 only. */
const openProxied = (Agent: typeof ProxyAgent, { url }: NetworkProxy, { connect: _, ...options }: Pool.Options): ProxyAgent =>
  new Agent({
    ...{ ...options, uri: url, proxyTunnel: false, proxyTls: { timeout: CONNECT_TIMEOUT_MS } },
    factory: (origin, given) => new Pool(origin, { ...options, ...given }),
  })

/** The destination of a request, cached: most requests of a stream share one address. */
interface RequestTarget {
  readonly route: Route
  readonly path: string
  readonly budget: BodyBudget
}

/** Finds the destination of each request; opens a pool for each new origin. */
const createTargets = (maxConnections: ReadonlyMap<string, number>, open: (origin: string, options: Pool.Options) => Route) => {
  const routes = new Map<string, Route>()
  const targets = new Map<string, RequestTarget>()
  const { connect, abandon } = createConnector()
  const budget = createBodyBudget()
  const findRoute = (origin: string): Route => {
    const route =
      routes.get(origin) ??
      open(origin, { connections: maxConnections.get(origin) ?? null, pipelining: 1, connect, maxResponseSize: MAX_BODY_BYTES })
    routes.set(origin, route)
    return route
  }
  const findTarget = ({ method, url: address }: HttpRequest): RequestTarget => {
    const known = targets.get(address)
    if (known) return known
    const url = new URL(address)
    const target = { route: findRoute(url.origin), path: `${url.pathname}${url.search}`, budget }
    // Only POSTs share addresses; each GET may have its own.
    if (method === 'POST') targets.set(address, target)
    return target
  }
  const close = (): void => {
    for (const { agent } of routes.values()) void agent.destroy()
    routes.clear()
    targets.clear()
    abandon()
  }
  return { findTarget, close }
}

/** Closing a pool leaves its connecting sockets open until they connect or time out; `abandon` destroys them. */
const createConnector = (): { readonly connect: buildConnector.connector; readonly abandon: () => void } => {
  const open = buildConnector({ timeout: CONNECT_TIMEOUT_MS })
  const connecting = new Set<Socket>()
  return {
    connect(options, done) {
      // undici's connector returns its socket, though its type does not say so.
      const socket: unknown = open(options, (...result) => {
        if (socket instanceof Socket) connecting.delete(skipContinue(socket))
        done(...result)
      })
      if (socket instanceof Socket) connecting.add(socket)
    },
    abandon() {
      for (const socket of connecting) socket.destroy(new Error('closed'))
      connecting.clear()
    },
  }
}

/** A request that was dispatched, and its reply so far. */
interface Exchange {
  readonly transfer: Transfer
  readonly receiver: Receiver
  readonly proxy: NetworkProxy | undefined
  isOver: boolean
  controller: Dispatcher.DispatchController | undefined
  status: number
  headers: ReplyHeaders
  readonly chunks: Buffer[]
}

/** Uses undici's handler interface: an AbortSignal per request would add half of the request's CPU cost. */
const dispatch = ({ route, path, budget }: RequestTarget, request: HttpRequest, receiver: Receiver): (() => void) => {
  const { origin, agent, proxy } = route
  const { method, body = null, timeoutMs, transfer = { bytesAt: 0 } } = request
  // The agent of a proxy adds a header.
  const headers = proxy ? { ...request.headers } : request.headers
  const exchange: Exchange = { transfer, receiver, proxy, isOver: false, controller: undefined, status: 0, headers: {}, chunks: [] }
  const share = budget.open({ pause: () => pauseReading(exchange), resume: () => resumeReading(exchange) })
  agent.dispatch({ origin, path, method, headers, body, headersTimeout: timeoutMs, bodyTimeout: timeoutMs }, createHandler(exchange, share))
  return () => {
    share.release()
    if (exchange.isOver) return
    exchange.isOver = true
    exchange.controller?.abort(new Error('cancelled'))
  }
}

const pauseReading = ({ transfer, controller }: Exchange): void => {
  transfer.bytesAt = Number.POSITIVE_INFINITY
  controller?.pause()
}

const resumeReading = ({ transfer, controller }: Exchange): void => {
  transfer.bytesAt = asyncScheduler.now()
  controller?.resume()
}

const createHandler = (exchange: Exchange, share: BodyShare): Dispatcher.DispatchHandler => ({
  onRequestStart(controller) {
    exchange.controller = controller
    if (exchange.isOver) controller.abort(new Error('cancelled'))
  },
  onResponseStart(controller, status, headers) {
    // Raw headers are slices of the socket's 64 KiB buffer; their list, in the old generation, would keep it until the next major GC.
    if (Array.isArray(controller.rawHeaders)) controller.rawHeaders.length = 0
    exchange.transfer.bytesAt = asyncScheduler.now()
    exchange.status = status
    exchange.headers = headers
  },
  onResponseData(_, chunk) {
    exchange.chunks.push(chunk)
    exchange.transfer.bytesAt = asyncScheduler.now()
    share.take(chunk.length)
  },
  onResponseEnd() {
    // `splice` empties the list, which is in the old generation too and would keep the chunks.
    unpack(exchange.headers['content-encoding'], exchange.chunks.splice(0), (error, whole) => finish(exchange, share, error, whole))
  },
  onResponseError(_, error) {
    if (exchange.isOver) return
    exchange.isOver = true
    fail(exchange, share, error)
  },
})

const finish = (exchange: Exchange, share: BodyShare, error: unknown, body?: Buffer): void => {
  const { status, headers, receiver } = exchange
  if (exchange.isOver) return
  exchange.isOver = true
  if (body && headers['content-encoding'] !== undefined) share.take(body.length)
  // Only a 200 is decoded: a broken body must not hide any other status.
  if (error && status === 200) fail(exchange, share, error)
  else receiver.reply(toHttpReply(status, headers, body ?? Buffer.alloc(0)), share.release)
}

const fail = ({ receiver, status, proxy }: Exchange, share: BodyShare, error: unknown): void => {
  share.release()
  receiver.fail(toTransportError(error, status !== 0, proxy))
}
