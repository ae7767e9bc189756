import { catchError, concatMap, defer, finalize, forkJoin, map, type Observable, of, skip, switchMap, take, tap } from 'rxjs'
import { misspelt } from '../config.js'
import { messageOf } from '../model/errors.js'
import type { RunEvent } from '../model/event.js'
import { printable } from '../model/json-text.js'
import type { Settings } from '../model/settings.js'
import { createTally } from '../model/tally.js'
import type { Log } from '../pipeline/log.js'
import type { Telemetry } from '../pipeline/telemetry.js'
import { conduct, type Ending } from './conduct.js'
import { loadedAfter } from './export/after-run.js'
import { exportInto } from './export/targets.js'
import { engineOf, fleetOf } from './fleet.js'
import { formatQuantity } from './format.js'
import type { Command, Parts, Shell } from './parts.js'
import { createProgress, type Progress, resolveMode } from './progress.js'
import { asking, settingsFor } from './provider.js'
import { commandLine, continuing } from './rerun.js'
import { retryOf, tellNothingFailed } from './retry.js'
import type { RunFlags } from './run-flags.js'
import { whileServing } from './serving.js'
import { exitCodeOf } from './signals.js'
import { ofOneSource } from './source.js'
import { tellEnding } from './tell.js'
import { glyphsFor, sizeOf } from './terminal.js'
import { clean, wrap } from './text.js'

/** Runs the graph, shows the progress, and prints the outcome. */
export const runCommand: Command<RunFlags> = (flags, io, dependencies) =>
  defer(() => {
    for (const line of misspelt(io.env)) io.stderr.write(`warning: ${clean(line)}\n`)
    const settings = settingsFor(flags, io, dependencies)
    fleetOf(flags.fleet, io.env)
    if (flags.sinks.length === 0) return begun(flags, settings, io, dependencies)
    // A missing package of a sink is reported before the first request.
    return forkJoin(flags.sinks.map((target) => defer(() => exportInto(target)))).pipe(
      switchMap(() => begun(flags, settings, io, dependencies)),
    )
  })

const begun = (flags: RunFlags, settings: Settings, io: Shell, dependencies: Parts): Observable<number> =>
  defer(() => {
    if (!flags.retryFailed) return conducted(flags, settings, io, dependencies)
    return retryOf(flags.run, {
      folder: dependencies.storage(settings),
      streams: dependencies.streams,
      settings,
      now: io.scheduler.now(),
    }).pipe(
      switchMap((retry) => {
        if ('report' in retry) return of(tellNothingFailed(retry.report, flags, io))
        io.stderr.write(`${clean(retry.note)}\n`)
        return conducted({ ...flags, run: retry.run }, settings, io, dependencies)
      }),
    )
  })

const conducted = (flags: RunFlags, settings: Settings, io: Shell, dependencies: Parts): Observable<number> =>
  defer(() => {
    const tally = createTally()
    const mode = resolveMode(flags.progress, io.stderr, io.env)
    const progress = createProgress(mode, { tally, stream: io.stderr, glyphs: glyphsFor(io.env), scheduler: io.scheduler })
    const event$ = logOf(flags, progress).pipe(
      switchMap((log) => {
        const context: RunContext = {
          flags,
          settings,
          dependencies,
          env: io.env,
          ...log,
          clock: () => io.scheduler.now(),
          stop$: io.signal$,
        }
        const { metrics } = flags
        if (metrics === undefined) return eventsOf(context)
        const serve = () => import('./metrics-server.js').then(({ serveMetrics }) => serveMetrics(metrics))
        return whileServing(serve, ({ telemetry }) => eventsOf({ ...context, telemetry }))
      }),
      ofOneSource(dependencies.storage(settings), { out: settings.out, isSimulated: flags.simulate !== undefined }),
      tap((event) => {
        for (const line of startLines(event, flags).flatMap((text) => wrap(text, sizeOf(io.stderr).columns)))
          progress.writeAbove(`${line}\n`)
      }),
    )
    const secondSignal = io.signal$.pipe(skip(1), take(1)).subscribe((signal) => {
      progress.end()
      io.stderr.write(`Stopped at once. To resume: ${commandLine(continuing(flags.args))}\n`)
      io.exit(exitCodeOf(signal))
    })
    const keepsProgress = flags.json || io.stdout.isTTY !== true
    return conduct(event$, { tally, progress, io, keepsProgress }).pipe(
      concatMap((ending) => keepReport(ending, { settings, io, dependencies }).pipe(map((isReportStored) => ({ ending, isReportStored })))),
      concatMap(({ ending, isReportStored }) =>
        loadedAfter(ending, flags, { out: settings.out, io }).pipe(
          map(({ sinks, code }) => {
            const exitCode = tellEnding(ending, { flags, settings, io, streams: dependencies.streams, isReportStored, sinks })
            return code === 0 || exitCode !== 0 ? exitCode : code
          }),
        ),
      ),
      finalize(() => secondSignal.unsubscribe()),
    )
  })

/** The logger, loaded only if something is logged: that takes 8 ms. */
const logOf = ({ logLevel: level }: RunFlags, { writeAbove }: Progress): Observable<Pick<RunContext, 'log'>> =>
  level === 'silent'
    ? of({})
    : defer(() => import('pino')).pipe(map(({ pino }) => ({ log: pino({ level }, { write: (line) => writeAbove(printable(line)) }) })))

interface RunContext {
  readonly flags: RunFlags
  readonly settings: Settings
  readonly dependencies: Parts
  readonly env: Shell['env']
  readonly log?: Log
  readonly telemetry?: Telemetry
  readonly clock: () => number
  readonly stop$: Observable<unknown>
}

const eventsOf = ({ flags, settings: own, dependencies, env, stop$, ...watching }: RunContext): Observable<RunEvent> =>
  engineOf(flags.fleet, env, dependencies).pipe(
    switchMap((engine) =>
      asking({ simulate: flags.simulate, asOf: flags.run.asOf }, { settings: own, dependencies }, ({ settings, variant }) =>
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
const keepReport = (
  { report, isReportStored = false }: Ending,
  { settings, io, dependencies }: { readonly settings: Settings; readonly io: Shell; readonly dependencies: Parts },
): Observable<boolean> => {
  if (!report) return of(false)
  if (isReportStored) return of(true)
  return dependencies
    .storage(settings)
    .keep('report.json', report)
    .pipe(
      map(() => true),
      catchError((failure: unknown) => {
        io.stderr.write(`error: cannot store the report: ${clean(messageOf(failure))}\n`)
        return of(false)
      }),
    )
}
