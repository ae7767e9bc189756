import {
  catchError,
  concat,
  concatMap,
  defer,
  EMPTY,
  from,
  ignoreElements,
  type Observable,
  of,
  Subject,
  takeUntil,
  tap,
  throwError,
} from 'rxjs'
import { createAsk } from '../../http/ask.js'
import { createDriftWatch } from '../../http/drift.js'
import type { AnyEndpoint } from '../../http/endpoint.js'
import type { HttpReply, Transport } from '../../http/transport.js'
import { createLimiters } from '../../limiter/limiter-registry.js'
import { BadAnswerError, CollectError, formatError, HttpError, isItemError, NothingAnsweredError } from '../../model/errors.js'
import type { Item } from '../../model/outcome.js'
import type { Drift } from '../../model/report.js'
import type { Row } from '../../model/row.js'
import { findAddress, type Settings, toAddressVariable } from '../../model/settings.js'
import { WorkerSlot } from '../../operators/merge-map-pool.js'
import { MASTER, type StreamDefinition, type Tools } from '../../pipeline/define-stream.js'
import { oncePerRun } from '../../pipeline/item.js'
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

interface ProbeOptions {
  readonly settings: Settings
  readonly transport: Transport
  readonly clock: () => number
  readonly redact: (text: string) => string
  readonly origins?: Origins
}

/** The longest timeout of a probe, whatever its stream allows. */
const MAX_PROBE_MS = 15_000

/** Sends one request without retries and reports the result, with the answer; emits and errors like the same request in a run. */
const sendProbe = (
  { stream, endpoint, about }: { readonly stream: StreamDefinition; readonly endpoint: AnyEndpoint; readonly about: string },
  input: unknown,
  { settings, transport, clock, redact, origins }: ProbeOptions,
  report: (probe: Probe, answer$: Observable<unknown>) => void,
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
    const finish = (answer$: Observable<unknown>, more: Pick<Probe, 'result' | 'reason' | 'advice' | 'drift'>): void => {
      const measured = reply === undefined ? {} : { status: reply.status, bytes: reply.body.length }
      report({ ...describeEndpoint(stream, endpoint), about, ms: clock() - startedAt, ...measured, ...more }, answer$)
    }
    return ask(new WorkerSlot(), about)(endpoint, input).pipe(
      tap({
        next: (answer) => {
          const found = drift.listDrifts()
          finish(of(answer), found.length === 0 ? { result: 'ok' } : { result: 'drift', drift: found })
        },
        error: (error: unknown) => {
          if (!isItemError(error)) return
          const advice = findRequestHint(error, endpoint, origins)
          finish(
            throwError(() => error),
            { result: 'failed', reason: redact(formatError(error)), advice },
          )
        },
      }),
    )
  })

const describeEndpoint = ({ name }: StreamDefinition, endpoint: AnyEndpoint) => ({
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

/** Large stocks with a long history: each has data in every stream. */
const WELL_KNOWN = ['RELIANCE', 'TCS', 'HDFCBANK', 'INFY']

interface ProbeContext extends ProbeOptions {
  /** "Now", epoch milliseconds. */
  readonly asOf: number
}

interface ProbeState {
  /** The probe and the answer of each endpoint. */
  readonly probed: Map<AnyEndpoint, { readonly probe: Probe; readonly answer$: Observable<unknown> }>
  /** The items that streams offer to other streams. */
  readonly offered: Map<string, readonly Item[]>
}

/**
 * Sends one request to each endpoint of the streams, one after the other, and emits the results. The streams' own work makes the
 * requests: it runs for one item, and again without the first source if another endpoint is a fallback.
 */
export const probeEndpoints = (streams: readonly StreamDefinition[], context: ProbeContext): Observable<Probe> =>
  defer(() => {
    const known: ProbeState = { probed: new Map(), offered: new Map() }
    const reported = new Set<AnyEndpoint>()
    return from(streams).pipe(
      concatMap((stream) => {
        const item = chooseItem(stream, known)
        const attempt: ProbeAttempt = {
          stream,
          known,
          context,
          last: undefined,
          reason: known.offered.has(stream.work.of ?? '')
            ? `selects no item of ${stream.work.of}`
            : `needs ${stream.work.of}, which could not be fetched`,
        }
        const fresh = stream.endpoints.filter((endpoint) => !reported.has(endpoint))
        for (const endpoint of fresh) reported.add(endpoint)
        const probes = (): readonly Probe[] =>
          fresh.map(
            (one) => known.probed.get(one)?.probe ?? { ...describeEndpoint(stream, one), result: 'skipped', reason: attempt.reason },
          )
        return concat(
          item === undefined ? EMPTY : probeSources(attempt, item, new Set()),
          defer(() => from(probes())),
        )
      }),
    )
  })

const chooseItem = ({ work }: StreamDefinition, { offered }: ProbeState): Item | undefined => {
  if (work.of === undefined) return work.parts[0]
  const items = (offered.get(work.of) ?? []).filter(work.where ?? (() => true))
  return (work.of === MASTER ? WELL_KNOWN : []).flatMap((name) => items.find(({ key }) => key === name) ?? [])[0] ?? items[0]
}

/** The probing of the endpoints of one stream. */
interface ProbeAttempt {
  readonly stream: StreamDefinition
  readonly known: ProbeState
  readonly context: ProbeContext
  /** The endpoint of the last request. */
  last: AnyEndpoint | undefined
  /** Why the work ended. */
  reason: string
}

const isDone = ({ stream, known }: ProbeAttempt): boolean => stream.endpoints.every((endpoint) => known.probed.has(endpoint))

/** Runs the work, then again without its last endpoint, as long as that may reach further endpoints. */
const probeSources = (attempt: ProbeAttempt, item: Item, skipped: ReadonlySet<AnyEndpoint>): Observable<never> =>
  concat(
    runWork(attempt, item, skipped),
    defer(() => {
      const { last } = attempt
      return isDone(attempt) || last === undefined || skipped.has(last) ? EMPTY : probeSources(attempt, item, new Set([...skipped, last]))
    }),
  )

const runWork = (attempt: ProbeAttempt, item: Item, skipped: ReadonlySet<AnyEndpoint>): Observable<never> =>
  defer(() => {
    const { stream, known, context } = attempt
    const enough$ = new Subject<void>()
    attempt.last = undefined
    attempt.reason = 'an earlier request failed, or did not need it'
    const ask = (endpoint: AnyEndpoint, input: unknown): Observable<unknown> =>
      defer(() => {
        if (skipped.has(endpoint)) return throwError(() => new NothingAnsweredError('skipped, to probe the next source'))
        attempt.last = endpoint
        const before = known.probed.get(endpoint)
        // A 404 is a day without a file: the work tries the day before.
        if (before !== undefined && before.probe.status !== 404) return before.answer$
        return probeEndpoint(endpoint, input, attempt, item).pipe(
          tap({ next: () => stream.offers === undefined && isDone(attempt) && enough$.next() }),
        )
      })
    return defer(() => stream.work.each(item, createProbeTools(ask as Tools['ask'], context), '')).pipe(
      takeUntil(enough$),
      tap(({ rows }) => {
        if (stream.offers)
          known.offered.set(
            stream.name,
            stream.offers([...rows] as readonly Row[], () => undefined),
          )
      }),
      catchError((error: unknown) => {
        if (!isItemError(error)) return throwError(() => error)
        attempt.reason = context.redact(formatError(error))
        return EMPTY
      }),
      ignoreElements(),
    )
  })

/** Sends one request to an endpoint, and stores the result for later requests to it. */
const probeEndpoint = (
  endpoint: AnyEndpoint,
  input: unknown,
  { stream, known, context }: ProbeAttempt,
  item: Item,
): Observable<unknown> => {
  const store = (probe: Probe, answer$: Observable<unknown>): void => void known.probed.set(endpoint, { probe, answer$ })
  const missing = findMissingSetting(endpoint, input, context)
  if (missing === undefined) return sendProbe({ stream, endpoint, about: item.key }, input, context, store)
  const failure$ = throwError(() => new NothingAnsweredError(missing))
  store({ ...describeEndpoint(stream, endpoint), result: 'failed', reason: `${missing} is not set`, advice: `Set ${missing}.` }, failure$)
  return failure$
}

/** The missing setting that an endpoint needs, if any. */
const findMissingSetting = ({ host, input: schema }: AnyEndpoint, input: unknown, { settings }: ProbeContext): string | undefined => {
  if (findAddress(settings, host) === undefined) return toAddressVariable(host)
  return schema.safeParse(input).success ? undefined : 'a required setting (see settings above)'
}

const createProbeTools = (ask: Tools['ask'], { settings, asOf }: ProbeContext): Tools => ({
  ask,
  stored: { exists: () => of(false), tail: () => of(undefined), text: () => of(undefined), document: () => of(undefined) },
  settings,
  asOf,
  shared: oncePerRun(),
  after: () => EMPTY,
  accepts: () => true,
  warn: () => undefined,
})
