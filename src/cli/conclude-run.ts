import { catchError, concatMap, map, type Observable, of } from 'rxjs'
import { formatError } from '../model/errors.js'
import type { Settings } from '../model/settings.js'
import type { Dependencies, ProcessIo } from './dependencies.js'
import { printEnding } from './ending.js'
import { loadAfterRun } from './export/after-run.js'
import type { RunEnding } from './follow-run.js'
import type { RunFlags } from './run-flags.js'
import { clean } from './text.js'

export interface EndedRunContext {
  readonly flags: RunFlags
  readonly settings: Settings
  readonly io: ProcessIo
  readonly dependencies: Dependencies
}

/** Stores the report of an ended run, loads its outputs into the sinks, and prints the outcome; emits the exit code. */
export const concludeRun = (ending: RunEnding, context: EndedRunContext): Observable<number> => {
  const { flags, settings, io, dependencies } = context
  const { streams } = dependencies
  return storeReport(ending, context).pipe(
    concatMap((isReportStored) =>
      loadAfterRun(ending, flags, { out: settings.out, io, streams }).pipe(
        map(({ sinks, code }) => {
          const exitCode = printEnding(ending, { flags, settings, io, streams, isReportStored, sinks })
          return code === 0 || exitCode !== 0 ? exitCode : code
        }),
      ),
    ),
  )
}

/** Stores the report of a run if the collector could not; emits whether a report is stored. */
const storeReport = (
  { report, isReportStored = false }: RunEnding,
  { settings, io, dependencies }: EndedRunContext,
): Observable<boolean> => {
  if (!report) return of(false)
  if (isReportStored) return of(true)
  return dependencies
    .storage(settings)
    .keep('report.json', report)
    .pipe(
      map(() => true),
      catchError((failure: unknown) => {
        io.stderr.write(`error: cannot store the report: ${clean(formatError(failure))}\n`)
        return of(false)
      }),
    )
}
