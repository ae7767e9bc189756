import { spawn, spawnSync } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { connect, isIP } from 'node:net'
import {
  concatMap,
  defer,
  finalize,
  firstValueFrom,
  fromEvent,
  type MonoTypeOperatorFunction,
  map,
  merge,
  type Observable,
  of,
  race,
  switchMap,
  take,
  throwError,
  timeout,
} from 'rxjs'
import { describeResponse } from '../../http/answer.js'
import { openConnections } from '../../http/connections.js'
import { findProxy } from '../../http/proxy.js'
import {
  CollectError,
  describeNetworkError,
  formatError,
  HttpError,
  ThrottledError,
  UsageError,
} from '../../model/errors.js'
import { createRedactor } from '../../model/redact.js'
import type { Settings } from '../../model/settings.js'
import { parseRetryAfter } from '../../model/text.js'
import { deadline } from '../../operators/deadline.js'
import { type RetryPolicy, retryFailures } from '../../operators/retry-failures.js'
import type { ProcessIo } from '../dependencies.js'
import type { Payload } from './payload.js'

export interface NotifyTarget {
  readonly notify: string
  readonly secret: string | undefined
  readonly io: Pick<ProcessIo, 'env' | 'scheduler'>
  readonly retry?: Partial<RetryPolicy>
}

export const isHttpAddress = (target: string): boolean => /^https?:\/\//i.test(target)

/** Only the host of an address, and nothing of a command: both may be secret. */
export const describeTarget = ({ notify = '' }: Pick<Settings, 'notify'>): string =>
  isHttpAddress(notify) ? new URL(notify).host : 'your command'

/**
 * Sends a notification; emits once when it has arrived. The errors name no part of the target but its host.
 */
export const sendNotification = (payload: Payload, target: NotifyTarget): Observable<unknown> =>
  isHttpAddress(target.notify) ? postPayload(JSON.stringify(payload), target) : runCommand(payload, target)

/** `sha256=` and the HMAC of time and body, in hex. A receiver checks it, and refuses old times. */
export const signBody = (secret: string, timestamp: string, body: string): string =>
  `sha256=${createHmac('sha256', secret).update(`${timestamp}.${body}`).digest('hex')}`

const MAX_REPLY_MS = 10_000

/**
 * Posts through the proxy of the environment. Network errors, 429 and 5xx are tried again, with a new request
 * and so a new time.
 */
const postPayload = (body: string, { notify: url, secret, io, retry }: NotifyTarget): Observable<unknown> => {
  const createRequest = () => {
    const timestamp = String(Math.floor(io.scheduler.now() / 1_000))
    const signature =
      secret === undefined ? {} : { 'x-scripstream-signature': signBody(secret, timestamp, body) }
    const headers = {
      'content-type': 'application/json',
      'user-agent': 'scripstream',
      'x-scripstream-timestamp': timestamp,
      ...signature,
    }
    return { method: 'POST', url, headers, body, timeoutMs: MAX_REPLY_MS } as const
  }
  return defer(() => {
    const { send, close } = openConnections({ env: io.env })
    return defer(() => send(createRequest())).pipe(
      deadline({ idleMs: MAX_REPLY_MS }),
      concatMap((reply) => {
        const { status, retryAfter } = reply
        if (status >= 200 && status < 300) return of(status)
        const pauseMs = parseRetryAfter(retryAfter, io.scheduler.now())
        const answer = { response: describeRefusal(reply, url) }
        return throwError(() =>
          status === 429 ? new ThrottledError(pauseMs, answer) : new HttpError(status, pauseMs, answer),
        )
      }),
      retryFailures({
        retries: 4,
        backoffMs: 1_000,
        throttleRetries: 4,
        throttleMs: 2_000,
        throttleMaxMs: 20_000,
        ...retry,
      }),
      finalize(close),
    )
  })
}

/**
 * Opens a connection to the host, or to the proxy on the way, and sends nothing. @throws UsageError if that
 * fails
 */
export const reachHost = async (address: string, env: NodeJS.ProcessEnv): Promise<void> => {
  const { hostname, port, protocol } = new URL(findProxy(address, env)?.url ?? address)
  const host = hostname.replace(/^\[|\]$/g, '')
  const isTls = protocol === 'https:'
  const options = { host, port: Number(port) || (isTls ? 443 : 80), timeout: MAX_REPLY_MS }
  const socket = isTls
    ? (await import('node:tls')).connect({ ...options, ...(isIP(host) ? {} : { servername: host }) })
    : connect(options)
  const opened$ = fromEvent(socket, isTls ? 'secureConnect' : 'connect').pipe(map(() => undefined))
  const failed$ = fromEvent(socket, 'error').pipe(map(describeNetworkError))
  const timedOut$ = fromEvent(socket, 'timeout').pipe(map(() => `no answer within ${MAX_REPLY_MS / 1_000} s`))
  const reason = await firstValueFrom(merge(opened$, failed$, timedOut$)).finally(() => socket.destroy())
  if (reason !== undefined) throw new UsageError(`${new URL(address).host} cannot be reached: ${reason}`)
}

/**
 * Whether the shell can read a command and finds its program. @throws UsageError, without arguments, which
 * may be secret
 */
export const checkShellCommand = (command: string, env: NodeJS.ProcessEnv): void => {
  if (process.platform === 'win32') return
  const ask = (...args: readonly string[]): boolean => spawnSync('/bin/sh', args, { env }).status === 0
  if (!ask('-n', '-c', command))
    throw new UsageError('your command has a syntax error: the shell cannot read it')
  // A word, after variables of its own. The shell replaces variables and ~ in it; it must not run anything.
  const [, program] =
    /^(?:\w+=[\w./:-]*\s+)*("[^"$`\\]+"|'[^']+'|[\w.~$/-]+)(?=\s|$)/.exec(command.trim()) ?? []
  const find = 'case "$1" in */*) [ -f "$1" ] && [ -x "$1" ] ;; *) command -v "$1" ;; esac'
  if (program === undefined || ask('-c', `set -- ${program}\n${find}`)) return
  throw new UsageError(
    `your command starts with ${program}, which is no program that can be run; write its path, and chmod +x it`,
  )
}

/** Services put the reason behind a code and a type. */
const MAX_REASON_LENGTH = 200

/**
 * The answer without what may be secret in the address, such as the token in its path, which some servers
 * repeat.
 */
const describeRefusal = (reply: Parameters<typeof describeResponse>[0], address: string) => {
  const { pathname, search, searchParams, username, password } = new URL(address)
  const parts = [pathname, search, ...pathname.split('/'), ...searchParams.values(), username, password]
  const redact = createRedactor({
    headers: Object.fromEntries(parts.map((part, place) => [String(place), part])),
  })
  // Before it is cut: the first half of a secret is not found.
  const body = Buffer.from(redact(Buffer.from(reply.body).toString()))
  return { ...describeResponse({ ...reply, body }, redact, MAX_REASON_LENGTH), bytes: reply.body.length }
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
          : reject(
              new Error(
                `the command ended with ${code === null ? `the signal ${signal}` : `exit code ${code}`}`,
              ),
            ),
      )
    })
    return defer(() => ended).pipe(finalize(() => child.kill()))
  })

/** Errors after a time for all attempts together, and on a signal. */
export const giveUpAfter =
  <T>(maxMs: number, { signal$ }: Pick<ProcessIo, 'signal$'>): MonoTypeOperatorFunction<T> =>
  (sent$) =>
    race(
      sent$.pipe(
        timeout({
          first: maxMs,
          with: () => throwError(() => new Error(`not done within ${maxMs / 1_000} s`)),
        }),
      ),
      signal$.pipe(
        take(1),
        switchMap(() => throwError(() => new Error('interrupted'))),
      ),
    )

/** Errors of requests speak of the provider. */
export const describeDelivery = (error: unknown): string =>
  error instanceof CollectError
    ? formatError(error).replace(/^the provider answered/, 'the address answered')
    : formatError(error)
