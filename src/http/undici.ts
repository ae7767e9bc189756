import { Socket } from 'node:net'
import { asyncScheduler, Observable } from 'rxjs'
import { buildConnector, type Dispatcher, Pool } from 'undici'
import type { TransportError } from '../model/errors.js'
import { type BodyBudget, createBodyBudget } from './body-budget.js'
import { skipContinue } from './interim.js'
import { createTimeSlicer } from './time-slicer.js'
import type { HttpReply, HttpRequest, Redirect, Transport } from './transport.js'
import { toTransportError } from './transport-error.js'
import { MAX_BODY_BYTES, unpack } from './unpack.js'

export interface Connections {
  readonly send: Transport
  /** Closes every socket at once; requests in flight error. */
  readonly close: () => void
}

const CONNECT_TIMEOUT_MS = 5_000

export interface ConnectionOptions {
  readonly redirect?: Redirect
  /** The maximum of connections by origin; other origins are unbounded. */
  readonly maxConnections?: ReadonlyMap<string, number>
}

/** Opens keep-alive connections, one pool per origin. */
export const openConnections = ({ redirect = () => undefined, maxConnections = new Map() }: ConnectionOptions = {}): Connections => {
  const pools = new Map<string, Pool>()
  const { connect, abandon } = createConnector()
  const findPool = (origin: string): Pool => {
    const pool =
      pools.get(origin) ??
      new Pool(origin, { connections: maxConnections.get(origin) ?? null, pipelining: 1, connect, maxResponseSize: MAX_BODY_BYTES })
    pools.set(origin, pool)
    return pool
  }
  const schedule = createTimeSlicer()
  const budget = createBodyBudget()
  const targets = new Map<string, RequestTarget>()
  const findTarget = ({ method, url: address }: HttpRequest): RequestTarget => {
    const known = targets.get(address)
    if (known) return known
    const url = new URL(address)
    const target = { pool: findPool(url.origin), path: `${url.pathname}${url.search}`, budget }
    // Only POSTs share addresses; each GET may have its own.
    if (method === 'POST') targets.set(address, target)
    return target
  }
  return {
    send: (first) =>
      new Observable((subscriber) => {
        let cancel = (): void => undefined
        const go = (request: HttpRequest, hop: number): void => {
          cancel = dispatch(findTarget(request), request, {
            reply(reply, release) {
              const next = redirect(reply, request, hop)
              if (next) {
                release()
                return go(next, hop + 1)
              }
              const emit = (): void => {
                subscriber.next(reply)
                subscriber.complete()
                release()
              }
              // Nothing to decode, and the limiter must know the status before it admits another request.
              if (reply.status !== 200) return emit()
              request.arrived?.()
              schedule(emit)
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

/** The destination of a request, cached: most requests of a stream share one address. */
interface RequestTarget {
  readonly pool: Pool
  readonly path: string
  readonly budget: BodyBudget
}

interface Receiver {
  /** The receiver must call `release` when it has decoded the body. */
  reply(reply: HttpReply, release: () => void): void
  fail(error: TransportError): void
}

/** Uses undici's handler interface: an AbortSignal per request would add half of the request's CPU cost. */
const dispatch = ({ pool, path, budget }: RequestTarget, request: HttpRequest, receiver: Receiver): (() => void) => {
  let isOver = false
  let started: Dispatcher.DispatchController | undefined
  let status = 0
  let headers: Readonly<Record<string, string | string[] | undefined>> = {}
  const chunks: Buffer[] = []
  const { method, body, timeoutMs, transfer = { bytesAt: 0 } } = request
  const share = budget.open({
    pause: () => {
      transfer.bytesAt = Number.POSITIVE_INFINITY
      started?.pause()
    },
    resume: () => {
      transfer.bytesAt = asyncScheduler.now()
      started?.resume()
    },
  })
  const fail = (error: unknown): void => {
    share.release()
    receiver.fail(toTransportError(error, status !== 0))
  }
  const handler: Dispatcher.DispatchHandler = {
    onRequestStart(controller) {
      started = controller
      if (isOver) controller.abort(new Error('cancelled'))
    },
    onResponseStart(controller, code, answered) {
      // Raw headers are slices of the socket's 64 KiB buffer; their list, in the old generation, would keep it until the next major GC.
      if (Array.isArray(controller.rawHeaders)) controller.rawHeaders.length = 0
      transfer.bytesAt = asyncScheduler.now()
      status = code
      headers = answered
    },
    onResponseData(_, chunk) {
      chunks.push(chunk)
      transfer.bytesAt = asyncScheduler.now()
      share.take(chunk.length)
    },
    onResponseEnd() {
      // `splice` empties the list, which is in the old generation too and would keep the chunks.
      unpack(headers['content-encoding'], chunks.splice(0), (error, whole) => {
        if (isOver) return
        isOver = true
        if (whole && headers['content-encoding'] !== undefined) share.take(whole.length)
        // Only a 200 is decoded: a broken body must not hide any other status.
        if (error && status === 200) return fail(error)
        const { location, 'retry-after': retryAfter, 'content-type': contentType } = headers
        const reply: HttpReply = {
          status,
          body: whole ?? Buffer.alloc(0),
          ...(headers['content-length'] === undefined && headers['transfer-encoding'] === undefined ? { isUnframed: true } : {}),
          ...(typeof retryAfter === 'string' ? { retryAfter } : {}),
          ...(typeof location === 'string' ? { location } : {}),
          ...(typeof contentType === 'string' ? { contentType } : {}),
        }
        receiver.reply(reply, share.release)
      })
    },
    onResponseError(_, error) {
      if (isOver) return
      isOver = true
      fail(error)
    },
  }
  pool.dispatch({ path, method, headers: request.headers, body: body ?? null, headersTimeout: timeoutMs, bodyTimeout: timeoutMs }, handler)
  return () => {
    share.release()
    if (isOver) return
    isOver = true
    started?.abort(new Error('cancelled'))
  }
}
