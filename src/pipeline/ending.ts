import {
  catchError,
  concatMap,
  defaultIfEmpty,
  map,
  NEVER,
  type Observable,
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
import type { Tally } from '../model/tally.js'
import type { Activity } from './activity.js'
import { CriticalFailure } from './graph.js'
import type { Run } from './run.js'

const DRAIN_MS = 5_000

type Ended = 'whole' | 'interrupted'

/** Ends the run early once it is asked to stop: no work is taken up any more, what is in work may end, but not for long. */
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

/** The last event: the report of the run, once it is kept. The record of the run goes last: until then the same run can be continued. */
export const reported =
  (tally: Tally, { storage, session, clock }: Run, redact: Redact) =>
  (ended$: Observable<Ended>): Observable<RunEvent> => {
    const kept = (report: RunReport): Observable<RunEvent> =>
      storage.keep('report.json', report).pipe(map((): RunEvent => ({ type: 'run-finished', report })))
    const finished = (report: RunReport): Observable<RunEvent> =>
      kept(report).pipe(concatMap((event) => session.finish(report.outcome === 'complete' ? report : undefined).pipe(map(() => event))))
    return ended$.pipe(
      concatMap((ended) => (ended === 'whole' ? finished(tally.report(clock())) : kept(tally.report(clock(), { outcome: 'interrupted' })))),
      catchError((error: unknown) =>
        error instanceof CriticalFailure
          ? (session.isContinued ? kept : finished)(tally.report(clock(), { outcome: 'failed', error: redact(error.message) }))
          : throwError(() => error),
      ),
    )
  }
