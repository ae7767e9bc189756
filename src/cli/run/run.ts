import { defer, type Observable, of, switchMap } from 'rxjs'
import type { Command } from '../dependencies.js'
import { LAKE } from '../export/targets.js'
import { resolveFleet } from '../fleet.js'
import { nameOrigin, resolveOrigins, resolveSettings, warnOfMisspeltVariables } from '../provider.js'
import { clean } from '../terminal/text.js'
import { type RunCommandContext, type RunFlags, readRunOptions } from './flags.js'
import { openRunLog } from './log-file.js'
import { openMetrics } from './metrics-export.js'
import { reportError } from './notified.js'
import { planRetry, printNothingFailed } from './retry.js'
import { checkSinks } from './sinks.js'
import { whileTracing } from './tracing.js'
import { runWithProgress } from './with-progress.js'

/** Runs the graph, shows the progress, prints the outcome, logs it and sends the notification. */
export const runCommand: Command<RunFlags> = (flags, io, dependencies) =>
  defer(() => {
    warnOfMisspeltVariables(io, dependencies)
    const settings = resolveSettings(flags, io, dependencies)
    const origins = resolveOrigins(flags, io, dependencies)
    return openRunLog(settings, flags, io).pipe(
      switchMap((log) => {
        const context = { flags, settings, origins, io, dependencies, log }
        return openMetrics(context).pipe(
          reportError(context),
          switchMap((metrics) => whileTracing(io, (traces) => checkAndRun({ ...context, metrics, traces }))),
        )
      }),
    )
  })

const checkAndRun = (context: RunCommandContext): Observable<number> =>
  defer(() => {
    const { flags, settings, io, dependencies } = context
    const run = readRunOptions(flags, settings)
    resolveFleet(flags.fleet, io.env)
    const sinks = settings.lake ? [LAKE, ...flags.sinks] : flags.sinks
    return checkSinks(sinks, dependencies).pipe(switchMap(() => startOrRetry({ ...context, flags: { ...flags, run, sinks } })))
  }).pipe(nameOrigin(context.origins), reportError(context))

const startOrRetry = (context: RunCommandContext): Observable<number> =>
  defer(() => {
    const { flags, settings, io, dependencies } = context
    if (!flags.retryFailed) return runWithProgress(context)
    return planRetry(flags.run, {
      folder: dependencies.storage(settings),
      streams: dependencies.streams,
      settings,
      now: io.scheduler.now(),
    }).pipe(
      switchMap((retry) => {
        if ('report' in retry) return of(printNothingFailed(retry.report, flags, io))
        io.stderr.write(`${clean(retry.note)}\n`)
        return runWithProgress({ ...context, flags: { ...flags, run: retry.run } })
      }),
    )
  })
