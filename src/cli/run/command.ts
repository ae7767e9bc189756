import { defer, from, map, type Observable, of, switchMap } from 'rxjs'
import type { Log } from '../../engine/event-bus.js'
import { type Answer, defineCommand } from '../command.js'
import { checkSinks, LAKE } from '../export/targets.js'
import { resolveFleet } from '../fleet.js'
import {
  nameOrigin,
  resolveNotifySettings,
  resolveOrigins,
  resolveSettings,
  warnOfMisspeltVariables,
} from '../provider.js'
import type { RunCommandContext } from './context.js'
import { reportError } from './ending.js'
import { type RunFlags, runFlags, toRunOptions } from './flags.js'
import { runWithProgress } from './follow.js'
import { openMetrics } from './metrics.js'
import { whileTracing } from './tracing.js'

export const addRun = defineCommand({
  name: 'run',
  about: 'Runs all streams once and writes the outputs.',
  flags: runFlags,
  examples: [
    ['scripstream run --simulate=50', '50 simulated stocks, to ./data'],
    ['scripstream run --only market-news --symbols INFY,TCS', 'one stream'],
    ['scripstream run --dry-run', 'requests, time and disk space; sends nothing'],
  ],
  notes: ['More flags and all settings: scripstream help settings'],
  exits: { 3: 'something is missing, or answers have changed' },
  run: (flags: RunFlags, { io, dependencies, args }): Observable<Answer> =>
    defer((): Observable<Answer> => {
      warnOfMisspeltVariables(io, dependencies)
      if (flags.dryRun)
        return from(import('./dry-run.js')).pipe(
          switchMap((dry) => dry.answerDryRun(flags, { io, dependencies })),
        )
      const usual = { flags, args, run: {}, sinks: [], io, dependencies }
      return openContext(usual).pipe(
        switchMap((context) =>
          openMetrics(context).pipe(
            reportError(context),
            switchMap((metrics) =>
              whileTracing(io, (traces) => checkAndRun({ ...context, metrics, traces })),
            ),
          ),
        ),
      )
    }),
})

type Usual = Omit<RunCommandContext, 'settings' | 'origins' | 'log'>

/**
 * Reads the settings and opens the log; an error of these is reported with what the settings say about
 * notifications.
 */
const openContext = (usual: Usual): Observable<RunCommandContext> =>
  defer(() => {
    const { flags, io, dependencies } = usual
    const settings = resolveSettings(flags, io, dependencies)
    const origins = resolveOrigins(flags, io, dependencies)
    const { logFile } = settings
    // Loaded on demand: pino takes 20 ms of CPU, and most runs write no log.
    const log$: Observable<Log | undefined> =
      logFile === undefined
        ? of(undefined)
        : from(import('./log.js')).pipe(map((log) => log.openRunLog(logFile, flags.logLevel, io)))
    return log$.pipe(map((log) => ({ ...usual, settings, origins, log })))
  }).pipe(
    reportError(() => {
      const settings = resolveNotifySettings(usual.flags, usual.io, usual.dependencies)
      return { ...usual, settings, origins: new Map(), log: undefined }
    }),
  )

const checkAndRun = (context: RunCommandContext): Observable<number> =>
  defer(() => {
    const { flags, settings, io, dependencies } = context
    const run = toRunOptions(flags, settings)
    resolveFleet(flags, io.env)
    const sinks = [...(settings.lake ? [LAKE] : []), ...(flags.sink ?? [])]
    return checkSinks(sinks, dependencies).pipe(switchMap(() => runWithProgress({ ...context, run, sinks })))
  }).pipe(
    nameOrigin(() => context.origins),
    reportError(context),
  )
