import { catchError, concatMap, defer, finalize, forkJoin, map, type Observable, of, skip, switchMap, take, tap } from 'rxjs'
import { findMisspeltVariables } from '../config.js'
import { formatError } from '../model/errors.js'
import type { RunEvent } from '../model/event.js'
import { escapeUnprintable } from '../model/json-text.js'
import { createRunStats } from '../model/run-stats.js'
import type { Settings } from '../model/settings.js'
import type { Log } from '../pipeline/log.js'
import type { Telemetry } from '../pipeline/telemetry.js'
import type { Command, Dependencies, ProcessIo } from './dependencies.js'
import { printEnding } from './ending.js'
import { loadAfterRun } from './export/after-run.js'
import { createExport } from './export/targets.js'
import { createRunEngine, resolveFleet } from './fleet.js'
import { followRun, type RunEnding } from './follow-run.js'
import { formatQuantity } from './format.js'
import { buildResumeArgs, formatCommandLine } from './next-commands.js'
import { createProgress, type ProgressDisplay, resolveMode } from './progress.js'
import { resolveSettings, withProvider } from './provider.js'
import { planRetry, printNothingFailed } from './retry.js'
import type { RunFlags } from './run-flags.js'
import { whileServing } from './serving.js'
import { toExitCode } from './signals.js'
import { guardRealVsSimulated } from './source.js'
import { chooseGlyphs, readSize } from './terminal.js'
import { clean, wrap } from './text.js'

/** Runs the graph, shows the progress, and prints the outcome. */
export const runCommand: Command<RunFlags> = (flags, io, dependencies) =>
  defer(() => {
    for (const line of findMisspeltVariables(io.env)) io.stderr.write(`warning: ${clean(line)}\n`)
    const settings = resolveSettings(flags, io, dependencies)
    resolveFleet(flags.fleet, io.env)
    if (flags.sinks.length === 0) return startOrRetry(flags, settings, io, dependencies)
    // A missing package of a sink is reported before the first request.
    return forkJoin(flags.sinks.map((target) => defer(() => createExport(target, dependencies)))).pipe(
      switchMap(() => startOrRetry(flags, settings, io, dependencies)),
    )
  })

const startOrRetry = (flags: RunFlags, settings: Settings, io: ProcessIo, dependencies: Dependencies): Observable<number> =>
  defer(() => {
    if (!flags.retryFailed) return runWithProgress(flags, settings, io, dependencies)
    return planRetry(flags.run, {
      folder: dependencies.storage(settings),
      streams: dependencies.streams,
      settings,
      now: io.scheduler.now(),
    }).pipe(
      switchMap((retry) => {
        if ('report' in retry) return of(printNothingFailed(retry.report, flags, io))
        io.stderr.write(`${clean(retry.note)}\n`)
        return runWithProgress({ ...flags, run: retry.run }, settings, io, dependencies)
      }),
    )
  })

const runWithProgress = (flags: RunFlags, settings: Settings, io: ProcessIo, dependencies: Dependencies): Observable<number> =>
  defer(() => {
    const tally = createRunStats()
    const mode = resolveMode(flags.progress, io.stderr, io.env)
    const progress = createProgress(mode, { tally, stream: io.stderr, glyphs: chooseGlyphs(io.env), scheduler: io.scheduler })
    const event$ = createLog(flags, progress).pipe(
      switchMap((log) => {
        const context: CommandRunContext = {
          flags,
          settings,
          dependencies,
          env: io.env,
          ...log,
          clock: () => io.scheduler.now(),
          stop$: io.signal$,
        }
        const { metrics } = flags
        if (metrics === undefined) return createEvents(context)
        const serve = () => import('./metrics-server.js').then(({ serveMetrics }) => serveMetrics(metrics))
        return whileServing(serve, ({ telemetry }) => createEvents({ ...context, telemetry }))
      }),
      guardRealVsSimulated(dependencies.storage(settings), { out: settings.out, isSimulated: flags.simulate !== undefined }),
      tap((event) => {
        for (const line of startLines(event, flags).flatMap((text) => wrap(text, readSize(io.stderr).columns)))
          progress.writeAbove(`${line}\n`)
      }),
    )
    const secondSignal = io.signal$.pipe(skip(1), take(1)).subscribe((signal) => {
      progress.end()
      io.stderr.write(`Stopped at once. To resume: ${formatCommandLine(buildResumeArgs(flags.args))}\n`)
      io.exit(toExitCode(signal))
    })
    const keepsProgress = flags.json || io.stdout.isTTY !== true
    return followRun(event$, { tally, progress, io, keepsProgress }).pipe(
      concatMap((ending) =>
        storeReport(ending, { settings, io, dependencies }).pipe(map((isReportStored) => ({ ending, isReportStored }))),
      ),
      concatMap(({ ending, isReportStored }) =>
        loadAfterRun(ending, flags, { out: settings.out, io, streams: dependencies.streams }).pipe(
          map(({ sinks, code }) => {
            const exitCode = printEnding(ending, { flags, settings, io, streams: dependencies.streams, isReportStored, sinks })
            return code === 0 || exitCode !== 0 ? exitCode : code
          }),
        ),
      ),
      finalize(() => secondSignal.unsubscribe()),
    )
  })

/** The logger, loaded only if something is logged: that takes 8 ms. */
const createLog = ({ logLevel: level }: RunFlags, { writeAbove }: ProgressDisplay): Observable<Pick<CommandRunContext, 'log'>> =>
  level === 'silent'
    ? of({})
    : defer(() => import('pino')).pipe(
        map(({ pino }) => ({ log: pino({ level }, { write: (line) => writeAbove(escapeUnprintable(line)) }) })),
      )

interface CommandRunContext {
  readonly flags: RunFlags
  readonly settings: Settings
  readonly dependencies: Dependencies
  readonly env: ProcessIo['env']
  readonly log?: Log
  readonly telemetry?: Telemetry
  readonly clock: () => number
  readonly stop$: Observable<unknown>
}

const createEvents = ({ flags, settings: own, dependencies, env, stop$, ...watching }: CommandRunContext): Observable<RunEvent> =>
  createRunEngine(flags.fleet, env, dependencies).pipe(
    switchMap((engine) =>
      withProvider({ simulate: flags.simulate, asOf: flags.run.asOf }, { settings: own, dependencies }, ({ settings, variant }) =>
        dependencies
          .createCollector({ settings, streams: dependencies.streams, ...engine, ...watching })
          .events({ ...flags.run, stop: stop$, ...variant }),
      ),
    ),
  )

/**
 * States that an unfinished run is resumed, why a complete run is not up to date, which streams run although `--only` does not name them,
 * and that a stream retries its failed items.
 */
const startLines = (event: RunEvent, { run: { only }, retryFailed }: RunFlags): readonly string[] => {
  if (event.type === 'second-pass') return [`${event.stream}: retrying ${formatQuantity(event.items, 'item')}`]
  if (event.type !== 'run-started') return []
  const { run, isContinued, isRemainder, givenUp, changed, streams } = event
  const added = streams.filter(({ name, state }) => state === 'waiting' && only?.includes(name) === false).map(({ name }) => name)
  return [
    ...(isContinued ? [`Resuming run ${run}: only missing items are requested (--fresh starts from scratch).`] : []),
    ...(isRemainder && !isContinued
      ? ['The last run ended with items missing: only those are requested (--fresh downloads everything again).']
      : []),
    ...(givenUp === undefined
      ? []
      : [`Starting from scratch: run ${givenUp} differs (settings, streams, stocks or day); it is discarded once the stocks are known.`]),
    ...(changed === undefined ? [] : [`Downloading again: ${clean(changed)} has changed since the last run.`]),
    ...(added.length > 0 && !retryFailed ? [`Also running what --only needs: ${added.join(', ')}`] : []),
  ]
}

/** Stores the report of a run if the collector could not; emits whether a report is stored. */
const storeReport = (
  { report, isReportStored = false }: RunEnding,
  { settings, io, dependencies }: { readonly settings: Settings; readonly io: ProcessIo; readonly dependencies: Dependencies },
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
