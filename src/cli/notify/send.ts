import { spawn } from 'node:child_process'
import { createHmac } from 'node:crypto'
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
import { openConnections } from '../../http/connections.js'
import { CollectError, formatError, HttpError, ThrottledError } from '../../model/errors.js'
import type { Settings } from '../../model/settings.js'
import { deadline } from '../../operators/deadline.js'
import { parseRetryAfter } from '../../operators/retry-after-429.js'
import { type RetryPolicy, retryFailures } from '../../operators/retry-failures.js'
import type { ProcessIo } from '../dependencies.js'
import type { Payload } from './payload.js'

export interface NotifyTarget {
  readonly notify: string
  readonly secret: string | undefined
  readonly io: Pick<ProcessIo, 'env' | 'scheduler'>
  readonly retry?: Partial<RetryPolicy>
}

const isHttpAddress = (target: string): boolean => /^https?:\/\//i.test(target)

/** Only the host of an address, and nothing of a command: both may be secret. */
export const describeTarget = ({ notify = '' }: Pick<Settings, 'notify'>): string =>
  isHttpAddress(notify) ? new URL(notify).host : 'your command'

/** Sends a notification; emits once when it has arrived. The errors name no part of the target but its host. */
export const sendNotification = (payload: Payload, target: NotifyTarget): Observable<unknown> =>
  isHttpAddress(target.notify) ? postPayload(JSON.stringify(payload), target) : runCommand(payload, target)

/** `sha256=` and the HMAC of time and body, in hex. A receiver checks it, and refuses old times. */
export const signBody = (secret: string, timestamp: string, body: string): string =>
  `sha256=${createHmac('sha256', secret).update(`${timestamp}.${body}`).digest('hex')}`

const MAX_REPLY_MS = 10_000

/** Posts through the proxy of the environment. Network errors, 429 and 5xx are tried again, with a new request and so a new time. */
const postPayload = (body: string, { notify: url, secret, io, retry }: NotifyTarget): Observable<unknown> => {
  const createRequest = () => {
    const timestamp = String(Math.floor(io.scheduler.now() / 1_000))
    const signature = secret === undefined ? {} : { 'x-scripstream-signature': signBody(secret, timestamp, body) }
    const headers = { 'content-type': 'application/json', 'user-agent': 'scripstream', 'x-scripstream-timestamp': timestamp, ...signature }
    return { method: 'POST', url, headers, body, timeoutMs: MAX_REPLY_MS } as const
  }
  return defer(() => {
    const { send, close } = openConnections({ env: io.env })
    return defer(() => send(createRequest())).pipe(
      deadline({ idleMs: MAX_REPLY_MS }),
      concatMap(({ status, retryAfter }) => {
        if (status >= 200 && status < 300) return of(status)
        const pauseMs = parseRetryAfter(retryAfter, io.scheduler.now())
        return throwError(() => (status === 429 ? new ThrottledError(pauseMs) : new HttpError(status, pauseMs)))
      }),
      retryFailures({ retries: 4, backoffMs: 1_000, throttleRetries: 4, throttleMs: 2_000, throttleMaxMs: 20_000, ...retry }),
      finalize(close),
    )
  })
}

/** Runs a command in a shell, with the payload on stdin. Its stderr is shown. Unsubscribing ends it. */
const runCommand = (payload: Payload, { notify, io }: NotifyTarget): Observable<unknown> =>
  defer(() => {
    const child = spawn(notify, {
      shell: true,
      env: { ...io.env, SCRIPSTREAM_NOTIFY_TEXT: payload.text },
      stdio: ['pipe', 'ignore', 'inherit'],
    })
    // The command need not read its input.
    child.stdin.on('error', () => undefined)
    child.stdin.end(`${JSON.stringify(payload)}\n`)
    const ended = new Promise<void>((resolve, reject) => {
      child.once('error', reject)
      child.once('close', (code, signal) =>
        code === 0
          ? resolve()
          : reject(new Error(`the command ended with ${code === null ? `the signal ${signal}` : `exit code ${code}`}`)),
      )
    })
    return defer(() => ended).pipe(finalize(() => child.kill()))
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
