import { spawn } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { defer, finalize, type Observable } from 'rxjs'
import type { Settings } from '../../model/settings.js'
import type { RetryPolicy } from '../../operators/retry-failures.js'
import type { ProcessIo } from '../dependencies.js'
import { deliver } from '../send.js'
import type { Payload } from './payload.js'

/** Where a notification goes. */
export interface NotifyTarget {
  /** A command, or an http(s) address. */
  readonly notify: string
  /** Signs what is posted. */
  readonly secret: string | undefined
  readonly io: Pick<ProcessIo, 'env' | 'scheduler'>
  readonly retry?: Partial<RetryPolicy>
}

const isAddress = (target: string): boolean => /^https?:\/\//i.test(target)

/** Only the host of an address, and nothing of a command: both may be secret. */
export const describeTarget = ({ notify = '' }: Pick<Settings, 'notify'>): string =>
  isAddress(notify) ? new URL(notify).host : 'your command'

/** Sends a notification; emits once when it has arrived. The errors name no part of the target but its host. */
export const sendNotification = (payload: Payload, target: NotifyTarget): Observable<unknown> =>
  isAddress(target.notify) ? post(JSON.stringify(payload), target) : runCommand(payload, target)

/** `sha256=` and the HMAC of time and body, in hex. A receiver checks it, and refuses old times. */
export const signBody = (secret: string, timestamp: string, body: string): string =>
  `sha256=${createHmac('sha256', secret).update(`${timestamp}.${body}`).digest('hex')}`

const post = (body: string, { notify: url, secret, io, retry }: NotifyTarget): Observable<unknown> =>
  deliver(
    () => {
      const timestamp = String(Math.floor(io.scheduler.now() / 1_000))
      const headers = {
        'content-type': 'application/json',
        'user-agent': 'scripstream',
        'x-scripstream-timestamp': timestamp,
        ...(secret === undefined ? {} : { 'x-scripstream-signature': signBody(secret, timestamp, body) }),
      }
      return { method: 'POST', url, headers, body }
    },
    { io, retry },
  )

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
