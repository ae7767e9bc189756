import { AsyncSubject, concatMap, defer, EMPTY, finalize, map, NEVER, Observable, of, ReplaySubject, take, tap } from 'rxjs'
import type { RefusalCode } from '../market/never-worse.js'
import { UsageError } from '../model/errors.js'
import type { RunEvent } from '../model/event.js'
import type { Item } from '../model/outcome.js'
import { type Redact, redactError, redactorOf } from '../model/redact.js'
import type { Settings } from '../model/settings.js'
import { createGates } from '../provider/gate/gates.js'
import { openConnections } from '../provider/http.js'
import { redirectsOf } from '../provider/redirects.js'
import type { Transport } from '../provider/transport.js'
import { createActivity } from './activity.js'
import { askedOnce } from './asked-once.js'
import { beginningOf, runId, selectionIn, startOf } from './beginning.js'
import { completeBefore } from './complete-before.js'
import { connectionsFor } from './connections.js'
import type { StreamDefinition } from './define-stream.js'
import { driftKeeper, driftWatchFor } from './drift.js'
import { embedded } from './embedded.js'
import { isOver, reported, stoppedBy } from './ending.js'
import type { Engine } from './engine.js'
import { graph } from './graph.js'
import { holdEvent } from './hold-event.js'
import type { Log } from './log.js'
import { narrowTo } from './narrow.js'
import { tellOfHosts } from './notices.js'
import { passesOf } from './passes.js'
import { type Planned, planRun } from './plan.js'
import { identityOf } from './record.js'
import { selectionLeft } from './remainder.js'
import { checkRequirements } from './requirements.js'
import type { Run } from './run.js'
import type { Remainder, RunRecord, Session } from './session.js'
import type { Storage } from './storage.js'
import type { Follower, Telemetry } from './telemetry.js'
import { createTelling, type Telling } from './telling.js'

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

export interface Starting {
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
export const start = (starting: Starting, options: RunOptions): Observable<RunEvent> => begin(starting, options, 'possible')

/** Whether a run may be reduced to what is left of an earlier one, is reduced, or cannot be. */
type Reduction = 'possible' | 'done' | 'impossible'

const begin = (starting: Starting, options: RunOptions, reduction: Reduction): Observable<RunEvent> =>
  new Observable((subscriber) => {
    const { settings, streams, storage, clock = Date.now, random = Math.random } = starting
    if (Number.isNaN(new Date(options.asOf ?? 0).getTime())) throw new UsageError(`invalid asOf: ${options.asOf}; use epoch milliseconds`)
    const plan = planRun(streams, settings, options)
    checkRequirements(plan, settings)
    const redact = redactorOf(settings)
    const startedAt = clock()
    // Replayed: the signal may come while the storage is still opening.
    const stop$ = new ReplaySubject<unknown>(1)
    subscriber.add((options.stop ?? NEVER).subscribe(stop$))
    const follower = starting.telemetry?.()
    const listen = (event: RunEvent): void => {
      follower?.event(event)
      subscriber.next(event)
    }
    const telling = createTelling(plan, listen, { log: starting.log, redact })
    if (follower?.over) subscriber.add(follower.over)
    const record: RunRecord = {
      run: runId(startedAt, random),
      asOf: options.asOf ?? startedAt,
      ...identityOf({ settings, plan, symbols: options.symbols, pairs: options.pairs, variant: options.variant }),
      chosen: selectionIn(options),
    }
    const { fresh = false, accept = [] } = options
    const wanted = { record, fresh, accept, mayReduce: reduction === 'possible', isInstantGiven: options.asOf !== undefined }
    const begun = (session: Session): Observable<RunEvent> => {
      if (session.complete) return completeBefore(session.complete.report, { startedAt, finishedAt: clock() })
      telling.emit(startOf(plan, session, { at: startedAt, isRemainder: reduction === 'done' }))
      return subscriber.closed
        ? EMPTY
        : running({ ...starting, clock, random }, { plan, options: { ...options, stop: stop$ }, session, telling, redact, follower })
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
      storage.begin(beginningOf(plan, settings, wanted)).subscribe({
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

interface Beginnings {
  readonly plan: readonly Planned[]
  readonly options: RunOptions
  readonly session: Session
  readonly telling: Telling
  readonly redact: Redact
  readonly follower: Follower | undefined
}

/** Runs the graph in an open session; emits the last event. */
const running = (
  { settings, streams, storage, transport, engine = embedded, clock, random }: Starting & Pick<Run, 'clock' | 'random'>,
  { plan, options, session, telling: { emit, tally, ended }, redact, follower }: Beginnings,
): Observable<RunEvent> => {
  const connections = transport
    ? { send: transport, close: () => undefined }
    : openConnections({ redirect: redirectsOf(settings), most: connectionsFor(plan, settings) })
  const drift = driftWatchFor(options.accept ?? [], session.drift)
  const keepDrift = driftKeeper({ drift, session }, redact)
  const run: Run = {
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
    gates: createGates(settings, (hosts, pause, endpoint) => emit(holdEvent(clock(), hosts, pause, endpoint))),
    drift,
    shared: askedOnce(),
    offered: new Map(streams.flatMap(({ name, offers }) => (offers ? [[name, new AsyncSubject<readonly Item[]>()] as const] : []))),
    listed: [],
  }
  const tell = (): void => tellOfHosts(plan, run)
  return engine.begin(run, plan).pipe(
    concatMap((hands) =>
      graph(plan, narrowTo(options.symbols, emit), { ...run, hands, passes: passesOf(plan) }).pipe(
        stoppedBy(options.stop, run.activity),
        tap({ next: tell, error: tell }),
        reported(tally, plan, run, redact),
        concatMap((end) => (isOver(end, session) ? hands.finish().pipe(map(() => end)) : of(end))),
      ),
    ),
    take(1),
    finalize(connections.close),
  )
}
