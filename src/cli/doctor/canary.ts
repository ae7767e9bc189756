import { defer, type Observable, tap } from 'rxjs'
import { isLoss, messageOf } from '../../model/errors.js'
import type { Redact } from '../../model/redact.js'
import type { Drift } from '../../model/report.js'
import type { Settings } from '../../model/settings.js'
import { createSlot } from '../../operators/slot.js'
import type { StreamDefinition } from '../../pipeline/define-stream.js'
import { createAsk } from '../../provider/ask.js'
import { createDriftWatch } from '../../provider/drift.js'
import type { AnyEndpoint } from '../../provider/endpoint.js'
import { createGates } from '../../provider/gate/gates.js'
import type { HttpReply, Transport } from '../../provider/transport.js'
import { adviceOn } from './advice.js'

/** The result of one request to an endpoint. */
export interface Canary {
  readonly stream: string
  readonly endpoint: string
  readonly method: string
  readonly host: string
  /** The path of the endpoint, with its placeholders. */
  readonly path: string
  /** `unasked` if data that the request needs could not be fetched. */
  readonly result: 'ok' | 'drift' | 'failed' | 'unasked'
  /** The requested stock, index or list. */
  readonly about?: string
  readonly status?: number
  readonly ms?: number
  readonly bytes?: number
  readonly drift?: readonly Drift[]
  /** Why it failed, with an excerpt of the answer, or why it was not sent. */
  readonly reason?: string
  /** What to do. */
  readonly advice?: string
}

export interface Asking {
  readonly settings: Settings
  readonly transport: Transport
  readonly clock: () => number
  readonly redact: Redact
}

/** The longest timeout of a probe, whatever its stream allows. */
const LONGEST_MS = 15_000

/** Sends one request without retries and reports the result; emits and errors like the same request in a run. */
export const askOnce = (
  { stream, endpoint, about }: { readonly stream: StreamDefinition; readonly endpoint: AnyEndpoint; readonly about: string },
  input: unknown,
  { settings, transport, clock, redact }: Asking,
  report: (probe: Canary) => void,
): Observable<unknown> =>
  defer(() => {
    const drift = createDriftWatch()
    let reply: HttpReply | undefined
    const ask = createAsk({
      transport: (request) => transport(request).pipe(tap((received) => (reply = received))),
      settings: { ...settings, retries: 0, throttleRetries: 0 },
      // A limiter of its own: a rate limit now must not affect the next probe.
      gates: createGates(settings),
      timeoutMs: Math.min(LONGEST_MS, settings.timeoutsMs[stream.name] ?? stream.timeoutMs),
      random: () => 0,
      clock,
      drift: drift.ofStream(stream.name),
      tell: () => undefined,
    })
    const startedAt = clock()
    const finish = (more: Pick<Canary, 'result' | 'reason' | 'advice' | 'drift'>): void => {
      const measured = reply === undefined ? {} : { status: reply.status, bytes: reply.body.length }
      report({ ...factsOf(stream, endpoint), about, ms: clock() - startedAt, ...measured, ...more })
    }
    return ask(createSlot({ wait: noWait, free: () => undefined }), about)(endpoint, input).pipe(
      tap({
        next: () => {
          const found = drift.found()
          finish(found.length === 0 ? { result: 'ok' } : { result: 'drift', drift: found })
        },
        error: (error: unknown) => {
          if (!isLoss(error)) return
          finish({ result: 'failed', reason: redact(messageOf(error)), advice: adviceOn(error, endpoint) })
        },
      }),
    )
  })

export const factsOf = ({ name }: StreamDefinition, endpoint: AnyEndpoint) => ({
  stream: name,
  endpoint: endpoint.name,
  method: endpoint.method,
  host: endpoint.host,
  path: endpoint.path,
})

const noWait = (begin: () => void): (() => void) => {
  begin()
  return () => undefined
}
