import {
  catchError,
  concatMap,
  defaultIfEmpty,
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
import { DamagedFile } from '../model/errors.js'
import type { RunEvent } from '../model/event.js'
import type { Redact } from '../model/redact.js'
import type { RunReport } from '../model/report.js'
import type { Tally } from '../model/tally.js'
import type { Activity } from './activity.js'
import { withDrift } from './drift.js'
import { CriticalFailure } from './graph.js'
import { allOf, type Ended as EndedRun, MISSING, type Missing, missingAfter, missingIn } from './missing.js'
import type { Planned } from './plan.js'
import type { Run } from './run.js'
import type { Session } from './session.js'
import type { Storage } from './storage.js'

const DRAIN_MS = 5_000

/** Updates the stored list of failed items, and emits it. Writes nothing if no item failed and no list is stored. */
const keepMissing = ({ stored, keep }: Storage, ended: EndedRun): Observable<Missing> =>
  stored.document(`.scripstream/${MISSING}`).pipe(
    catchError((error: unknown) => (error instanceof DamagedFile ? of(allOf(ended.plan)) : throwError(() => error))),
    concatMap((document) => {
      const missing = missingAfter(missingIn(document), ended)
      const isNeeded = document !== undefined || Object.keys(missing).length > 0
      return isNeeded ? keep(MISSING, missing).pipe(map(() => missing)) : of(missing)
    }),
  )

const withMissing = (report: RunReport, missing: Missing): RunReport => {
  const counts = Object.entries(missing).map(([stream, items]) => [stream, items === 'all' ? items : items.length] as const)
  return counts.length === 0 ? report : { ...report, missing: Object.fromEntries(counts) }
}

type Ended = 'whole' | 'interrupted'

type Finished = Extract<RunEvent, { readonly type: 'run-finished' }>

/** Ends the run early when `stop$` emits: no further item begins, and active items get 5 s to finish. */
export const stoppedBy =
  (stop$: Observable<unknown> = NEVER, activity: Activity) =>
  (end$: Observable<unknown>): Observable<Ended> =>
    end$.pipe(
      takeUntil(
        stop$.pipe(
          take(1),
          tap(activity.stop),
          switchMap(() => race(activity.idle$, timer(DRAIN_MS))),
        ),
      ),
      map((): Ended => 'whole'),
      defaultIfEmpty<Ended, Ended>('interrupted'),
    )

/** Emits the last event once the report is stored. The run record is removed last: until then the same command can resume the run. */
export const reported =
  (tally: Tally, plan: readonly Planned[], run: Run, redact: Redact) =>
  (ended$: Observable<Ended>): Observable<RunEvent> => {
    const { storage, session, chosen, clock } = run
    const kept = (report: RunReport): Observable<Finished> =>
      keepMissing(storage, { plan, tally, chosen, isInterrupted: report.outcome === 'interrupted' }).pipe(
        concatMap((missing) => withDrift(withMissing(report, missing), run, { plan, redact })),
        concatMap((whole) => storage.keep('report.json', whole).pipe(map((): Finished => ({ type: 'run-finished', report: whole })))),
      )
    const finished = (report: RunReport): Observable<RunEvent> => {
      const mayComeLater = tally.streams().some(({ temporary }) => temporary > 0)
      const leave = report.outcome === 'partial' && mayComeLater ? session.leave : undefined
      return kept(leave ? { ...report, isResumable: true } : report).pipe(
        concatMap((event) => {
          const ended$ = leave?.(clock(), event.report) ?? session.finish(event.report)
          return ended$.pipe(map((): RunEvent => event))
        }),
      )
    }
    return ended$.pipe(
      concatMap((ended) => (ended === 'whole' ? finished(tally.report(clock())) : kept(tally.report(clock(), { outcome: 'interrupted' })))),
      catchError((error: unknown) =>
        error instanceof CriticalFailure
          ? // Nothing was stored, so an earlier unfinished run can still be resumed.
            kept(tally.report(clock(), { outcome: 'failed', error: redact(error.message) }))
          : throwError(() => error),
      ),
    )
  }

/** Whether the run has ended for good and cannot be resumed. */
export const isOver = (event: RunEvent, { isContinued }: Session): boolean =>
  event.type === 'run-finished' && event.report.outcome !== 'interrupted' && !(event.report.outcome === 'failed' && isContinued)
