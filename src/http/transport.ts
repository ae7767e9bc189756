import type { Observable } from 'rxjs'
import type { Transfer } from '../operators/deadline.js'
import type { AnyEndpoint } from './endpoint.js'

/** A request for a transport. */
export interface HttpRequest {
  /** Endpoints use GET and POST. */
  readonly method: 'GET' | 'POST' | 'PUT'
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
  /** Idle timeout: the longest time without a byte, from the start of the request on. */
  readonly timeoutMs: number
  /**
   * The transport may store here when bytes arrived, `Infinity` while it pauses reading, and that the reply
   * is complete, if it emits it some turns later. Otherwise `timeoutMs` is a total timeout.
   */
  readonly transfer?: Transfer
}

/** A reply with any status and a decompressed body. */
export interface HttpReply {
  readonly status: number
  readonly retryAfter?: string | undefined
  readonly contentType?: string | undefined
  /** The target of a redirect. */
  readonly location?: string | undefined
  readonly body: Uint8Array
  /** That the reply was stored by a cache on the way, as its headers say. */
  readonly cache?: CachedReply | undefined
  /** The reply has neither Content-Length nor chunked encoding: its body may be truncated. */
  readonly isUnframed?: boolean | undefined
}

export interface CachedReply {
  /** Seconds since the provider sent it; 0 if unknown. */
  readonly age: number
  /** A warning says that the cache did not ask whether it has changed. */
  readonly isStale: boolean
  /** `Age`, `X-Cache`, `Via` and `Warning`, for messages. */
  readonly shown: string
}

/**
 * Sends one request on subscription and emits its reply once; unsubscribing aborts it. Errors are
 * `TransportError`s.
 */
export type Transport = (request: HttpRequest) => Observable<HttpReply>

/** One attempt of a request that is about to be sent. */
export interface RequestStart {
  readonly endpoint: AnyEndpoint
  /** Epoch milliseconds. */
  readonly at: number
  /** Without secrets: its query is masked. */
  readonly url: string
  /** The stock, index or list. */
  readonly item: string
  /** 0 for the first attempt, 1 for the first retry. */
  readonly attempt: number
}

/** The end of one request, without its input and headers. */
export interface RequestEnd {
  readonly endpoint: AnyEndpoint
  /** When it was sent, epoch milliseconds. */
  readonly at: number
  /** Duration until the reply was complete, or the request failed. */
  readonly ms: number
  /** Absent without a complete reply. */
  readonly status: number | undefined
  /** Size of the decompressed body. */
  readonly bytes: number
  /**
   * The code of the failure: `http_403`, `rate_limit`, `html`, `deadline`, `cancelled`; absent on success.
   */
  readonly failure: string | undefined
}

/** Follows one attempt of a request. */
export interface RequestFollower {
  /**
   * Must call `send` once, at once. What runs within it, such as the client of HTTP, belongs to the request.
   */
  readonly run: (send: () => void) => void
  readonly end: (end: RequestEnd) => void
}

export interface RequestWatch {
  readonly begin?: ((start: RequestStart) => RequestFollower) | undefined
  readonly end: (end: RequestEnd) => void
}
