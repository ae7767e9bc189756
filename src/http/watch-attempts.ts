import { Observable } from 'rxjs'
import { cancelled } from '../limiter/through.js'
import { CollectError } from '../model/errors.js'
import type { HttpReply, RequestEnd, RequestFollower, RequestStart, RequestWatch } from './transport.js'

export type AttemptWatch = ReturnType<typeof watchAttempts>

/**
 * Reports each attempt of a request to the watch of a run: its begin, with what runs within it, and its end.
 */
export const watchAttempts = (
  watch: RequestWatch,
  endpoint: RequestStart['endpoint'],
  clock: () => number,
) => {
  let at = 0
  let isOpen = false
  let follower: RequestFollower | undefined
  let seen: Pick<RequestEnd, 'status' | 'bytes' | 'ms'> | undefined
  return {
    begin: (
      reply$: Observable<HttpReply>,
      describe: () => Pick<RequestStart, 'url' | 'item' | 'attempt'>,
    ): Observable<HttpReply> => {
      at = clock()
      isOpen = true
      seen = undefined
      const begun = watch.begin?.({ endpoint, at, ...describe() })
      follower = begun
      return begun
        ? new Observable((subscriber) => begun.run(() => void reply$.subscribe(subscriber)))
        : reply$
    },
    onReply: ({ status, body }: HttpReply): void => {
      seen = { status, bytes: body.length, ms: clock() - at }
    },
    end: (failure: unknown): void => {
      // An observer may have cancelled the request before its attempt began.
      if (!isOpen) return
      isOpen = false
      const { status, bytes, ms } = seen ?? { status: undefined, bytes: 0, ms: clock() - at }
      const ended = { endpoint, at, failure: toCode(failure), status, bytes, ms }
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
