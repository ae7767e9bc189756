import { Observable } from 'rxjs'
import type { TransportError } from '../model/errors.js'
import type { HttpReply, HttpRequest, Redirect } from './transport.js'

/** Receives the end of one request. */
export interface Receiver {
  /** The receiver must call `release` when it has decoded the body. */
  reply(reply: HttpReply, release: () => void): void
  fail(error: TransportError): void
}

/** What sends requests one by one. */
export interface Sender {
  /** Sends one request, without following a redirect. The returned function cancels it. */
  readonly dispatch: (request: HttpRequest, receiver: Receiver) => () => void
  readonly redirect: Redirect
  /** Runs a task in a later turn. */
  readonly schedule: (task: () => void) => void
}

/** Sends a request and follows its redirects. */
export const sendAndFollow = (first: HttpRequest, { dispatch, redirect, schedule }: Sender): Observable<HttpReply> =>
  new Observable((subscriber) => {
    let cancel = (): void => undefined
    const go = (request: HttpRequest, hop: number): void => {
      cancel = dispatch(request, {
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
  })
