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
import type { Redact } from '../model/redact.js'
import type { RunReport } from '../model/report.js'
import { toRunLogEntry } from '../model/run-log.js'
import type { RunStats } from '../model/run-stats.js'
import { catchDamagedFile } from '../operators/catch-damaged-file.js'
import { addDrift } from './drift.js'
import { assumeAllFailed, computeFailedItems, FAILED_ITEMS, type FailedItems, type FinishedRun, parseFailedItems } from './failed-items.js'
import { CriticalFailureError } from './graph.js'
import type { PlannedStream } from './plan.js'
import type { Activity, RunServices } from './run.js'
import { selectListed } from './select-items.js'
import type { Session } from './session.js'
import { type Storage, toStatePath } from './storage.js'

const MAX_DRAIN_MS = 5_000

/** Updates the stored list of failed items, and emits it. Writes nothing if no item failed and no list is stored. */
const updateFailedItems = ({ stored, storeDocument }: Storage, ended: FinishedRun): Observable<FailedItems> =>
  stored.document(toStatePath(FAILED_ITEMS)).pipe(
    catchDamagedFile(() => assumeAllFailed(ended.plan)),
    concatMap((document) => {
      const missing = computeFailedItems(parseFailedItems(document), ended)
      const isNeeded = document !== undefined || Object.keys(missing).length > 0
      return isNeeded ? storeDocument(FAILED_ITEMS, missing).pipe(map(() => missing)) : of(missing)
    }),
  )

const addFailedCounts = (report: RunReport, missing: FailedItems): RunReport => {
  const counts = Object.entries(missing).map(([stream, items]) => [stream, items === 'all' ? items : items.length] as const)
  return counts.length === 0 ? report : { ...report, missing: Object.fromEntries(counts) }
}

/** Stores the report, and adds the run to the history of runs. */
const storeReport = ({ logRun, storeDocument }: Storage, report: RunReport, missing: FailedItems): Observable<RunFinishedEvent> =>
  concat(storeDocument('report.json', report), logRun?.(toRunLogEntry(report, missing)) ?? EMPTY).pipe(
    last(),
    map((): RunFinishedEvent => ({ type: 'run-finished', report })),
  )

/** Adds a run that came to its end to the history. A warning goes into the report, in the name of the first stream that ran. */
const keepHistory = (report: RunReport, plan: readonly PlannedStream[], session: Session): Observable<RunReport> => {
  const name = plan.find(({ state }) => state === 'waiting')?.stream.name ?? ''
  const script = report.scripts[name]
  if (script === undefined || (report.outcome !== 'complete' && report.outcome !== 'partial')) return of(report)
  return (session.keepHistory?.(report) ?? of(undefined)).pipe(
    map((reason) =>
      reason === undefined
        ? report
        : { ...report, scripts: { ...report.scripts, [name]: { ...script, problems: [...script.problems, { reason }] } } },
    ),
  )
}

type RunEnd = 'whole' | 'interrupted'

type RunFinishedEvent = Extract<RunEvent, { readonly type: 'run-finished' }>

/** Ends the run early when `stop$` emits: no further item begins, and active items get 5 s to finish. */
export const stopOn =
  (stop$: Observable<unknown> = NEVER, activity: Activity) =>
  (end$: Observable<unknown>): Observable<RunEnd> =>
    end$.pipe(
      takeUntil(
        stop$.pipe(
          take(1),
          tap(activity.stop),
          switchMap(() => race(activity.idle$, timer(MAX_DRAIN_MS))),
        ),
      ),
      map((): RunEnd => 'whole'),
      defaultIfEmpty<RunEnd, RunEnd>('interrupted'),
    )

/** Emits the last event once the report is stored. The run record is removed last: until then the same command can resume the run. */
export const finishRun =
  (stats: RunStats, plan: readonly PlannedStream[], run: RunServices, redact: Redact) =>
  (ended$: Observable<RunEnd>): Observable<RunEvent> => {
    const { storage, session, clock } = run
    const store = (report: RunReport): Observable<RunFinishedEvent> =>
      updateFailedItems(storage, {
        ...{ plan, stats, chosen: selectListed(run.chosen, run), isInterrupted: report.outcome === 'interrupted' },
      }).pipe(
        concatMap((missing) =>
          addDrift(addFailedCounts(report, missing), run, { plan, redact }).pipe(
            concatMap((whole) => keepHistory(whole, plan, session)),
            concatMap((whole) => storeReport(storage, whole, missing)),
          ),
        ),
      )
    const finished = (report: RunReport): Observable<RunEvent> => {
      const mayComeLater = stats.streams().some(({ temporary }) => temporary > 0)
      const leave = report.outcome === 'partial' && mayComeLater ? session.keepForResume : undefined
      return store(leave ? { ...report, isResumable: true } : report).pipe(
        concatMap((event) => {
          const ended$ = leave?.(clock(), event.report) ?? session.finish(event.report)
          return ended$.pipe(map((): RunEvent => event))
        }),
      )
    }
    return ended$.pipe(
      concatMap((ended) =>
        ended === 'whole' ? finished(stats.report(clock())) : store(stats.report(clock(), { outcome: 'interrupted' })),
      ),
      catchError((error: unknown) =>
        error instanceof CriticalFailureError
          ? // Nothing was stored, so an earlier unfinished run can still be resumed.
            store(stats.report(clock(), { outcome: 'failed', error: redact(error.message), code: error.code }))
          : throwError(() => error),
      ),
    )
  }

/** Whether the run has ended for good and cannot be resumed. */
export const isFinal = (event: RunEvent, { isContinued }: Session): boolean =>
  event.type === 'run-finished' && event.report.outcome !== 'interrupted' && !(event.report.outcome === 'failed' && isContinued)
