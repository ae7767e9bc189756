import { defer, map, type Observable, of, switchMap } from 'rxjs'
import type { RunEvent } from '../../model/event.js'
import type { Settings } from '../../model/settings.js'
import { escapeUnprintable } from '../../model/text.js'
import type { Log, Telemetry } from '../../pipeline/event-bus.js'
import type { Dependencies, ProcessIo } from '../dependencies.js'
import { createRunEngine } from '../fleet.js'
import { whileServing, withProvider } from '../provider.js'
import { formatQuantity } from '../terminal/format.js'
import type { ProgressDisplay } from '../terminal/progress.js'
import { clean } from '../terminal/text.js'
import type { RunFlags } from './flags.js'
import { guardRealVsSimulated } from './source.js'

interface RunEventsContext {
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

/**
 * The lines above the progress: an unfinished run is resumed, a complete run is not up to date, streams run although `--only` does not name
 * them, or a stream retries its failed items.
 */
export const startLines = (event: RunEvent, { run: { only }, retryFailed }: RunFlags): readonly string[] => {
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
