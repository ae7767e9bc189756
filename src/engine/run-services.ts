import { AsyncSubject } from 'rxjs'
import { openConnections } from '../http/connections.js'
import { SharedLimiters } from '../limiter/limiter-registry.js'
import { keepContext } from '../model/context.js'
import type { Item } from '../model/outcome.js'
import { findAddress, type Settings } from '../model/settings.js'
import { createRunDriftWatch } from './drift.js'
import type { WantedRun } from './earlier-runs.js'
import { type EventBus, toHostEvent } from './event-bus.js'
import { createActivity, inProcess } from './in-process.js'
import { oncePerRun } from './once-per-run.js'
import { listRunning, type PlannedStream } from './plan.js'
import type { RunContext } from './run.js'
import type { RunDependencies, RunOptions } from './run-options.js'
import type { Session } from './storage.js'

type ServiceDependencies = RunDependencies & Pick<RunContext, 'clock' | 'random'>

export interface PlannedRun {
  readonly dependencies: ServiceDependencies
  readonly options: RunOptions
  readonly plan: readonly PlannedStream[]
  /** Epoch milliseconds. */
  readonly startedAt: number
  readonly eventBus: EventBus
  readonly redact: RunContext['redact']
}

/** A planned run whose storage session is open, as it was requested from the storage. */
export interface RunInSession extends PlannedRun {
  readonly wanted: WantedRun
  readonly session: Session
}

/** Begins the work of a run, in this process or in others. */
export const beginWork = ({ engine = inProcess }: RunDependencies, run: RunContext) => engine.begin(run)

export const createRun = (run: RunInSession): RunContext => {
  const { dependencies, plan, options, wanted, session, eventBus, redact } = run
  const { settings, streams, storage, dispatcher, transport, clock, random, shared, beforeStore } =
    dependencies
  const { record, known, calendar } = wanted
  const { emit, ended, followers, stats } = eventBus
  const connections = transport
    ? { send: transport, close: () => undefined }
    : openConnections({
        dispatcher,
        settings,
        maxConnections: countConnections(plan, settings),
        keepsContext: followers?.isTracing,
      })
  const { accept = [] } = options
  const drift = createRunDriftWatch(accept, session.drift)
  const limiters = (shared ?? new SharedLimiters(settings)).open(
    (hosts, pause, endpoint) => emit(toHostEvent(clock(), hosts, pause, endpoint)),
    listRunning(plan).flatMap((stream) => stream.endpoints),
  )
  if (followers) followers.limiters = limiters.status
  return {
    plan,
    settings,
    storage,
    session,
    ended,
    clock,
    random,
    accept,
    drift,
    stats,
    redact,
    emit,
    asOf: session.record.asOf,
    calendar,
    chosen: record.chosen ?? {},
    request: { symbols: options.symbols, wrongSymbols: options.wrongSymbols, known },
    activity: createActivity(),
    // A connection of others replies in their context, and a traced one in that of its span.
    transport:
      (transport ?? dispatcher ?? followers?.isTracing)
        ? (request) => connections.send(request).pipe(keepContext(eventBus.within))
        : connections.send,
    watch: followers?.watch,
    limiters,
    beforeStore,
    shared: oncePerRun(),
    offered: new Map(
      streams.flatMap(({ name, offers }) =>
        offers ? [[name, new AsyncSubject<readonly Item[]>()] as const] : [],
      ),
    ),
    listed: [],
    close: () => {
      connections.close()
      limiters.close()
    },
  }
}

/**
 * The maximum number of connections per origin: one for each worker of each stream and endpoint. Without a
 * limit, undici opens as many again for requests that follow immediately, each with its own handshake.
 */
export const countConnections = (
  plan: readonly PlannedStream[],
  settings: Settings,
): ReadonlyMap<string, number> => {
  const needed = new Map<string, number>()
  for (const stream of listRunning(plan)) {
    for (const { host } of stream.endpoints) {
      const url = findAddress(settings, host)
      const origin = url === undefined ? '' : new URL(url).origin
      needed.set(origin, (needed.get(origin) ?? 0) + (settings.workers[stream.name] ?? stream.workers))
    }
  }
  return needed
}
