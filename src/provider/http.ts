import { Socket } from 'node:net'
import { Observable } from 'rxjs'
import { buildConnector, type Dispatcher, Pool } from 'undici'
import type { TransportError } from '../model/errors.js'
import { withoutContinue } from './interim.js'
import { transportErrorOf } from './transport-error.js'
import { createTurns } from './turns.js'
import { LONGEST_BODY, unpack } from './unpack.js'

/** A request as a transport sends it. */
export interface HttpRequest {
  readonly method: 'GET' | 'POST'
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
  /** Time that the whole request may take. */
  readonly timeoutMs: number
  /**
   * Called when the whole of a 200 is in, if that may be some turns before its reply is emitted: what asked has its worker free then. A
   * transport need not call it.
   */
  readonly arrived?: () => void
}

/** An answer with any status, its body decompressed. */
export interface HttpReply {
  readonly status: number
  readonly retryAfter?: string
  readonly contentType?: string
  /** Where a redirect leads. */
  readonly location?: string
  readonly body: Uint8Array
  /** Neither a length nor chunks said where the body ends: it may be cut, and only its text can tell. */
  readonly isUnframed?: boolean
}

/** Sends one request on subscription and emits its reply; unsubscribing aborts it. Errors are `TransportError`s. */
export type Transport = (request: HttpRequest) => Observable<HttpReply>

/** What to ask instead after a reply to the given request, the first of which is hop 0; nothing if the reply is the answer. */
export type Redirect = (reply: HttpReply, request: HttpRequest, hop: number) => HttpRequest | undefined

export interface Connections {
  readonly send: Transport
  /** Closes every socket at once; what is still in flight errors. */
  readonly close: () => void
}

const LONGEST_CONNECT_MS = 5_000

export interface ConnectionOptions {
  readonly redirect?: Redirect
  /** The most connections to an origin, as many as its streams have requests at the same time; for any other there is no bound. */
  readonly most?: ReadonlyMap<string, number>
}

/** Keep-alive connections, one pool an origin. */
export const openConnections = ({ redirect = () => undefined, most = new Map() }: ConnectionOptions = {}): Connections => {
  const pools = new Map<string, Pool>()
  const { connect, abandon } = createConnector()
  const poolOf = (origin: string): Pool => {
    const pool =
      pools.get(origin) ??
      new Pool(origin, { connections: most.get(origin) ?? null, pipelining: 1, connect, maxResponseSize: LONGEST_BODY })
    pools.set(origin, pool)
    return pool
  }
  const inTurn = createTurns()
  const targets = new Map<string, Target>()
  const targetOf = ({ method, url: address }: HttpRequest): Target => {
    const known = targets.get(address)
    if (known) return known
    const url = new URL(address)
    const target = { pool: poolOf(url.origin), path: `${url.pathname}${url.search}` }
    // What is posted differs in its body; the addresses of other requests may be as many as they.
    if (method === 'POST') targets.set(address, target)
    return target
  }
  return {
    send: (first) =>
      new Observable((subscriber) => {
        let cancel = (): void => undefined
        const go = (request: HttpRequest, hop: number): void => {
          cancel = dispatch(targetOf(request), request, {
            reply(reply) {
              const next = redirect(reply, request, hop)
              if (next) return go(next, hop + 1)
              const emit = (): void => {
                subscriber.next(reply)
                subscriber.complete()
              }
              // There is nothing to read, and the host's gate must hear of it before anything else is asked.
              if (reply.status !== 200) return emit()
              request.arrived?.()
              inTurn(emit)
            },
            fail: (error) => subscriber.error(error),
          })
        }
        go(first, 0)
        return () => cancel()
      }),
    close() {
      for (const pool of pools.values()) void pool.destroy()
      pools.clear()
      targets.clear()
      abandon()
    },
  }
}

/** Closing a pool would leave the sockets that are still on their way, until they arrive or their time is up. */
const createConnector = (): { readonly connect: buildConnector.connector; readonly abandon: () => void } => {
  const open = buildConnector({ timeout: LONGEST_CONNECT_MS })
  const onTheirWay = new Set<Socket>()
  return {
    connect(options, done) {
      // The client's own connector gives its socket back, though its type does not say so.
      const socket: unknown = open(options, (...result) => {
        if (socket instanceof Socket) onTheirWay.delete(withoutContinue(socket))
        done(...result)
      })
      if (socket instanceof Socket) onTheirWay.add(socket)
    },
    abandon() {
      for (const socket of onTheirWay) socket.destroy(new Error('closed'))
      onTheirWay.clear()
    },
  }
}

/** Where a request goes. Most requests of a stream go to the same address. */
interface Target {
  readonly pool: Pool
  readonly path: string
}

interface Receiver {
  reply(reply: HttpReply): void
  fail(error: TransportError): void
}

/** Straight over the pool's own handler: an AbortSignal for each request would cost half as much again as the request. */
const dispatch = ({ pool, path }: Target, request: HttpRequest, receiver: Receiver): (() => void) => {
  let isOver = false
  let started: Dispatcher.DispatchController | undefined
  let status = 0
  let headers: Readonly<Record<string, string | string[] | undefined>> = {}
  const chunks: Buffer[] = []
  const { method, body, timeoutMs } = request
  const handler: Dispatcher.DispatchHandler = {
    onRequestStart(controller) {
      started = controller
      if (isOver) controller.abort(new Error('cancelled'))
    },
    onResponseStart(controller, code, answered) {
      // Pieces of the socket's own buffer, all 64 KiB of it, in a list that has waited for them and is old by now.
      if (Array.isArray(controller.rawHeaders)) controller.rawHeaders.length = 0
      status = code
      headers = answered
    },
    onResponseData(_, chunk) {
      chunks.push(chunk)
    },
    onResponseEnd() {
      // The list, old as well, lets go of them.
      unpack(headers['content-encoding'], chunks.splice(0), (error, whole) => {
        if (isOver) return
        isOver = true
        // Only a 200 is read: a broken body must not hide what the status says.
        if (error && status === 200) return receiver.fail(transportErrorOf(error, true))
        const { location, 'retry-after': retryAfter, 'content-type': contentType } = headers
        receiver.reply({
          status,
          body: whole ?? Buffer.alloc(0),
          ...(headers['content-length'] === undefined && headers['transfer-encoding'] === undefined ? { isUnframed: true } : {}),
          ...(typeof retryAfter === 'string' ? { retryAfter } : {}),
          ...(typeof location === 'string' ? { location } : {}),
          ...(typeof contentType === 'string' ? { contentType } : {}),
        })
      })
    },
    onResponseError(_, error) {
      if (isOver) return
      isOver = true
      receiver.fail(transportErrorOf(error, status !== 0))
    },
  }
  pool.dispatch({ path, method, headers: request.headers, body: body ?? null, headersTimeout: timeoutMs, bodyTimeout: timeoutMs }, handler)
  return () => {
    if (isOver) return
    isOver = true
    started?.abort(new Error('cancelled'))
  }
}
