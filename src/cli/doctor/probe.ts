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
import { createAsk, OWN_WORKER } from '../../http/ask.js'
import { createDriftWatch } from '../../http/drift.js'
import type { AnyEndpoint } from '../../http/endpoint.js'
import type { HttpReply, Transport } from '../../http/transport.js'
import { createLimiters } from '../../limiter/limiter-registry.js'
import { BadAnswerError, CollectError, formatError, HttpError, isItemError, NothingAnsweredError } from '../../model/errors.js'
import type { Item } from '../../model/outcome.js'
import type { Drift } from '../../model/report.js'
import type { Row } from '../../model/row.js'
import { findAddress, type Settings, toAddressVariable } from '../../model/settings.js'
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

interface ProbeContext {
  readonly settings: Settings
  readonly transport: Transport
  readonly clock: () => number
  readonly redact: (text: string) => string
  readonly origins?: Origins
  /** "Now", epoch milliseconds. */
  readonly asOf: number
}

/** What all probes together know. */
interface ProbeState extends ProbeContext {
  /** The probe and the answer of each endpoint. */
  readonly probed: Map<AnyEndpoint, { readonly probe: Probe; readonly answer$: Observable<unknown> }>
  /** The items that streams offer to other streams. */
  readonly offered: Map<string, readonly Item[]>
}

/** The longest timeout of a probe, whatever its stream allows. */
const MAX_PROBE_MS = 15_000

/** Sends one request without retries and stores the result; emits and errors like the same request in a run. */
const sendProbe = (endpoint: AnyEndpoint, input: unknown, { stream, item, state }: ProbeAttempt): Observable<unknown> =>
  defer(() => {
    const { settings, transport, clock, redact, origins } = state
    const drift = createDriftWatch()
    let reply: HttpReply | undefined
    const startedAt = clock()
    const finish = (answer$: Observable<unknown>, more: Pick<Probe, 'result' | 'reason' | 'advice' | 'drift'>): void => {
      const measured = reply === undefined ? {} : { status: reply.status, bytes: reply.body.length }
      const probe = { ...describeEndpoint(stream, endpoint), about: item.key, ms: clock() - startedAt, ...measured, ...more }
      state.probed.set(endpoint, { probe, answer$ })
    }
    const missing = findMissingSetting(endpoint, input, state)
    if (missing !== undefined) {
      const failure$ = throwError(() => new NothingAnsweredError(missing))
      const probe = { ...describeEndpoint(stream, endpoint), reason: `${missing} is not set`, advice: `Set ${missing}.` }
      state.probed.set(endpoint, { probe: { ...probe, result: 'failed' }, answer$: failure$ })
      return failure$
    }
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
    return ask(OWN_WORKER, item.key)(endpoint, input).pipe(
      tap({
        next: (answer) => {
          const found = drift.listDrifts()
          finish(of(answer), found.length === 0 ? { result: 'ok' } : { result: 'drift', drift: found })
        },
        error: (error: unknown) => {
          if (!isItemError(error)) return
          const why = { reason: redact(formatError(error)), advice: findRequestHint(error, endpoint, origins) }
          finish(
            throwError(() => error),
            { result: 'failed', ...why },
          )
        },
      }),
    )
  })

const describeEndpoint = ({ name: stream }: StreamDefinition, { name: endpoint, method, host, path }: AnyEndpoint) => ({
  ...{ stream, endpoint, method, host, path },
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

/**
 * Sends one request to each endpoint of the streams, one after the other, and emits the results. The streams' own work makes the
 * requests: it runs for one item, and again without the first source if another endpoint is a fallback.
 */
export const probeEndpoints = (streams: readonly StreamDefinition[], context: ProbeContext): Observable<Probe> =>
  defer(() => {
    const state: ProbeState = { ...context, probed: new Map(), offered: new Map() }
    const reported = new Set<AnyEndpoint>()
    return from(streams).pipe(
      concatMap((stream) => {
        const fresh = stream.endpoints.filter((endpoint) => !reported.has(endpoint))
        for (const endpoint of fresh) reported.add(endpoint)
        const { of: source = '' } = stream.work
        const [item] = listCandidates(stream, state)
        const reason = state.offered.has(source) ? `selects no item of ${source}` : `needs ${source}, which could not be fetched`
        const attempt: ProbeAttempt = { stream, item: item as Item, state, last: undefined, reason }
        const toProbe = (one: AnyEndpoint): Probe =>
          state.probed.get(one)?.probe ?? { ...describeEndpoint(stream, one), result: 'skipped', reason: attempt.reason }
        return concat(
          item === undefined ? EMPTY : probeSources(attempt, new Set()),
          defer(() => fresh.map(toProbe)),
        )
      }),
    )
  })

/** The items of a stream, the best ones to probe first. */
const listCandidates = ({ work }: StreamDefinition, { offered }: ProbeState): readonly Item[] => {
  if (work.of === undefined) return work.parts
  const items = (offered.get(work.of) ?? []).filter(work.where ?? (() => true))
  return [...(work.of === MASTER ? WELL_KNOWN.flatMap((name) => items.filter(({ key }) => key === name)) : []), ...items]
}

/** The probing of the endpoints of one stream, with one item. */
interface ProbeAttempt {
  readonly stream: StreamDefinition
  readonly item: Item
  readonly state: ProbeState
  /** The endpoint of the last request. */
  last: AnyEndpoint | undefined
  /** Why the work ended. */
  reason: string
}

const isDone = ({ stream, state }: ProbeAttempt): boolean => stream.endpoints.every((endpoint) => state.probed.has(endpoint))

/** Runs the work, then again without its last endpoint, as long as that may reach further endpoints. */
const probeSources = (attempt: ProbeAttempt, skipped: ReadonlySet<AnyEndpoint>): Observable<never> =>
  concat(
    runWork(attempt, skipped),
    defer(() => {
      const { last } = attempt
      return isDone(attempt) || last === undefined || skipped.has(last) ? EMPTY : probeSources(attempt, new Set([...skipped, last]))
    }),
  )

const runWork = (attempt: ProbeAttempt, skipped: ReadonlySet<AnyEndpoint>): Observable<never> =>
  defer(() => {
    const { stream, item, state } = attempt
    const enough$ = new Subject<void>()
    attempt.last = undefined
    attempt.reason = 'an earlier request failed, or did not need it'
    const ask = (endpoint: AnyEndpoint, input: unknown): Observable<unknown> =>
      defer(() => {
        if (skipped.has(endpoint)) return throwError(() => new NothingAnsweredError('skipped, to probe the next source'))
        attempt.last = endpoint
        const before = state.probed.get(endpoint)
        // A 404 is a day without a file: the work tries the day before.
        if (before !== undefined && before.probe.status !== 404) return before.answer$
        return sendProbe(endpoint, input, attempt).pipe(
          tap({ next: () => stream.offers === undefined && isDone(attempt) && enough$.next() }),
        )
      })
    return defer(() => stream.work.each(item, createProbeTools(ask as Tools['ask'], state), '')).pipe(
      takeUntil(enough$),
      tap(({ rows }) => {
        const items = stream.offers?.([...rows] as readonly Row[], () => undefined)
        if (items) state.offered.set(stream.name, items)
      }),
      catchError((error: unknown) => {
        if (!isItemError(error)) return throwError(() => error)
        attempt.reason = state.redact(formatError(error))
        return EMPTY
      }),
      ignoreElements(),
    )
  })

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
