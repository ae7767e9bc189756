import { concatMap, defer, EMPTY, finalize, map, NEVER, Observable, of, ReplaySubject, take, tap } from 'rxjs'
import { UsageError } from '../model/errors.js'
import type { RunEvent } from '../model/event.js'
import { createRedactor, redactError } from '../model/redact.js'
import { finishRun, isFinal, stopOn } from './ending.js'
import { inProcess } from './engine.js'
import { createEventBus, type Follower } from './event-bus.js'
import { createPasses, runGraph } from './graph.js'
import { checkRequirements, type PlannedStream, planRun } from './plan.js'
import { createIdentity, reuseReport } from './record.js'
import type { RunServices } from './run.js'
import type { RunDependencies, RunOptions } from './run-options.js'
import { createRunServices, type OpenRun, type ServiceDependencies } from './run-services.js'
import type { Remainder, RunRecord, Session } from './session.js'
import { createRunStarted, createSessionRequest, runId, selectionIn, selectionLeft } from './session-request.js'

/**
 * Runs the streams and emits the events of the run; the last one carries the report, which is also stored beside the outputs. An unfinished
 * run of the same configuration and trading day is resumed, and a complete one that is up to date is reused. Each subscription is a
 * separate run.
 */
export const start = (dependencies: RunDependencies, options: RunOptions): Observable<RunEvent> =>
  startReduced(dependencies, options, 'possible')

/** Whether a run may be reduced to what is left of an earlier one, is reduced, or cannot be. */
type Reduction = 'possible' | 'done' | 'impossible'

const startReduced = (dependencies: RunDependencies, options: RunOptions, reduction: Reduction): Observable<RunEvent> =>
  new Observable((subscriber) => {
    const { settings, streams, storage, clock = Date.now, random = Math.random } = dependencies
    if (Number.isNaN(new Date(options.asOf ?? 0).getTime())) throw new UsageError(`invalid asOf: ${options.asOf}; use epoch milliseconds`)
    const plan = planRun(streams, settings, options)
    checkRequirements(plan, settings)
    const redact = createRedactor(settings)
    const startedAt = clock()
    // Replayed: the signal may come while the storage is still opening.
    const stop$ = new ReplaySubject<unknown>(1)
    subscriber.add((options.stop ?? NEVER).subscribe(stop$))
    const follower = dependencies.telemetry?.()
    const listen = (event: RunEvent): void => {
      follower?.event(event)
      subscriber.next(event)
    }
    const eventBus = createEventBus(plan, listen, { log: dependencies.log, redact })
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
      eventBus.emit(createRunStarted(plan, session, { at: startedAt, isRemainder: reduction === 'done' }))
      if (subscriber.closed) return EMPTY
      const run = { plan, options: { ...options, stop: stop$ }, session, eventBus, redact, follower }
      return executeRun({ ...dependencies, clock, random }, run)
    }
    const fail = (error: unknown): void => subscriber.error(redactError(error, redact))
    const rest = (remainder: Remainder): Observable<RunEvent> =>
      selectionLeft(remainder, storage.stored, plan).pipe(
        concatMap((selection) => {
          const { only, skip, symbols, pairs, ...others } = options
          const telemetry =
            follower && ((): Follower => ({ event: (event) => follower.event(event), request: (request) => follower.request(request) }))
          const again = { ...dependencies, ...(telemetry ? { telemetry } : {}) }
          if (selection === undefined) return startReduced(again, { ...options, stop: stop$ }, 'impossible')
          return startReduced(again, { ...others, ...selection, stop: stop$ }, 'done')
        }),
      )
    // The session stays open until the subscriber unsubscribes.
    subscriber.add(
      storage.openSession(createSessionRequest(plan, settings, wanted)).subscribe({
        next: (session) => {
          const ends = { error: fail, complete: () => subscriber.complete() }
          const { remainder } = session
          if (remainder) subscriber.add(rest(remainder).subscribe({ next: (event) => subscriber.next(event), ...ends }))
          else subscriber.add(defer(() => begun(session)).subscribe({ next: eventBus.emit, ...ends }))
        },
        error: fail,
      }),
    )
  })

/** Runs the graph in an open session; emits the last event. */
const executeRun = (dependencies: ServiceDependencies, open: OpenRun): Observable<RunEvent> => {
  const { engine = inProcess } = dependencies
  const { plan, options, session, eventBus, redact } = open
  const { run, close } = createRunServices(dependencies, open)
  const warn = (): void => warnAboutHosts(plan, run)
  return engine.begin(run, plan).pipe(
    concatMap((executor) =>
      runGraph(plan, { ...run, executor, passes: createPasses(plan) }).pipe(
        stopOn(options.stop, run.activity),
        tap({ next: warn, error: warn }),
        finishRun(eventBus.tally, plan, run, redact),
        concatMap((end) => (isFinal(end, session) ? executor.finish().pipe(map(() => end)) : of(end))),
      ),
    ),
    take(1),
    finalize(close),
  )
}

/** Warns about hosts that limited the rate or were down, in the name of the first stream that uses the host. */
const warnAboutHosts = (plan: readonly PlannedStream[], { limiters, emit }: RunServices): void => {
  for (const { host, text } of limiters.warnings()) {
    const asking = plan.find(({ stream, state }) => state === 'waiting' && stream.endpoints.some((endpoint) => endpoint.host === host))
    if (asking) emit({ type: 'noticed', stream: asking.stream.name, text })
  }
}
