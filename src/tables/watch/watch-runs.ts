import { concatMap, filter, type ObservableInput, type OperatorFunction } from 'rxjs'
import type { RunReport } from '../../model/report.js'
import type { Day } from '../../model/trading-day.js'
import type { RowChanges } from './compare-rows.js'

/** How the rows of a query of the newest recorded session differ from those of the session before. */
export interface WatchChanges extends RowChanges {
  readonly day: Day
  /** The session before; absent if none is recorded, so that all rows have entered. */
  readonly since?: Day
}

/** Whether standing queries are asked after a run: it is complete, and had something to do. */
export const isWatched = ({ outcome, finishedBefore }: RunReport): boolean => outcome === 'complete' && finishedBefore === undefined

/** Asks after each complete run, one after the other. */
export const watchRuns =
  <T>(ask: () => ObservableInput<T>): OperatorFunction<RunReport, T> =>
  (report$) =>
    report$.pipe(filter(isWatched), concatMap(ask))
