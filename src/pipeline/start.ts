import {
  catchError,
  concat,
  concatMap,
  defer,
  finalize,
  first,
  ignoreElements,
  map,
  merge,
  NEVER,
  type Observable,
  of,
  ReplaySubject,
  Subject,
  switchMap,
  takeWhile,
  tap,
  throwError,
} from 'rxjs'
import type { RunEvent } from '../model/event.js'
import { createRedactor, redactError } from '../model/redact.js'
import { finishRun, isFinal, stopOn } from './ending.js'
import { createEventBus } from './event-bus.js'
import { runGraph } from './graph.js'
import { inProcess } from './item.js'
import { type KnownStocks, readKnownStocks, resolveSelection } from './known-stocks.js'
import { checkRequirements, listRunning, planRun } from './plan.js'
import { createIdentity, reuseReport } from './record.js'
import type { RunContext } from './run.js'
import { checkRunOptions, type RunDependencies, type RunOptions } from './run-options.js'
import { createRun, type OpenRun, type ServiceDependencies } from './run-services.js'
import type { RunSelection, Session } from './session.js'
import { createRunStarted, createSessionRequest, runId, type SessionRequestInput, selectionIn, selectionLeft } from './session-request.js'

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
  defer(() => {
    const { settings, streams, storage, clock = Date.now, random = Math.random, readHolidays = () => new Set() } = dependencies
    const startedAt = clock()
    checkRunOptions(options, startedAt)
    const plan = planRun(streams, settings, options)
    checkRequirements(plan, settings)
    const redact = createRedactor(settings)
    const { fresh = false, accept = [], recordLate = false, asOf, variant } = options
    const holidays = readHolidays()
    const history = { isRecorded: settings.history, isLateAllowed: recordLate, holidays, isSimulated: variant !== undefined }
    // Replayed: the signal may come while the storage is still opening.
    const stop$ = new ReplaySubject<unknown>(1)
    const stopSubscription = (options.stop ?? NEVER).subscribe(stop$)
    const event$ = new Subject<RunEvent>()
    const eventBus = createEventBus(plan, (event) => event$.next(event), { ...dependencies, redact })
    const { followers } = eventBus
    let failure: unknown
    let isReduced = false
    const begin = (session: Session, wanted: SessionRequestInput): Observable<RunEvent> => {
      if (session.complete) return reuseReport(session.complete.report, { startedAt, finishedAt: clock() })
      const run = { plan, options: { ...options, stop: stop$ }, wanted, session, eventBus, redact }
      return concat(
        of(createRunStarted(plan, session, { isRemainder: reduction === 'done', wanted })),
        defer(() => executeRun({ ...dependencies, clock, random }, run)),
      )
    }
    const runOpened = (session: Session, wanted: SessionRequestInput): Observable<RunEvent> => {
      if (!session.remainder) return defer(() => begin(session, wanted)).pipe(tap(eventBus.emit), ignoreElements())
      isReduced = true
      return startRemainder(
        { ...dependencies, stats: eventBus.stats, ...(followers ? { telemetry: followers.forwarding } : {}) },
        { ...options, stop: stop$ },
        selectionLeft(session.remainder, storage.stored, plan),
      )
    }
    const openSession = (known: KnownStocks): Observable<RunEvent> => {
      const chosen = resolveSelection(selectionIn(options), known)
      const identity = createIdentity({ settings, plan, symbols: chosen.symbols, pairs: chosen.pairs, variant })
      const record = { run: runId(startedAt, random), asOf: asOf ?? startedAt, ...identity, chosen }
      const mayReduce = reduction === 'possible'
      const wanted = { record, known, startedAt, fresh, accept, history, mayReduce, isInstantGiven: asOf !== undefined }
      return storage.openSession(createSessionRequest(plan, settings, wanted)).pipe(switchMap((session) => runOpened(session, wanted)))
    }
    return merge(event$, defer(() => readKnownStocks(storage.stored, options.symbols)).pipe(switchMap(openSession))).pipe(
      // The session stays open until the last event.
      takeWhile(({ type }) => type !== 'run-finished', true),
      catchError((error: unknown) => {
        failure = redactError(error, redact)
        // The run that does the work of this one has logged it.
        if (!isReduced) eventBus.log?.fail(failure)
        return throwError(() => failure)
      }),
      finalize(() => {
        stopSubscription.unsubscribe()
        followers?.over(failure)
      }),
    )
  })

/** Does what is left of an earlier run, as another run; without a selection, everything again. */
const startRemainder = (
  dependencies: RunDependencies,
  options: RunOptions,
  selection$: Observable<RunSelection | undefined>,
): Observable<RunEvent> =>
  selection$.pipe(
    concatMap((selection) => {
      const { only, skip, symbols, pairs, ...others } = options
      if (selection === undefined) return startReduced(dependencies, options, 'impossible')
      return startReduced(dependencies, { ...others, ...selection }, 'done')
    }),
  )

/** Runs the graph in an open session; emits the last event. */
const executeRun = (dependencies: ServiceDependencies, open: OpenRun): Observable<RunEvent> => {
  const { engine = inProcess } = dependencies
  const { options, session, eventBus } = open
  const run = createRun(dependencies, open)
  const warn = (): void => {
    warnAboutHosts(run)
    for (const text of eventBus.notes()) eventBus.emit({ type: 'note', text })
  }
  return engine.begin(run).pipe(
    concatMap((executor) =>
      runGraph(run, executor).pipe(
        stopOn(options.stop, run.activity),
        tap({ next: warn, error: warn }),
        finishRun(run),
        concatMap((end) => (isFinal(end, session) ? executor.finish().pipe(map(() => end)) : of(end))),
      ),
    ),
    first(),
    finalize(run.close),
  )
}

/** Warns about hosts that limited the rate or were down, in the name of the first stream that uses the host. */
const warnAboutHosts = ({ plan, limiters, emit }: RunContext): void => {
  for (const { host, text } of limiters.warnings()) {
    const user = listRunning(plan).find(({ endpoints }) => endpoints.some((endpoint) => endpoint.host === host))
    if (user) emit({ type: 'warning', stream: user.name, text })
  }
}
