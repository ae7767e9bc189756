import { defer, map, type Observable, of, switchMap } from 'rxjs'
import type { RunEvent } from '../model/event.js'
import type { Settings } from '../model/settings.js'
import { escapeUnprintable } from '../model/text.js'
import type { Log } from '../pipeline/log.js'
import type { Telemetry } from '../pipeline/telemetry.js'
import type { Dependencies, ProcessIo } from './dependencies.js'
import { createRunEngine } from './fleet.js'
import type { ProgressDisplay } from './progress.js'
import { withProvider } from './provider.js'
import type { RunFlags } from './run-flags.js'
import { whileServing } from './serving.js'
import { guardRealVsSimulated } from './source.js'

export interface RunEventsContext {
  readonly flags: RunFlags
  readonly settings: Settings
  readonly io: Pick<ProcessIo, 'env' | 'scheduler' | 'signal$'>
  readonly dependencies: Dependencies
}

/** Starts the run with its logger, metrics, engine and provider; emits its events. */
export const createRunEvents = (context: RunEventsContext, progress: ProgressDisplay): Observable<RunEvent> => {
  const { flags, settings, dependencies } = context
  return createLog(flags, progress).pipe(
    switchMap((log) => {
      const { metrics } = flags
      if (metrics === undefined) return collectEvents(context, log)
      const serve = () => import('./metrics-server.js').then(({ serveMetrics }) => serveMetrics(metrics))
      return whileServing(serve, ({ telemetry }) => collectEvents(context, { ...log, telemetry }))
    }),
    guardRealVsSimulated(dependencies.storage(settings), { out: settings.out, isSimulated: flags.simulate !== undefined }),
  )
}

/** What observes a run besides its progress display. */
interface Observers {
  readonly log?: Log
  readonly telemetry?: Telemetry
}

/** The logger, loaded only if something is logged: that takes 8 ms. */
const createLog = ({ logLevel: level }: RunFlags, { writeAbove }: ProgressDisplay): Observable<Pick<Observers, 'log'>> =>
  level === 'silent'
    ? of({})
    : defer(() => import('pino')).pipe(
        map(({ pino }) => ({ log: pino({ level }, { write: (line) => writeAbove(escapeUnprintable(line)) }) })),
      )

const collectEvents = ({ flags, settings: own, io, dependencies }: RunEventsContext, observers: Observers): Observable<RunEvent> =>
  createRunEngine(flags.fleet, io.env, dependencies).pipe(
    switchMap((engine) =>
      withProvider({ simulate: flags.simulate, asOf: flags.run.asOf }, { settings: own, dependencies }, ({ settings, variant }) =>
        dependencies
          .createCollector({ settings, streams: dependencies.streams, ...engine, ...observers, clock: () => io.scheduler.now() })
          .events({ ...flags.run, stop: io.signal$, ...variant }),
      ),
    ),
  )
