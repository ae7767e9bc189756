import { asyncScheduler } from 'rxjs'
import type { Dispatcher } from 'undici'
import { TransportError, type TransportReason } from '../model/errors.js'
import { describeNetworkError } from '../model/system-error.js'
import type { Transfer } from '../operators/deadline.js'
import { type BodyBudget, type BodyShare, MAX_BODY_BYTES, unpack } from './body-budget.js'
import { type NetworkProxy, toProxyError } from './proxy.js'
import type { Receiver } from './send-and-follow.js'
import { type HttpRequest, type ReplyHeaders, toHttpReply } from './transport.js'

/** A dispatcher of undici: an agent, a proxy, a mock, or one with interceptors. Whoever creates it closes it. */
export type HttpDispatcher = Pick<Dispatcher, 'dispatch'>

/** What requests to an origin go through: a pool, or the agent of a proxy. */
export interface Route {
  readonly origin: string
  readonly agent: HttpDispatcher
  /** The agent, if it is to be closed with the connections. */
  readonly own?: Dispatcher
  readonly proxy?: NetworkProxy | undefined
}

/** The destination of a request, cached: most requests of a stream share one address. */
export interface RequestTarget {
  readonly route: Route
  readonly path: string
  readonly budget: BodyBudget
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
  bytes: number
  readonly chunks: Buffer[]
}

/** Uses undici's handler interface: an AbortSignal per request would add half of the request's CPU cost. */
export const dispatch = ({ route, path, budget }: RequestTarget, request: HttpRequest, receiver: Receiver): (() => void) => {
  const { origin, agent, own, proxy } = route
  const { method, body = null, timeoutMs, transfer = { bytesAt: 0 } } = request
  // The agent of a proxy adds a header, and a dispatcher of the app may change them.
  const headers = proxy || !own ? { ...request.headers } : request.headers
  const exchange: Exchange = {
    transfer,
    receiver,
    proxy,
    isOver: false,
    controller: undefined,
    status: 0,
    headers: {},
    bytes: 0,
    chunks: [],
  }
  const share = budget.open({ pause: () => pauseReading(exchange), resume: () => resumeReading(exchange) })
  const handler = createHandler(exchange, share)
  try {
    agent.dispatch({ origin, path, method, headers, body, headersTimeout: timeoutMs, bodyTimeout: timeoutMs }, handler)
  } catch (error) {
    // A mock throws at once if it has no answer.
    endWithError(exchange, share, error)
  }
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
    // An interim response (103) is no progress: a host that sends nothing else is as silent as one that sends nothing.
    if (status < 200 && status !== 101) return
    exchange.transfer.bytesAt = asyncScheduler.now()
    exchange.status = status
    exchange.headers = headers
  },
  onResponseData(controller, chunk) {
    exchange.chunks.push(chunk)
    exchange.bytes += chunk.length
    exchange.transfer.bytesAt = asyncScheduler.now()
    share.take(chunk.length)
    if (exchange.bytes > MAX_BODY_BYTES)
      controller.abort(new TransportError('too_large', `the answer is larger than ${MAX_BODY_BYTES} bytes`))
  },
  onResponseEnd() {
    // `splice` empties the list, which is in the old generation too and would keep the chunks.
    unpack(exchange.headers['content-encoding'], exchange.chunks.splice(0), (error, whole) => finish(exchange, share, error, whole))
  },
  onResponseError: (_, error) => endWithError(exchange, share, error),
})

const endWithError = (exchange: Exchange, share: BodyShare, error: unknown): void => {
  if (exchange.isOver) return
  exchange.isOver = true
  fail(exchange, share, error)
}

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

const REASONS: Readonly<Record<string, TransportReason>> = {
  ECONNREFUSED: 'connect',
  EHOSTUNREACH: 'connect',
  ENETUNREACH: 'connect',
  ETIMEDOUT: 'connect',
  UND_ERR_CONNECT_TIMEOUT: 'connect',
  ENOTFOUND: 'dns',
  EAI_AGAIN: 'dns',
  UND_ERR_HEADERS_TIMEOUT: 'deadline',
  UND_ERR_BODY_TIMEOUT: 'deadline',
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'truncated',
  ERR_BUFFER_TOO_LARGE: 'too_large',
  UND_ERR_HEADERS_OVERFLOW: 'protocol',
  EMFILE: 'fd',
  ENFILE: 'fd',
}

/**
 * Converts an error of undici. `hasBegun`: part of the response had arrived. `proxy`: the request went through it. A request that a
 * `MockAgent` has no answer for is a mistake in a test: it stays as it is and ends the run, because an outage would be waited for.
 */
export const toTransportError = (error: unknown, hasBegun: boolean, proxy?: NetworkProxy): Error => {
  if (error instanceof TransportError || isUnmatchedMock(error)) return error
  const refused = proxy && toProxyError(error, proxy)
  if (refused) return refused
  const code = (error as { readonly code?: unknown }).code
  const reason = toTransportReason(typeof code === 'string' ? code : '', (error as Error).name, hasBegun)
  const advice = reason === 'fd' ? '; raise the limit with `ulimit -n`, or use fewer workers' : ''
  // A connection is to the proxy: a host behind it that is unreachable is the proxy's answer.
  const where = proxy && (reason === 'connect' || reason === 'dns') ? `the proxy ${proxy.shown} (${proxy.variable}) is not reachable: ` : ''
  return new TransportError(reason, where + describeNetworkError(error) + advice, { cause: error, hasBegun })
}

const isUnmatchedMock = (error: unknown): error is Error =>
  error instanceof Error && 'code' in error && error.code === 'UND_MOCK_ERR_MOCK_NOT_MATCHED'

const toTransportReason = (code: string, name: string, hasBegun: boolean): TransportReason => {
  const known = REASONS[code]
  if (known !== undefined) return known
  if (/CERT|SELF_SIGNED|^ERR_TLS|ERR_SSL|^UNABLE_TO_/.test(code)) return 'tls'
  if (code.startsWith('Z_')) return 'truncated'
  // undici's parser errors have no code.
  if (name === 'HTTPParserError' && !hasBegun) return 'protocol'
  return hasBegun ? 'truncated' : 'reset'
}
