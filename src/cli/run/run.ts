import { defer, type Observable, of, switchMap } from 'rxjs'
import type { Input } from '../command.js'
import { checkSinks, LAKE } from '../export/targets.js'
import { resolveFleet } from '../fleet.js'
import { nameOrigin, resolveOrigins, resolveSettings, warnOfMisspeltVariables } from '../provider.js'
import { clean } from '../terminal/text.js'
import type { RunCommandContext } from './context.js'
import { reportError } from './ending.js'
import { type RunFlags, toRunOptions } from './flags.js'
import { runWithProgress } from './follow.js'
import { openRunLog } from './log.js'
import { openMetrics } from './metrics.js'
import { planRetry, printNothingFailed } from './retry.js'
import { whileTracing } from './tracing.js'

export const runCommand = (flags: RunFlags, { io, dependencies, args }: Input): Observable<number> =>
  defer(() => {
    warnOfMisspeltVariables(io, dependencies)
    const settings = resolveSettings(flags, io, dependencies)
    const origins = resolveOrigins(flags, io, dependencies)
    const log = openRunLog(settings, flags.logLevel, io)
    const context: RunCommandContext = { flags, args, run: {}, sinks: [], settings, origins, io, dependencies, log }
    return openMetrics(context).pipe(
      reportError(context),
      switchMap((metrics) => whileTracing(io, (traces) => checkAndRun({ ...context, metrics, traces }))),
    )
  })

const checkAndRun = (context: RunCommandContext): Observable<number> =>
  defer(() => {
    const { flags, settings, io, dependencies } = context
    const run = toRunOptions(flags, settings)
    resolveFleet(flags, io.env)
    const sinks = [...(settings.lake ? [LAKE] : []), ...(flags.sink ?? [])]
    return checkSinks(sinks, dependencies).pipe(switchMap(() => startOrRetry({ ...context, run, sinks })))
  }).pipe(nameOrigin(context.origins), reportError(context))

const startOrRetry = (context: RunCommandContext): Observable<number> => {
  const { flags, run, settings, io, dependencies } = context
  if (!flags.retryFailed) return runWithProgress(context)
  const folder = { stored: dependencies.storage(settings).stored, streams: dependencies.streams, settings, now: io.scheduler.now() }
  return planRetry(run, folder).pipe(
    switchMap((retry) => {
      if ('report' in retry) return of(printNothingFailed(retry.report, flags, io))
      io.stderr.write(`${clean(retry.note)}\n`)
      return runWithProgress({ ...context, run: retry.run })
    }),
  )
}
