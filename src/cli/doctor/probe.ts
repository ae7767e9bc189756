import { defer, type Observable, tap } from 'rxjs'
import { createAsk } from '../../http/ask.js'
import { createDriftWatch } from '../../http/drift.js'
import type { AnyEndpoint } from '../../http/endpoint.js'
import type { HttpReply, Transport } from '../../http/transport.js'
import { createLimiters } from '../../limiter/limiter-registry.js'
import { BadAnswerError, CollectError, formatError, HttpError, isItemError } from '../../model/errors.js'
import type { Redact } from '../../model/redact.js'
import type { Drift } from '../../model/report.js'
import type { Settings } from '../../model/settings.js'
import { createWorkerSlot } from '../../operators/merge-map-pool.js'
import type { StreamDefinition } from '../../pipeline/define-stream.js'
import { findAddressOrigin, findHint, type Origins } from '../hints.js'

/** The result of one request to an endpoint. */
export interface Probe {
  readonly stream: string
  readonly endpoint: string
  readonly method: string
  readonly host: string
  /** The path of the endpoint, with its placeholders. */
  readonly path: string
  /** `skipped` if data that the request needs could not be fetched. */
  readonly result: 'ok' | 'drift' | 'failed' | 'skipped'
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

export interface ProbeOptions {
  readonly settings: Settings
  readonly transport: Transport
  readonly clock: () => number
  readonly redact: Redact
  readonly origins?: Origins
}

/** The longest timeout of a probe, whatever its stream allows. */
const MAX_PROBE_MS = 15_000

/** Sends one request without retries and reports the result; emits and errors like the same request in a run. */
export const sendProbe = (
  { stream, endpoint, about }: { readonly stream: StreamDefinition; readonly endpoint: AnyEndpoint; readonly about: string },
  input: unknown,
  { settings, transport, clock, redact, origins }: ProbeOptions,
  report: (probe: Probe) => void,
): Observable<unknown> =>
  defer(() => {
    const drift = createDriftWatch()
    let reply: HttpReply | undefined
    const ask = createAsk({
      transport: (request) => transport(request).pipe(tap((received) => (reply = received))),
      settings: { ...settings, retries: 0, throttleRetries: 0 },
      // A limiter of its own: a rate limit now must not affect the next probe.
      limiters: createLimiters(settings),
      timeoutMs: Math.min(MAX_PROBE_MS, settings.timeoutsMs[stream.name] ?? stream.timeoutMs),
      random: () => 0,
      clock,
      drift: drift.forStream(stream.name),
      onRequestEvent: () => undefined,
    })
    const startedAt = clock()
    const finish = (more: Pick<Probe, 'result' | 'reason' | 'advice' | 'drift'>): void => {
      const measured = reply === undefined ? {} : { status: reply.status, bytes: reply.body.length }
      report({ ...describeEndpoint(stream, endpoint), about, ms: clock() - startedAt, ...measured, ...more })
    }
    return ask(createWorkerSlot(), about)(endpoint, input).pipe(
      tap({
        next: () => {
          const found = drift.listDrifts()
          finish(found.length === 0 ? { result: 'ok' } : { result: 'drift', drift: found })
        },
        error: (error: unknown) => {
          if (!isItemError(error)) return
          finish({ result: 'failed', reason: redact(formatError(error)), advice: findRequestHint(error, endpoint, origins) })
        },
      }),
    )
  })

export const describeEndpoint = ({ name }: StreamDefinition, endpoint: AnyEndpoint) => ({
  stream: name,
  endpoint: endpoint.name,
  method: endpoint.method,
  host: endpoint.host,
  path: endpoint.path,
})

/** Advice for a failed request. */
const findRequestHint = (error: unknown, { host, path }: Pick<AnyEndpoint, 'host' | 'path'>, origins?: Origins): string => {
  if (error instanceof HttpError && error.statusCode === 404 && path.includes('{date}'))
    return 'No file exists for these days; choose a trading day with --as-of.'
  if (error instanceof BadAnswerError && error.reason !== 'html')
    return 'The provider may have changed its format; look for a newer version of scripstream.'
  const hint = error instanceof CollectError ? findHint(error, origins) : undefined
  return hint ?? `Check ${findAddressOrigin(host, origins)} (its path too), the network, and any proxy.`
}
