import { Observable } from 'rxjs'
import { cancelled } from '../limiter/through.js'
import { CollectError } from '../model/errors.js'
import type { HttpReply, RequestEnd, RequestFollower, RequestStart, RequestWatch } from './transport.js'

export type AttemptWatch = ReturnType<typeof watchAttempts>

/** Tells the watch of a run of the attempts of one request: the begin of each, with what runs within it, and its end. */
export const watchAttempts = (watch: RequestWatch, clock: () => number) => {
  let start: RequestStart | undefined
  let follower: RequestFollower | undefined
  let seen: Pick<RequestEnd, 'status' | 'bytes' | 'ms'> | undefined
  return {
    begin: (reply$: Observable<HttpReply>, facts: Omit<RequestStart, 'at'>): Observable<HttpReply> => {
      start = { ...facts, at: clock() }
      seen = undefined
      const begun = watch.begin?.(start)
      follower = begun
      return begun ? new Observable((subscriber) => begun.run(() => void reply$.subscribe(subscriber))) : reply$
    },
    onReply: ({ status, body }: HttpReply): void => {
      seen = { status, bytes: body.length, ms: clock() - (start?.at ?? 0) }
    },
    end: (failure: unknown): void => {
      if (start === undefined) return
      const { endpoint, at } = start
      const ended = { endpoint, at, ...(seen ?? { status: undefined, bytes: 0, ms: clock() - at }), failure: toCode(failure) }
      watch.end(ended)
      follower?.end(ended)
    },
  }
}

const toCode = (failure: unknown): string | undefined => {
  if (failure === undefined) return undefined
  if (failure === cancelled) return 'cancelled'
  return failure instanceof CollectError ? failure.code : 'error'
}
