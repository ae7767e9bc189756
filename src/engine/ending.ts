import {
  catchError,
  concat,
  concatMap,
  defaultIfEmpty,
  EMPTY,
  last,
  map,
  NEVER,
  type Observable,
  of,
  race,
  switchMap,
  take,
  takeUntil,
  tap,
  throwError,
  timer,
} from 'rxjs'
import type { RunEvent } from '../model/event.js'
import type { RunReport, ScriptReport } from '../model/report.js'
import { toRunLogEntry } from '../model/run-log.js'
import { countItems, isIncomplete } from '../model/script-figures.js'
import type { StreamDefinition } from './define-stream.js'
import { judgeDrift } from './drift.js'
import { type FailedItems, updateFailedItems } from './failed-items.js'
import { addFreshness, hasWholeSession, isPublished } from './freshness.js'
import { CriticalFailureError } from './graph.js'
import { listRunning } from './plan.js'
import type { Activity, RunContext } from './run.js'
import { selectListed } from './select-items.js'
import type { Session, Storage } from './storage.js'

const MAX_DRAIN_MS = 5_000

const addFailedCounts = (report: RunReport, missing: FailedItems): RunReport => {
  const counts = Object.entries(missing).map(
    ([stream, items]) => [stream, items === 'all' ? items : items.length] as const,
  )
  return counts.length === 0 ? report : { ...report, missing: Object.fromEntries(counts) }
}

/** Without the optional streams that the run does not name: it is complete without them. */
const omitUnnamed = (
  missing: FailedItems,
  streams: readonly StreamDefinition[],
  plan: RunContext['plan'],
): FailedItems => {
  const planned = plan.map(({ stream }) => stream.name)
  const unnamed = streams
    .filter(({ name, optional }) => optional === true && !planned.includes(name))
    .map(({ name }) => name)
  return Object.fromEntries(Object.entries(missing).filter(([name]) => !unnamed.includes(name)))
}

const storeEnd = (
  { logRun, storeDocument }: Storage,
  report: RunReport,
  missing: FailedItems,
): Observable<RunFinishedEvent> =>
  concat(storeDocument('report.json', report), logRun?.(toRunLogEntry(report, missing)) ?? EMPTY).pipe(
    last(),
    map((): RunFinishedEvent => ({ type: 'run-finished', report })),
  )

/**
 * Adds a run that came to its end to the history. A warning goes into the report, in the name of the first
 * stream that ran.
 */
const keepHistory = (
  report: RunReport,
  { plan, session, emit, clock }: RunContext,
): Observable<RunReport> => {
  const name = listRunning(plan)[0]?.name ?? ''
  const script = report.scripts[name]
  const isWhole = report.outcome === 'complete' || report.outcome === 'partial'
  if (script === undefined || !isWhole || session.keepHistory === undefined) return of(report)
  emit({ type: 'step', at: clock(), step: 'recording the day' })
  return session.keepHistory(report).pipe(
    tap(() => emit({ type: 'step', at: clock(), step: 'writing the report' })),
    map((reason) =>
      reason === undefined
        ? report
        : {
            ...report,
            scripts: { ...report.scripts, [name]: { ...script, problems: [...script.problems, { reason }] } },
          },
    ),
  )
}

type RunFinishedEvent = Extract<RunEvent, { readonly type: 'run-finished' }>

/**
 * Emits whether the run came to its end. Ends it early when `stop$` emits: no further item begins, and active
 * items get 5 s to finish.
 */
export const stopOn =
  (stop$: Observable<unknown> = NEVER, activity: Activity) =>
  (end$: Observable<unknown>): Observable<boolean> =>
    end$.pipe(
      takeUntil(
        stop$.pipe(
          take(1),
          tap(() => {
            activity.isStopping = true
          }),
          switchMap(() => race(activity.idle$, timer(MAX_DRAIN_MS))),
        ),
      ),
      map(() => true),
      defaultIfEmpty(false),
    )

/**
 * Whether the same command resumes the run, to request only what it lacks. The list of failed items says what
 * a whole run lost for good; a part of one, or a run of some stocks, is resumed if what it has is final.
 */
const canBeResumed = (report: RunReport, run: RunContext, isPart: boolean): boolean => {
  const streams = run.stats.streams()
  if (streams.some(({ temporary }) => temporary > 0)) return hasWholeSession(report, run)
  const { symbols, pairs } = run.chosen
  const isSome = (isPart || symbols !== undefined) && pairs === undefined
  return isSome && streams.some(({ incomplete }) => incomplete.length > 0) && isPublished(report, run)
}

/**
 * Emits the last event once the report is stored. Record and journals of the run are removed last: until then
 * the same command can resume it.
 */
export const finishWithReport =
  (
    run: RunContext,
    { streams, isPart }: { readonly streams: readonly StreamDefinition[]; readonly isPart: boolean },
  ) =>
  (isWhole$: Observable<boolean>): Observable<RunEvent> => {
    const { plan, stats, storage, session, redact, clock } = run
    const judge = (report: RunReport): Observable<RunReport> => addFreshness(report, run)
    const store = (report: RunReport): Observable<RunFinishedEvent> =>
      updateFailedItems(storage, {
        plan,
        stats,
        chosen: selectListed(run.chosen, run),
        isInterrupted: report.outcome === 'interrupted',
      }).pipe(
        map((missing) => omitUnnamed(missing, streams, plan)),
        concatMap((missing) =>
          judgeDrift(addFailedCounts(report, missing), run).pipe(
            concatMap((whole) => keepHistory(whole, run)),
            concatMap((whole) => storeEnd(storage, whole, missing)),
          ),
        ),
      )
    const finished = (report: RunReport): Observable<RunEvent> => {
      const leave =
        report.outcome === 'partial' && canBeResumed(report, run, isPart) ? session.keepForResume : undefined
      return store(leave ? { ...report, isResumable: true } : report).pipe(
        concatMap((event) => {
          const ended$ = leave?.(clock(), event.report) ?? session.finish(event.report)
          return ended$.pipe(map((): RunEvent => event))
        }),
      )
    }
    return isWhole$.pipe(
      concatMap((isWhole) =>
        isWhole
          ? judge(stats.report(clock())).pipe(concatMap(finished))
          : judge(stats.report(clock(), { outcome: 'interrupted' })).pipe(concatMap(store)),
      ),
      catchError((error: unknown) =>
        error instanceof CriticalFailureError
          ? // Nothing was stored, so an earlier unfinished run can still be resumed.
            judge(
              stats.report(clock(), { outcome: 'failed', error: redact(error.message), code: error.code }),
            ).pipe(concatMap(store))
          : throwError(() => error),
      ),
    )
  }

/** Whether the run has ended for good and cannot be resumed. */
export const isFinal = (event: RunEvent, { isContinued }: Session): boolean =>
  event.type === 'run-finished' &&
  event.report.outcome !== 'interrupted' &&
  !(event.report.outcome === 'failed' && isContinued)

/**
 * The last event of a run that has nothing to do: the report of the complete run, with zero requests and
 * every item adopted. What a run of everything lost and a later part of it fetched counts as a success.
 */
export const reuseReport = (
  { missing: _, isResumable: __, ...complete }: RunReport,
  {
    startedAt,
    finishedAt,
    looked,
  }: Readonly<Record<'startedAt' | 'finishedAt', number>> & {
    readonly looked?: RunReport['looked'] | undefined
  },
): Observable<RunEvent> =>
  of({
    type: 'run-finished',
    report: {
      ...complete,
      outcome: 'complete',
      startedAt: new Date(startedAt).toISOString(),
      finishedAt: new Date(finishedAt).toISOString(),
      durationMs: finishedAt - startedAt,
      finishedBefore: complete.finishedAt,
      ...(looked && { looked }),
      scripts: Object.fromEntries(
        Object.entries(complete.scripts).map(([name, script]) => [name, toReusedScript(script)]),
      ),
    },
  })

const toReusedScript = (report: ScriptReport): ScriptReport => {
  const script = isIncomplete(report) ? clearFailures(report) : report
  return { ...script, ...NOTHING_DONE, takenOver: countItems(script) }
}

const NOTHING_DONE = { durationMs: 0, requests: 0, retries: 0, rateLimited: 0 }

/** The script as if it had succeeded: a later run has fetched what it lacked. */
const clearFailures = ({ error: _, causes: __, items, ...script }: ScriptReport): ScriptReport => {
  const { empty, skipped } = items
  const success = countItems({ items }) - empty - skipped
  return {
    ...script,
    outcome: 'success',
    items: { success, empty, skipped, rate_limit: 0, error: 0 },
    degraded: 0,
    problems: [],
  }
}
