import { Observable } from 'rxjs'
import type { HttpReply, HttpRequest, Redirect } from './transport.js'

/** Receives the end of one request. */
export interface Receiver {
  /** The receiver must call `release` when it has decoded the body. */
  reply(reply: HttpReply, release: () => void): void
  fail(error: Error): void
}

/** Sends requests one by one. */
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

/** Time budget of one turn; a single task may exceed it. */
const MAX_SLICE_MS = 1

/**
 * Creates a queue that runs tasks in order, about 1 ms of them per turn of the event loop. Replies that arrive together would otherwise
 * block all sockets until the last one is decoded. A task never runs in the turn that queued it.
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
