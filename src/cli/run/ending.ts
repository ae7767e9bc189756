import { basename } from 'node:path'
import {
  catchError,
  concat,
  concatMap,
  defer,
  forkJoin,
  type MonoTypeOperatorFunction,
  map,
  type Observable,
  of,
  tap,
  throwError,
  toArray,
} from 'rxjs'
import { formatError, UsageError } from '../../model/errors.js'
import { createRedactor } from '../../model/redact.js'
import type { RunReport } from '../../model/report.js'
import { formatCommandLine } from '../command-line.js'
import { runExport } from '../export/command.js'
import type { Target } from '../export/targets.js'
import { notifyOfEnd } from '../notify/notify.js'
import { toExitCode, untilSignal } from '../signals.js'
import { clean } from '../terminal/text.js'
import type { EndedCommand, EndScreen, RunCommandContext, RunEnding, SinkResult } from './context.js'
import { exportMetrics } from './metrics.js'
import { isFirstSuccess, printEnding } from './print.js'
import { watchAfterRun } from './watch.js'

export const OUTCOME_CODES: Readonly<Record<RunReport['outcome'], number>> = {
  complete: 0,
  failed: 1,
  interrupted: 1,
  partial: 3,
}

/**
 * Stores the report of an ended run, loads its outputs into the sinks, prints the outcome, and reports the
 * end; emits the exit code.
 */
export const concludeAndNotify = (
  ending: RunEnding,
  screen: EndScreen,
  context: RunCommandContext,
): Observable<number> =>
  saveReport(ending, screen, context).pipe(
    concatMap((isReportStored) =>
      forkJoin({
        isReportStored: of(isReportStored),
        isFirst: isFirstSuccess(ending, context),
        signals: watchAfterRun(ending, screen, context),
      }),
    ),
    concatMap((facts) =>
      loadSinks(ending, screen, context).pipe(map((sinks) => ({ ...context, ...facts, sinks }))),
    ),
    tap(screen.end),
    concatMap((ended) => {
      const { report, signal } = ending
      const own = signal !== undefined ? toExitCode(signal) : report ? OUTCOME_CODES[report.outcome] : 1
      const exitCode = own === 0 && ended.sinks.some((one) => 'error' in one) ? 1 : own
      const isSilent = context.flags.quiet && exitCode === 0 && report?.stale === undefined
      return defer(() => of(isSilent || printEnding(ending, ended))).pipe(
        context.io.wall.pass('the summary'),
        concatMap(() => reportEnd({ ...ending, exitCode, signals: ended.signals }, context)),
        map(() => exitCode),
      )
    }),
  )

/**
 * Logs an error that ends the command, exports the metrics, and sends a notification, before the error
 * passes.
 */
export const reportError =
  <T>(context: RunCommandContext | (() => RunCommandContext)): MonoTypeOperatorFunction<T> =>
  (source$) =>
    source$.pipe(
      catchError((error: unknown) =>
        reportEnd(
          { error, exitCode: error instanceof UsageError ? 2 : 1 },
          typeof context === 'function' ? context() : context,
        ).pipe(concatMap(() => throwError(() => error))),
      ),
    )

const reportEnd = (ended: Omit<EndedCommand, 'at'>, context: RunCommandContext): Observable<unknown> =>
  defer(() => {
    const { settings, io, log } = context
    const { error, signal, report, exitCode } = ended
    const outcome = report?.outcome ?? (signal === undefined ? 'failed' : 'interrupted')
    const reason = error === undefined ? undefined : createRedactor(settings)(formatError(error))
    log?.[exitCode === 0 ? 'info' : 'warn']({ outcome, exitCode, signal, error: reason }, 'command-ended')
    const notified$: Observable<unknown> =
      settings.notify === undefined
        ? of(undefined)
        : notifyOfEnd({ ...ended, at: io.scheduler.now() }, context)
    return forkJoin([
      exportMetrics(ended, context).pipe(io.wall.pass('the metrics')),
      notified$.pipe(io.wall.pass('the notification')),
    ])
  })

/** Stores the report of a run if the collector could not; emits whether a report is stored. */
const saveReport = (
  { report, isReportStored = false }: RunEnding,
  { writeAbove }: EndScreen,
  { settings, dependencies }: RunCommandContext,
): Observable<boolean> => {
  if (!report || isReportStored) return of(isReportStored)
  return dependencies
    .storage(settings)
    .storeDocument('report.json', report)
    .pipe(
      map(() => true),
      catchError((failure: unknown) => {
        writeAbove(`error: cannot store the report: ${clean(formatError(failure))}\n`)
        return of(false)
      }),
    )
}

const describeLoading = ({ kind, location }: Target): string => {
  if (kind === 'lake') return 'writing the lake'
  return kind === 'postgres' ? 'loading PostgreSQL' : `writing ${clean(basename(location))}`
}

/**
 * Loads the outputs of a finished run into its sinks. A failed sink changes only the exit code of the run.
 * Emits once.
 */
const loadSinks = (
  { report, signal }: RunEnding,
  { writeAbove, step }: EndScreen,
  context: RunCommandContext,
): Observable<readonly SinkResult[]> => {
  const { sinks, io, settings, dependencies, flags } = context
  const hasOutputs = signal === undefined && (report?.outcome === 'complete' || report?.outcome === 'partial')
  if (sinks.length === 0 || !hasOutputs) return of([])
  const load = (target: Target): Observable<SinkResult> =>
    defer(() => {
      step(describeLoading(target))
      return runExport(target, { streams: dependencies.streams }, settings.out)
    }).pipe(
      catchError((failure: unknown) => {
        const error = formatError(failure)
        const again = formatCommandLine([
          'export',
          ...(target.kind === 'lake' ? [] : ['--to', target.typed]),
          ...(flags.out === undefined ? [] : ['--out', flags.out]),
          ...(flags.config === undefined ? [] : ['--config', flags.config]),
        ])
        writeAbove(`error: the run is stored, but not loaded into its sink: ${clean(error)}\n`)
        writeAbove(`  To load it without new requests: ${clean(again)}\n`)
        return of({ sink: target.kind, error })
      }),
    )
  return concat(...sinks.map(load)).pipe(
    toArray(),
    untilSignal(io.signal$),
    map((all) =>
      typeof all === 'string' ? [{ sink: 'sinks', error: 'interrupted; the earlier data stays' }] : all,
    ),
  )
}
