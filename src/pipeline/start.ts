import { AsyncSubject, concatMap, defer, EMPTY, finalize, map, NEVER, Observable, of, ReplaySubject, take, tap } from 'rxjs'
import { createRedirect } from '../http/redirects.js'
import type { Transport } from '../http/transport.js'
import { openConnections } from '../http/undici.js'
import { createLimiters } from '../limiter/limiter-registry.js'
import type { RefusalCode } from '../market/never-worse.js'
import { UsageError } from '../model/errors.js'
import type { RunEvent } from '../model/event.js'
import type { Item } from '../model/outcome.js'
import { createRedactor, type Redact, redactError } from '../model/redact.js'
import type { Settings } from '../model/settings.js'
import { createActivity } from './activity.js'
import { countConnections } from './connections.js'
import type { StreamDefinition } from './define-stream.js'
import { createRunDriftWatch, driftKeeper } from './drift.js'
import { finishRun, isFinal, stopOn } from './ending.js'
import type { Engine } from './engine.js'
import { createEventBus, type EventBus } from './event-bus.js'
import { runGraph } from './graph.js'
import { toHostEvent } from './host-event.js'
import { inProcess } from './in-process.js'
import type { Log } from './log.js'
import { oncePerRun } from './once-per-run.js'
import { createPasses } from './passes.js'
import { type PlannedStream, planRun } from './plan.js'
import { createIdentity } from './record.js'
import { selectionLeft } from './remainder.js'
import { checkRequirements } from './requirements.js'
import { reuseReport } from './reuse-report.js'
import type { RunServices } from './run.js'
import { selectSymbols } from './select-symbols.js'
import type { Remainder, RunRecord, Session } from './session.js'
import { createRunStarted, createSessionRequest, runId, selectionIn } from './session-request.js'
import type { Storage } from './storage.js'
import type { Follower, Telemetry } from './telemetry.js'
import { warnAboutHosts } from './warnings.js'

/** The options of one run; everything else is in the settings of the collector. */
export interface RunOptions {
  /** Only these streams, and those that they depend on. */
  readonly only?: readonly string[]
  /** All streams but these. */
  readonly skip?: readonly string[]
  /** Only these stocks; one-file outputs retain the records of all others. */
  readonly symbols?: readonly string[]
  /**
   * Only these items of these streams: symbols of stocks or indices, or names of lists. Streams that are not named here, or that others
   * depend on, run with all their items.
   */
  readonly pairs?: Readonly<Record<string, readonly string[]>>
  /** "Now", epoch milliseconds; default: the clock. */
  readonly asOf?: number
  /** Rules whose refused answers are stored all the same. By default such an answer is refused, and the stored file stays. */
  readonly accept?: readonly RefusalCode[]
  /** Start from scratch, even if an unfinished run could be resumed or a complete one is up to date. */
  readonly fresh?: boolean
  /** Names the simulator in use, if any: runs against it are the same run although its port changes. */
  readonly variant?: string
  /** When it emits, the run begins no further item, waits up to 5 s for active ones, and ends as interrupted. */
  readonly stop?: Observable<unknown>
}

export interface RunDependencies {
  readonly settings: Settings
  readonly streams: readonly StreamDefinition[]
  readonly storage: Storage
  readonly transport?: Transport
  readonly engine?: Engine
  readonly log?: Log
  readonly telemetry?: Telemetry
  readonly clock?: () => number
  readonly random?: () => number
}

/**
 * Runs the streams and emits the events of the run; the last one carries the report, which is also stored beside the outputs. An unfinished
 * run of the same configuration and trading day is resumed, and a complete one that is up to date is reused. Each subscription is a
 * separate run.
 */
export const start = (starting: RunDependencies, options: RunOptions): Observable<RunEvent> => begin(starting, options, 'possible')

/** Whether a run may be reduced to what is left of an earlier one, is reduced, or cannot be. */
type Reduction = 'possible' | 'done' | 'impossible'

const begin = (starting: RunDependencies, options: RunOptions, reduction: Reduction): Observable<RunEvent> =>
  new Observable((subscriber) => {
    const { settings, streams, storage, clock = Date.now, random = Math.random } = starting
    if (Number.isNaN(new Date(options.asOf ?? 0).getTime())) throw new UsageError(`invalid asOf: ${options.asOf}; use epoch milliseconds`)
    const plan = planRun(streams, settings, options)
    checkRequirements(plan, settings)
    const redact = createRedactor(settings)
    const startedAt = clock()
    // Replayed: the signal may come while the storage is still opening.
    const stop$ = new ReplaySubject<unknown>(1)
    subscriber.add((options.stop ?? NEVER).subscribe(stop$))
    const follower = starting.telemetry?.()
    const listen = (event: RunEvent): void => {
      follower?.event(event)
      subscriber.next(event)
    }
    const telling = createEventBus(plan, listen, { log: starting.log, redact })
    if (follower?.over) subscriber.add(follower.over)
    const record: RunRecord = {
      run: runId(startedAt, random),
      asOf: options.asOf ?? startedAt,
      ...createIdentity({ settings, plan, symbols: options.symbols, pairs: options.pairs, variant: options.variant }),
      chosen: selectionIn(options),
    }
    const { fresh = false, accept = [] } = options
    const wanted = { record, fresh, accept, mayReduce: reduction === 'possible', isInstantGiven: options.asOf !== undefined }
    const begun = (session: Session): Observable<RunEvent> => {
      if (session.complete) return reuseReport(session.complete.report, { startedAt, finishedAt: clock() })
      telling.emit(createRunStarted(plan, session, { at: startedAt, isRemainder: reduction === 'done' }))
      return subscriber.closed
        ? EMPTY
        : executeRun({ ...starting, clock, random }, { plan, options: { ...options, stop: stop$ }, session, telling, redact, follower })
    }
    const fail = (error: unknown): void => subscriber.error(redactError(error, redact))
    const rest = (remainder: Remainder): Observable<RunEvent> =>
      selectionLeft(remainder, storage.stored, plan).pipe(
        concatMap((selection) => {
          const { only, skip, symbols, pairs, ...others } = options
          const telemetry =
            follower && ((): Follower => ({ event: (event) => follower.event(event), request: (request) => follower.request(request) }))
          const again = { ...starting, ...(telemetry ? { telemetry } : {}) }
          if (selection === undefined) return begin(again, { ...options, stop: stop$ }, 'impossible')
          return begin(again, { ...others, ...selection, stop: stop$ }, 'done')
        }),
      )
    // The session stays open until the subscriber unsubscribes.
    subscriber.add(
      storage.begin(createSessionRequest(plan, settings, wanted)).subscribe({
        next: (session) => {
          const ends = { error: fail, complete: () => subscriber.complete() }
          const { remainder } = session
          if (remainder) subscriber.add(rest(remainder).subscribe({ next: (event) => subscriber.next(event), ...ends }))
          else subscriber.add(defer(() => begun(session)).subscribe({ next: telling.emit, ...ends }))
        },
        error: fail,
      }),
    )
  })

interface OpenRun {
  readonly plan: readonly PlannedStream[]
  readonly options: RunOptions
  readonly session: Session
  readonly telling: EventBus
  readonly redact: Redact
  readonly follower: Follower | undefined
}

/** Runs the graph in an open session; emits the last event. */
const executeRun = (
  { settings, streams, storage, transport, engine = inProcess, clock, random }: RunDependencies & Pick<RunServices, 'clock' | 'random'>,
  { plan, options, session, telling: { emit, tally, ended }, redact, follower }: OpenRun,
): Observable<RunEvent> => {
  const connections = transport
    ? { send: transport, close: () => undefined }
    : openConnections({ redirect: createRedirect(settings), maxConnections: countConnections(plan, settings) })
  const drift = createRunDriftWatch(options.accept ?? [], session.drift)
  const keepDrift = driftKeeper({ drift, session }, redact)
  const run: RunServices = {
    ...{ settings, storage, session, ended, clock, random },
    emit: (event) => {
      emit(event)
      keepDrift(event)
    },
    asOf: session.record.asOf,
    accept: options.accept ?? [],
    chosen: selectionIn(options),
    activity: createActivity(),
    transport: connections.send,
    watch: follower && ((stream) => (end) => follower.request({ ...end, stream })),
    limiters: createLimiters(settings, (hosts, pause, endpoint) => emit(toHostEvent(clock(), hosts, pause, endpoint))),
    drift,
    shared: oncePerRun(),
    offered: new Map(streams.flatMap(({ name, offers }) => (offers ? [[name, new AsyncSubject<readonly Item[]>()] as const] : []))),
    listed: [],
  }
  const tell = (): void => warnAboutHosts(plan, run)
  return engine.begin(run, plan).pipe(
    concatMap((executor) =>
      runGraph(plan, selectSymbols(options.symbols, emit), { ...run, executor, passes: createPasses(plan) }).pipe(
        stopOn(options.stop, run.activity),
        tap({ next: tell, error: tell }),
        finishRun(tally, plan, run, redact),
        concatMap((end) => (isFinal(end, session) ? executor.finish().pipe(map(() => end)) : of(end))),
      ),
    ),
    take(1),
    finalize(connections.close),
  )
}
