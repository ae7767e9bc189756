import { Observable, type OperatorFunction } from 'rxjs'
import { CollectError, HttpError, Throttled } from '../model/errors.js'
import type { AnyEndpoint } from './endpoint.js'
import { seenOf } from './seen.js'
import type { HttpReply } from './transport.js'

/** How one request ended. Says nothing of what it asked for, or with which headers. */
export interface RequestEnd {
  readonly endpoint: AnyEndpoint
  /** When it was sent, epoch milliseconds. */
  readonly at: number
  /** Until its answer was in, or it was given up. */
  readonly ms: number
  /** Nothing where no whole answer came. */
  readonly status: number | undefined
  /** Of the answer, unpacked. */
  readonly bytes: number
  /** Why it brought nothing, in a word: `http_403`, `rate_limit`, `html`, `deadline`, `cancelled`; nothing if it did. */
  readonly failure: string | undefined
}

export interface Watching {
  /** The current instant, epoch milliseconds. */
  readonly clock: () => number
  readonly watch: ((end: RequestEnd) => void) | undefined
}

/** Reads the reply to one request. A failure learns what was asked of whom and what came back, which costs nothing where all is well. */
export const reading =
  <Answer>(endpoint: AnyEndpoint, read: (reply: HttpReply) => Answer, { clock, watch }: Watching): OperatorFunction<HttpReply, Answer> =>
  (reply$) =>
    new Observable((subscriber) => {
      const ending = watch && endingOf(endpoint, { clock, watch })
      let reply: HttpReply | undefined
      const fail = (error: unknown): void => {
        if (error instanceof CollectError) {
          error.asked = `${endpoint.method} ${endpoint.host} ${endpoint.path}`
          if (reply) error.answered = seenOf(reply)
        }
        ending?.end(wordFor(error))
        subscriber.error(error)
      }
      subscriber.add(
        reply$.subscribe({
          next: (arrived) => {
            reply = arrived
            ending?.arrived(arrived)
            let answer: Answer
            try {
              answer = read(arrived)
            } catch (error) {
              return fail(error)
            }
            // What waited is old by now: it would hold the body until a great collection.
            reply = undefined
            ending?.end()
            subscriber.next(answer)
          },
          error: fail,
          complete: () => subscriber.complete(),
        }),
      )
      if (ending) subscriber.add(() => ending.end('cancelled'))
    })

const endingOf = (endpoint: AnyEndpoint, { clock, watch }: Watching) => {
  const at = clock()
  let isOpen = true
  let came: Pick<RequestEnd, 'status' | 'bytes' | 'ms'> | undefined
  return {
    arrived: ({ status, body }: HttpReply): void => {
      came = { status, bytes: body.length, ms: clock() - at }
    },
    end: (failure?: string): void => {
      if (isOpen) watch?.({ endpoint, at, failure, ...(came ?? { status: undefined, bytes: 0, ms: clock() - at }) })
      isOpen = false
    },
  }
}

const wordFor = (error: unknown): string => {
  if (error instanceof HttpError || error instanceof Throttled) return error.status
  return error instanceof CollectError && 'reason' in error && typeof error.reason === 'string' ? error.reason : 'error'
}
