import type { Observable } from 'rxjs'
import type { Transfer } from '../operators/deadline.js'

/** A request as a transport sends it. */
export interface HttpRequest {
  readonly method: 'GET' | 'POST'
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
  /** The longest time without a byte of the answer, the first one included. */
  readonly timeoutMs: number
  /** Where a transport notes when bytes come, and `Infinity` while it does not read them. It need not; then an answer must be whole in `timeoutMs`. */
  readonly transfer?: Transfer
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
