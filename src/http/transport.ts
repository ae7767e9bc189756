import type { Observable } from 'rxjs'
import type { Transfer } from '../operators/deadline.js'

/** A request for a transport. */
export interface HttpRequest {
  /** Endpoints use GET and POST. */
  readonly method: 'GET' | 'POST' | 'PUT'
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
  /** Idle timeout: the longest time without a byte, from the start of the request on. */
  readonly timeoutMs: number
  /** The transport may store here when bytes arrived, and `Infinity` while it pauses reading. Otherwise `timeoutMs` is a total timeout. */
  readonly transfer?: Transfer
  /** The transport may call this when a 200 is complete, if it emits the reply some turns later. The caller then releases its worker. */
  readonly arrived?: () => void
}

/** A reply with any status and a decompressed body. */
export interface HttpReply {
  readonly status: number
  readonly retryAfter?: string | undefined
  readonly contentType?: string | undefined
  /** The target of a redirect. */
  readonly location?: string | undefined
  readonly body: Uint8Array
  /** The reply has neither Content-Length nor chunked encoding: its body may be truncated. */
  readonly isUnframed?: boolean | undefined
}

/** Sends one request on subscription and emits its reply; unsubscribing aborts it. Errors are `TransportError`s. */
export type Transport = (request: HttpRequest) => Observable<HttpReply>
