import { concatMap, defer, EMPTY, NEVER, Observable, ReplaySubject } from 'rxjs'
import { UsageError } from '../model/errors.js'
import type { RunEvent } from '../model/event.js'
import { createRedactor, redactError } from '../model/redact.js'
import { createEventBus } from './event-bus.js'
import { executeRun } from './execute-run.js'
import { planRun } from './plan.js'
import { createIdentity, reuseReport } from './record.js'
import { checkRequirements } from './requirements.js'
import type { RunDependencies, RunOptions } from './run-options.js'
import type { Remainder, RunRecord, Session } from './session.js'
import { createRunStarted, createSessionRequest, runId, selectionIn, selectionLeft } from './session-request.js'
import type { Follower } from './telemetry.js'

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
