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
  switchMap,
  takeUntil,
  tap,
  throwError,
} from 'rxjs'
import type { RunEvent } from '../model/event.js'
import { createRedactor, redactError } from '../model/redact.js'
import { createRunStarted, type Decision, decide, toWantedRun } from './earlier-runs.js'
import { finishWithReport, isFinal, reuseReport, stopOn } from './ending.js'
import { createEventBus } from './event-bus.js'
import { type FoundSessions, findCalendar, findSessions } from './find-sessions.js'
import { runGraph } from './graph.js'
import { checkRequirements, listRunning, planRun } from './plan.js'
import type { RunContext } from './run.js'
import { checkRunOptions, type RunDependencies, type RunOptions } from './run-options.js'
import { beginWork, createRun, type PlannedRun, type RunInSession } from './run-services.js'
import { type KnownStocks, readKnownStocks } from './select-items.js'
import { createSessionRequest } from './session-request.js'
import type { LockedStorage, RunSelection } from './storage.js'

/**
 * Runs the streams and emits the events of the run; the last one carries the report, which is also stored
 * beside the outputs. An unfinished run of the same configuration and trading day is resumed, and a complete
 * one that is up to date is reused. Each subscription is a separate run.
 */
export const start = (dependencies: RunDependencies, options: RunOptions): Observable<RunEvent> =>
  startRun(dependencies, options, false)

/** `isRemainder`: whether the run does what is left of an earlier one; then it is not reduced any further. */
const startRun = (given: RunDependencies, options: RunOptions, isRemainder: boolean): Observable<RunEvent> =>
  defer(() => {
    const { settings, streams, storage, clock = Date.now, random = Math.random } = given
    const dependencies = { ...given, clock, random }
    const startedAt = clock()
    checkRunOptions(options, startedAt)
    const plan = planRun(streams, settings, options)
    checkRequirements(plan, settings)
    const redact = createRedactor(settings)
    // Replayed: the signal may come while the storage is still opening.
    const stop$ = new ReplaySubject<unknown>(1)
    const stopSubscription = (options.stop ?? NEVER).subscribe(stop$)
    const eventBus = createEventBus(plan, { ...dependencies, redact })
    const planned = { dependencies, options: { ...options, stop: stop$ }, plan, startedAt, eventBus, redact }
    let failure: unknown
    let isReduced = false
    const calendar = findCalendar(given)
    const openSession = (known: KnownStocks): Observable<RunEvent> => {
      const facts = { settings, plan, known, startedAt, calendar, mayReduce: !isRemainder }
      const asked = toWantedRun(options, { run: createRunId(startedAt, random), ...facts })
      return storage.openSession(createSessionRequest(plan, settings, asked)).pipe(
        switchMap((locked) =>
          findSessions(dependencies, asked).pipe(
            switchMap((found) => {
              const here = { earlier: locked, stored: storage.stored }
              return decide(plan, found.wanted, here).pipe(
                // Again with the calendar of a run that begins: what it resumes must not depend on the answer
                // to one request about a day, because its own data shows whether there was a session.
                switchMap((decision) =>
                  decision.kind === 'begin' ? decide(plan, found.begun, here) : of(decision),
                ),
                switchMap((decision) => {
                  isReduced = decision.kind === 'reduce'
                  return carryOut(decision, locked, { ...planned, ...found, isRemainder })
                }),
              )
            }),
          ),
        ),
      )
    }
    return merge(
      eventBus.event$,
      defer(() => readKnownStocks(storage.stored, options.symbols)).pipe(switchMap(openSession)),
    ).pipe(
      // The session stays open until the last event.
      takeUntil(eventBus.over$),
      catchError((error: unknown) => {
        failure = redactError(error, redact)
        // The run that does the work of this one has logged it.
        if (!isReduced) eventBus.log?.fail(failure)
        return throwError(() => failure)
      }),
      finalize(() => {
        stopSubscription.unsubscribe()
        eventBus.followers?.over(failure)
      }),
    )
  })

/** Sorts by time; the random suffix separates runs that start in the same second. */
const createRunId = (startedAt: number, random: () => number): string => {
  const second = new Date(startedAt).toISOString().replace(/[-:]|\.\d+/g, '')
  return `${second}-${Math.floor(random() * 0x10000)
    .toString(16)
    .padStart(4, '0')}`
}

/**
 * Does what was decided in a locked storage. The events of the run go through its bus; only those of a
 * smaller run are emitted.
 */
const carryOut = (
  decision: Decision,
  { begin, release }: LockedStorage,
  run: PlannedRun & FoundSessions & { readonly isRemainder: boolean },
): Observable<RunEvent> => {
  const { dependencies, isRemainder, plan, startedAt, eventBus, begun: wanted, looked } = run
  const emitAll = (event$: Observable<RunEvent>): Observable<never> =>
    event$.pipe(tap(eventBus.emit), ignoreElements())
  switch (decision.kind) {
    case 'begin':
      return begin(
        decision.choice,
        createSessionRequest(plan, dependencies.settings, wanted, decision.choice.record.asOf),
      ).pipe(
        switchMap((session) => {
          const started = createRunStarted(plan, decision, { isRemainder, wanted })
          return emitAll(
            concat(
              of(started),
              defer(() => executeRun({ ...run, session, isPart: decision.choice.isPartOfEnded })),
            ),
          )
        }),
      )
    case 'reuse':
      return emitAll(
        defer(() =>
          reuseReport(decision.ended.report, { startedAt, finishedAt: dependencies.clock(), looked }),
        ),
      )
    case 'reduce':
      // What is left is another run, which locks the storage itself.
      release?.()
      return startRemainder(decision.selection, run).pipe(tap({ complete: () => eventBus.over$.next() }))
  }
}

const startRemainder = (
  selection: RunSelection,
  { dependencies, options, eventBus: { followers, stats } }: PlannedRun,
): Observable<RunEvent> => {
  const forwarding = { ...dependencies, stats, ...(followers ? { telemetry: followers.forwarding } : {}) }
  const { only, skip, symbols, pairs, ...others } = options
  return startRun(forwarding, { ...others, ...selection }, true)
}

/** Runs the graph in an open session; emits the last event. */
const executeRun = (open: RunInSession & { readonly isPart: boolean }): Observable<RunEvent> => {
  const { dependencies, options, session, eventBus } = open
  const run = createRun(open)
  const warn = (): void => {
    warnAboutHosts(run)
    for (const text of [...(session.notes ?? []), ...eventBus.notes()]) eventBus.emit({ type: 'note', text })
  }
  return beginWork(dependencies, run).pipe(
    concatMap((executor) =>
      runGraph(run, executor).pipe(
        stopOn(options.stop, run.activity),
        tap({ next: warn, error: warn }),
        finishWithReport(run, { streams: dependencies.streams, isPart: open.isPart }),
        concatMap((end) => (isFinal(end, session) ? executor.finish().pipe(map(() => end)) : of(end))),
      ),
    ),
    first(),
    finalize(run.close),
  )
}

/**
 * Warns about hosts that limited the rate or were down, in the name of the first stream that uses the host.
 */
const warnAboutHosts = ({ plan, limiters, emit }: RunContext): void => {
  for (const { host, text } of limiters.warnings()) {
    const user = listRunning(plan).find(({ endpoints }) =>
      endpoints.some((endpoint) => endpoint.host === host),
    )
    if (user) emit({ type: 'warning', stream: user.name, text })
  }
}
