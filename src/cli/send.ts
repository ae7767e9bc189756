import {
  concatMap,
  defer,
  finalize,
  type MonoTypeOperatorFunction,
  type Observable,
  of,
  race,
  switchMap,
  take,
  throwError,
  timeout,
} from 'rxjs'
import { openConnections } from '../http/connections.js'
import type { HttpRequest } from '../http/transport.js'
import { CollectError, formatError, HttpError, ThrottledError } from '../model/errors.js'
import { deadline } from '../operators/deadline.js'
import { parseRetryAfter } from '../operators/retry-after-429.js'
import { type RetryPolicy, retryFailures } from '../operators/retry-failures.js'
import type { ProcessIo } from './dependencies.js'

const RETRY: RetryPolicy = {
  ...{ retries: 4, backoffMs: 1_000, throttleRetries: 4, throttleMs: 2_000, throttleMaxMs: 20_000 },
  random: Math.random,
}
const MAX_REPLY_MS = 10_000

/**
 * Sends a request of the command's own, through the proxy of the environment; emits once when the answer is 2xx. Network errors, 429 and 5xx
 * are tried again, with a new request.
 */
export const deliver = (
  createRequest: () => Omit<HttpRequest, 'timeoutMs'>,
  { io, retry }: { readonly io: Pick<ProcessIo, 'env' | 'scheduler'>; readonly retry?: Partial<RetryPolicy> | undefined },
): Observable<unknown> =>
  defer(() => {
    const { send, close } = openConnections({ env: io.env })
    return defer(() => send({ ...createRequest(), timeoutMs: MAX_REPLY_MS })).pipe(
      deadline({ idleMs: MAX_REPLY_MS }),
      concatMap(({ status, retryAfter }) => {
        if (status >= 200 && status < 300) return of(status)
        const pauseMs = parseRetryAfter(retryAfter, io.scheduler.now())
        return throwError(() => (status === 429 ? new ThrottledError(pauseMs) : new HttpError(status, pauseMs)))
      }),
      retryFailures({ ...RETRY, ...retry }),
      finalize(close),
    )
  })

/** Errors after a time for all attempts together, and on a signal. */
export const giveUpAfter =
  <T>(maxMs: number, { signal$ }: Pick<ProcessIo, 'signal$'>): MonoTypeOperatorFunction<T> =>
  (sent$) =>
    race(
      sent$.pipe(timeout({ first: maxMs, with: () => throwError(() => new Error(`not done within ${maxMs / 1_000} s`)) })),
      signal$.pipe(
        take(1),
        switchMap(() => throwError(() => new Error('interrupted'))),
      ),
    )

/** Errors of requests speak of the provider. */
export const describeDelivery = (error: unknown): string =>
  error instanceof CollectError ? error.message.replace(/^the provider answered/, 'the address answered') : formatError(error)
