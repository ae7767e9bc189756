import { Socket } from 'node:net'
import { asyncScheduler, Observable } from 'rxjs'
import { buildConnector, type Dispatcher, Pool } from 'undici'
import type { TransportError } from '../model/errors.js'
import { type BodyBudget, createBodyBudget } from './body-budget.js'
import { withoutContinue } from './interim.js'
import type { HttpReply, HttpRequest, Redirect, Transport } from './transport.js'
import { transportErrorOf } from './transport-error.js'
import { createTurns } from './turns.js'
import { LONGEST_BODY, unpack } from './unpack.js'

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
  const budget = createBodyBudget()
  const targets = new Map<string, Target>()
  const targetOf = ({ method, url: address }: HttpRequest): Target => {
    const known = targets.get(address)
    if (known) return known
    const url = new URL(address)
    const target = { pool: poolOf(url.origin), path: `${url.pathname}${url.search}`, budget }
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
  readonly budget: BodyBudget
}

interface Receiver {
  /** `release` is to be called when the body has been read. */
  reply(reply: HttpReply, release: () => void): void
  fail(error: TransportError): void
}

/** Straight over the pool's own handler: an AbortSignal for each request would cost half as much again as the request. */
const dispatch = ({ pool, path, budget }: Target, request: HttpRequest, receiver: Receiver): (() => void) => {
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
    receiver.fail(transportErrorOf(error, status !== 0))
  }
  const handler: Dispatcher.DispatchHandler = {
    onRequestStart(controller) {
      started = controller
      if (isOver) controller.abort(new Error('cancelled'))
    },
    onResponseStart(controller, code, answered) {
      // Pieces of the socket's own buffer, all 64 KiB of it, in a list that has waited for them and is old by now.
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
      // The list, old as well, lets go of them.
      unpack(headers['content-encoding'], chunks.splice(0), (error, whole) => {
        if (isOver) return
        isOver = true
        if (whole && headers['content-encoding'] !== undefined) share.take(whole.length)
        // Only a 200 is read: a broken body must not hide what the status says.
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
