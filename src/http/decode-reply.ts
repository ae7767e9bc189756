import { Observable, type OperatorFunction } from 'rxjs'
import { CollectError, HttpError, ThrottledError } from '../model/errors.js'
import { describeBody } from './describe-body.js'
import type { AnyEndpoint } from './endpoint.js'
import type { HttpReply } from './transport.js'

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
  /** The code of the failure: `http_403`, `rate_limit`, `html`, `deadline`, `cancelled`; absent on success. */
  readonly failure: string | undefined
}

export interface ReplyObserver {
  /** The current instant, epoch milliseconds. */
  readonly clock: () => number
  readonly watch: ((end: RequestEnd) => void) | undefined
}

/** Decodes the reply to one request. Adds the request and a description of the reply to an error, at no cost for a success. */
export const decodeReply =
  <Answer>(
    endpoint: AnyEndpoint,
    read: (reply: HttpReply) => Answer,
    { clock, watch }: ReplyObserver,
  ): OperatorFunction<HttpReply, Answer> =>
  (reply$) =>
    new Observable((subscriber) => {
      const reporter = watch && createEndReporter(endpoint, { clock, watch })
      let reply: HttpReply | undefined
      const fail = (error: unknown): void => {
        if (error instanceof CollectError) {
          error.requested = `${endpoint.method} ${endpoint.host} ${endpoint.path}`
          if (reply) error.answered = describeBody(reply)
        }
        reporter?.end(toFailureCode(error))
        subscriber.error(error)
      }
      subscriber.add(
        reply$.subscribe({
          next: (arrived) => {
            reply = arrived
            reporter?.arrived(arrived)
            let answer: Answer
            try {
              answer = read(arrived)
            } catch (error) {
              return fail(error)
            }
            // This closure may be in the old generation and would keep the body until the next major GC.
            reply = undefined
            reporter?.end()
            subscriber.next(answer)
          },
          error: fail,
          complete: () => subscriber.complete(),
        }),
      )
      if (reporter) subscriber.add(() => reporter.end('cancelled'))
    })

const createEndReporter = (endpoint: AnyEndpoint, { clock, watch }: ReplyObserver) => {
  const at = clock()
  let isOpen = true
  let arrival: Pick<RequestEnd, 'status' | 'bytes' | 'ms'> | undefined
  return {
    arrived: ({ status, body }: HttpReply): void => {
      arrival = { status, bytes: body.length, ms: clock() - at }
    },
    end: (failure?: string): void => {
      if (isOpen) watch?.({ endpoint, at, failure, ...(arrival ?? { status: undefined, bytes: 0, ms: clock() - at }) })
      isOpen = false
    },
  }
}

const toFailureCode = (error: unknown): string => {
  if (error instanceof HttpError || error instanceof ThrottledError) return error.status
  return error instanceof CollectError && 'reason' in error && typeof error.reason === 'string' ? error.reason : 'error'
}
