import {
  catchError,
  concatMap,
  defer,
  EMPTY,
  identity,
  lastValueFrom,
  type Observable,
  of,
  type SchedulerLike,
  Subject,
  takeUntil,
  tap,
  throwError,
  timer,
} from 'rxjs'
import { DAYS, listDayItems, MASTER, type StreamDefinition, type Tools } from '../../engine/define-stream.js'
import { oncePerRun } from '../../engine/once-per-run.js'
import { createAsk } from '../../http/ask.js'
import { createDriftWatch, type DriftWatch } from '../../http/drift.js'
import type { AnyEndpoint } from '../../http/endpoint.js'
import type { HttpReply, Transport } from '../../http/transport.js'
import { createLimiters } from '../../limiter/limiter-registry.js'
import {
  BadAnswerError,
  CollectError,
  formatError,
  HttpError,
  isItemError,
  NothingAnsweredError,
  ThrottledError,
} from '../../model/errors.js'
import type { Item } from '../../model/outcome.js'
import type { Drift } from '../../model/report.js'
import type { Row } from '../../model/row.js'
import { findAddress, type Settings, toAddressVariable } from '../../model/settings.js'
import { readOptions } from '../../model/stream-options.js'
import { findAddressOrigin, findHint, type Origins } from '../hints.js'

export interface Probe extends Readonly<Record<'stream' | 'endpoint' | 'method' | 'host' | 'path', string>> {
  /**
   * `limited` if it was refused at once and answered after a pause; `skipped` if data that it needs could not
   * be fetched.
   */
  readonly result: 'ok' | 'limited' | 'drift' | 'failed' | 'skipped'
  readonly about?: string
  readonly status?: number
  readonly ms?: number
  readonly bytes?: number
  readonly drift?: readonly Drift[]
  /** Why it failed, with an excerpt of the answer, or why it was not sent. */
  readonly reason?: string
  readonly advice?: string
}

interface ProbeContext {
  readonly settings: Settings
  readonly transport: Transport
  readonly scheduler: SchedulerLike
  readonly redact: (text: string) => string
  readonly origins?: Origins
  readonly asOf: number
}

interface ProbeState extends ProbeContext {
  readonly probed: Map<AnyEndpoint, { readonly probe: Probe; readonly answer$: Observable<unknown> }>
  readonly offered: Map<string, readonly Item[]>
  /** The pause before each request to an origin that limits the rate, milliseconds. */
  readonly pauses: Map<string, number>
}

/**
 * Sends one request to each endpoint of the streams, one after the other, and yields the results. The
 * streams' own work makes the requests: it runs for one item, and again without the first source if another
 * endpoint is a fallback.
 */
export async function* probeEndpoints(
  streams: readonly StreamDefinition[],
  context: ProbeContext,
): AsyncIterable<Probe> {
  const state: ProbeState = { ...context, probed: new Map(), offered: new Map(), pauses: new Map() }
  const reported = new Set<AnyEndpoint>()
  for (const stream of streams) {
    const fresh = stream.endpoints.filter((endpoint) => !reported.has(endpoint))
    const reason = await probeStream(stream, state)
    for (const endpoint of fresh) {
      reported.add(endpoint)
      yield state.probed.get(endpoint)?.probe ?? {
        ...describeEndpoint(stream, endpoint),
        result: 'skipped',
        reason,
      }
    }
  }
}

/** Large stocks with a long history: each has data in every stream. */
const WELL_KNOWN = ['RELIANCE', 'TCS', 'HDFCBANK', 'INFY']

/**
 * Probes the endpoints of a stream with one item, the best one there is; resolves to why it reached no more
 * of them.
 */
const probeStream = async (stream: StreamDefinition, state: ProbeState): Promise<string> => {
  const { of: source, parts, where = () => true } = stream.work
  if (source === DAYS) return probeDays(stream, state)
  const offered = source === undefined ? parts : state.offered.get(source)
  if (offered === undefined) return `needs ${source}, which could not be fetched`
  const items = source === undefined ? parts : offered.filter(where)
  const known =
    source === MASTER ? WELL_KNOWN.flatMap((name) => items.find(({ key }) => key === name) ?? []) : []
  const item = known[0] ?? items[0]
  return item === undefined ? `selects no item of ${source}` : runWork(stream, item, state)
}

/** The newest days of which one has data: a day without a session has none. */
const PROBED_DAYS = 8

const probeDays = async (stream: StreamDefinition, state: ProbeState): Promise<string> => {
  let reason = 'no day has data'
  for (const item of listDayItems(state.asOf).slice(0, PROBED_DAYS)) {
    if (stream.endpoints.every((endpoint) => (state.probed.get(endpoint)?.probe.status ?? 404) !== 404)) break
    reason = await runWork(stream, item, state)
  }
  return reason
}

/** Runs the work, then again without its last endpoint, as long as that may reach further endpoints. */
const runWork = async (stream: StreamDefinition, item: Item, state: ProbeState): Promise<string> => {
  const skipped = new Set<AnyEndpoint>()
  const isDone = (): boolean => stream.endpoints.every((endpoint) => state.probed.has(endpoint))
  for (;;) {
    const enough$ = new Subject<void>()
    let last: AnyEndpoint | undefined
    let reason = 'an earlier request failed, or did not need it'
    const ask = (endpoint: AnyEndpoint, input: unknown): Observable<unknown> =>
      defer(() => {
        if (skipped.has(endpoint))
          return throwError(() => new NothingAnsweredError('skipped, to probe the next source'))
        last = endpoint
        const before = state.probed.get(endpoint)
        // A 404 is a day without a file: the work tries the day before.
        if (before !== undefined && before.probe.status !== 404) return before.answer$
        return sendProbe(endpoint, input, { stream, item, state }).pipe(
          tap(() => stream.offers === undefined && isDone() && enough$.next()),
        )
      })
    const work$ = defer(() =>
      stream.work.each(item, createProbeTools(ask as Tools['ask'], stream, state), ''),
    ).pipe(takeUntil(enough$))
    try {
      const found = await lastValueFrom(work$, { defaultValue: undefined })
      const items = found && stream.offers?.([...found.rows] as readonly Row[], () => undefined)
      if (items) state.offered.set(stream.name, items)
    } catch (error) {
      if (!isItemError(error)) throw error
      reason = state.redact(formatError(error))
    }
    if (isDone() || last === undefined || skipped.has(last)) return reason
    skipped.add(last)
  }
}

const createProbeTools = (
  ask: Tools['ask'],
  { name }: StreamDefinition,
  { settings, asOf }: ProbeContext,
): Tools => ({
  ask,
  settings,
  options: (declared) => readOptions(settings, name, declared),
  asOf,
  shared: oncePerRun(),
  after: () => EMPTY,
  pause: identity,
  accepts: () => true,
  warn: () => undefined,
  stored: {
    exists: () => of(false),
    tail: () => of(undefined),
    text: () => of(undefined),
    document: () => of(undefined),
  },
})

const describeEndpoint = (
  { name: stream }: StreamDefinition,
  { name: endpoint, method, host, path }: AnyEndpoint,
) => ({
  stream,
  endpoint,
  method,
  host,
  path,
})

const MAX_PROBE_MS = 15_000

/** Statuses with which servers refuse a request that comes too early. */
const REFUSALS: readonly number[] = [429, 503]
const PAUSE_MS = { min: 1_000, max: 8_000 } as const

/**
 * Sends a request once more after a pause if it was refused at once: an answer then shows a limit of the
 * rate, and no outage. Later requests to that origin come after the pause. `onLimited` is called with the
 * status before the answer.
 */
const repeatRefused = <T>(
  send$: Observable<T>,
  {
    origin,
    state,
    onLimited,
  }: { readonly origin: string; readonly state: ProbeState; readonly onLimited: (status: number) => void },
): Observable<T> => {
  const { pauses, scheduler } = state
  const pauseMs = pauses.get(origin) ?? 0
  const paced$ = pauseMs === 0 ? send$ : timer(pauseMs, scheduler).pipe(concatMap(() => send$))
  return paced$.pipe(
    catchError((error: unknown) => {
      const status = error instanceof HttpError ? error.statusCode : 429
      if (!(error instanceof HttpError || error instanceof ThrottledError) || !REFUSALS.includes(status))
        throw error
      const next = Math.min(Math.max(error.retryAfterMs ?? 0, pauseMs * 2, PAUSE_MS.min), PAUSE_MS.max)
      return timer(next, scheduler).pipe(
        concatMap(() => send$),
        tap(() => {
          pauses.set(origin, next)
          onLimited(status)
        }),
      )
    }),
  )
}

interface ProbeAttempt {
  readonly stream: StreamDefinition
  readonly item: Item
  readonly state: ProbeState
}

/**
 * Sends one request without retries and stores the result; emits and errors like the same request in a run.
 */
const sendProbe = (
  endpoint: AnyEndpoint,
  input: unknown,
  { stream, item, state }: ProbeAttempt,
): Observable<unknown> => {
  const { settings, transport, scheduler, redact, origins, probed } = state
  const finish = (
    answer$: Observable<unknown>,
    found: Pick<Probe, 'result' | 'reason' | 'advice' | 'drift'>,
    measured: object = {},
  ): void =>
    void probed.set(endpoint, {
      probe: { ...describeEndpoint(stream, endpoint), ...measured, ...found },
      answer$,
    })
  const address = findAddress(settings, endpoint.host)
  if (address === undefined || !endpoint.input.safeParse(input).success) {
    const missing =
      address !== undefined ? 'a required setting (see settings above)' : toAddressVariable(endpoint.host)
    const failure$ = throwError(() => new NothingAnsweredError(missing))
    finish(failure$, { result: 'failed', reason: `${missing} is not set`, advice: `Set ${missing}.` })
    return failure$
  }
  const drift = createDriftWatch()
  let startedAt = scheduler.now()
  let refusal: number | undefined
  let reply: HttpReply | undefined
  const send: Transport = (request) =>
    defer(() => {
      startedAt = scheduler.now()
      return transport(request).pipe(tap((received) => (reply = received)))
    })
  const ask = createProbeAsk(stream, { ...state, transport: send }, drift)
  const measure = (): object => ({
    about: item.key,
    ms: scheduler.now() - startedAt,
    status: reply?.status,
    bytes: reply?.body.length,
  })
  const onLimited = (status: number): void => {
    refusal = status
  }
  const { origin } = new URL(address)
  const answer$ = defer(() => ask(item.key)(endpoint, input))
  return repeatRefused(answer$, { origin, state, onLimited }).pipe(
    tap({
      next: (answer) => {
        const found = drift.listDrifts()
        const usual = refusal === undefined ? { result: 'ok' as const } : describeLimit(refusal, origin)
        finish(of(answer), found.length === 0 ? usual : { result: 'drift', drift: found }, measure())
      },
      error: (error: unknown) => {
        if (!isItemError(error)) return
        const why = { reason: redact(formatError(error)), advice: findRequestHint(error, endpoint, origins) }
        const failure$ = throwError(() => error)
        finish(failure$, { result: 'failed', ...why }, measure())
      },
    }),
  )
}

const createProbeAsk = (
  { name, timeoutMs }: StreamDefinition,
  { settings, transport, scheduler }: ProbeState,
  drift: DriftWatch,
) =>
  createAsk({
    transport,
    settings,
    // A limiter of its own: a rate limit now must not affect the next probe.
    limiters: createLimiters(settings, undefined, { retries: 0, throttleRetries: 0 }),
    timeoutMs: Math.min(MAX_PROBE_MS, settings.timeoutsMs[name] ?? timeoutMs),
    random: () => 0,
    clock: () => scheduler.now(),
    drift: drift.forStream(name),
    onRequestEvent: () => undefined,
  })

const describeLimit = (status: number, origin: string): Pick<Probe, 'result' | 'reason' | 'advice'> => ({
  result: 'limited',
  reason: `refused with ${status} at once and answered after a pause: the provider limits the rate`,
  advice: `Set "maxRate" in "hosts" for the services at ${origin}, to the requests a second that the provider allows.`,
})

const findRequestHint = (
  error: unknown,
  { host, path }: Pick<AnyEndpoint, 'host' | 'path'>,
  origins?: Origins,
): string => {
  if (error instanceof HttpError && error.statusCode === 404 && path.includes('{date}'))
    return 'No file exists for these days; choose a trading day with --as-of.'
  if (error instanceof BadAnswerError && error.reason !== 'html' && error.reason !== 'stale')
    return 'The provider may have changed its format; look for a newer version of scripstream.'
  const hint = error instanceof CollectError ? findHint(error, origins) : undefined
  return hint ?? `Check ${findAddressOrigin(host, origins)} (its path too), the network, and any proxy.`
}
