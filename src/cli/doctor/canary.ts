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

/** What one request to an endpoint showed. */
export interface Canary {
  readonly stream: string
  readonly endpoint: string
  readonly method: string
  readonly host: string
  /** As the endpoint states it, with its placeholders. */
  readonly path: string
  /** `unasked` where what it needs could not be had. */
  readonly result: 'ok' | 'drift' | 'failed' | 'unasked'
  /** The stock, index or list that it was about. */
  readonly about?: string
  readonly status?: number
  readonly ms?: number
  readonly bytes?: number
  readonly drift?: readonly Drift[]
  /** Why it failed, with what came back instead, or why it was not asked, */
  readonly reason?: string
  /** and what to do. */
  readonly advice?: string
}

export interface Asking {
  readonly settings: Settings
  readonly transport: Transport
  readonly clock: () => number
  readonly redact: Redact
}

/** No canary waits longer, whatever its stream grants. */
const LONGEST_MS = 15_000

/** Sends one request, without trying again, and tells what it showed; emits and errors as asking it in a run would. */
export const askOnce = (
  { stream, endpoint, about }: { readonly stream: StreamDefinition; readonly endpoint: AnyEndpoint; readonly about: string },
  input: unknown,
  { settings, transport, clock, redact }: Asking,
  tell: (canary: Canary) => void,
): Observable<unknown> =>
  defer(() => {
    const drift = createDriftWatch()
    let reply: HttpReply | undefined
    const ask = createAsk({
      transport: (request) => transport(request).pipe(tap((came) => (reply = came))),
      settings: { ...settings, retries: 0, throttleRetries: 0 },
      // A gate of its own: what one host refuses now says nothing about the next canary.
      gates: createGates(settings),
      timeoutMs: Math.min(LONGEST_MS, settings.timeoutsMs[stream.name] ?? stream.timeoutMs),
      random: () => 0,
      clock,
      drift: drift.ofStream(stream.name),
      tell: () => undefined,
    })
    const startedAt = clock()
    const shown = (more: Pick<Canary, 'result' | 'reason' | 'advice' | 'drift'>): void => {
      const measured = reply === undefined ? {} : { status: reply.status, bytes: reply.body.length }
      tell({ ...factsOf(stream, endpoint), about, ms: clock() - startedAt, ...measured, ...more })
    }
    return ask(createSlot({ wait: noWait, free: () => undefined }), about)(endpoint, input).pipe(
      tap({
        next: () => {
          const found = drift.found()
          shown(found.length === 0 ? { result: 'ok' } : { result: 'drift', drift: found })
        },
        error: (error: unknown) => {
          if (!isLoss(error)) return
          shown({ result: 'failed', reason: redact(messageOf(error)), advice: adviceOn(error, endpoint) })
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
