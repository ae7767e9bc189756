import { defer, filter, map, type Observable, of, switchMap } from 'rxjs'
import type { GiveUpReason, RunEvent } from '../../model/event.js'
import { escapeUnprintable } from '../../model/text.js'
import type { AllTelemetry, Log, Telemetry } from '../../pipeline/event-bus.js'
import { describeAsOfSession } from '../as-of.js'
import { createRunEngine } from '../fleet.js'
import { whileServing, withProvider } from '../provider.js'
import { formatQuantity } from '../terminal/format.js'
import type { ProgressDisplay } from '../terminal/progress.js'
import { clean } from '../terminal/text.js'
import type { RunCommandContext, RunFlags } from './flags.js'
import { combineLogs } from './log-file.js'
import { toMetricLabels } from './metrics-export.js'
import { guardRealVsSimulated } from './source.js'

/** Starts the run with its logger, metrics, engine and provider; emits its events, but for those of single items. */
export const createRunEvents = (
  context: RunCommandContext,
  { display, page }: { readonly display: ProgressDisplay; readonly page: Telemetry },
): Observable<RunEvent> => {
  const { flags, settings, dependencies, metrics, traces } = context
  return createLog(flags, display, context.log).pipe(
    switchMap((log) => {
      const { metrics: port } = flags
      const telemetry = [page, ...(metrics === undefined ? [] : [metrics.telemetry]), ...(traces === undefined ? [] : [traces])]
      const event$ = collectEvents(context, { ...log, telemetry })
      if (port === undefined || metrics === undefined) return event$
      const serve = () => import('./metrics-server.js').then(({ serveMetrics }) => serveMetrics(port, metrics, toMetricLabels(settings)))
      return whileServing(serve, () => event$)
    }),
    guardRealVsSimulated(dependencies.storage(settings), { out: settings.out, isSimulated: flags.simulate !== undefined }),
    // Requests, items and files are read from the statistics.
    filter(({ type }) => type !== 'requested' && type !== 'item-finished' && type !== 'stored'),
  )
}

/** What observes a run besides its progress display. */
interface Observers {
  readonly log?: Log
  readonly telemetry: AllTelemetry
}

/** The logger, loaded only if something is logged: that takes 8 ms. */
const createLog = (
  { logLevel: level }: RunFlags,
  { writeAbove }: ProgressDisplay,
  file: Log | undefined,
): Observable<Pick<Observers, 'log'>> =>
  level === 'silent'
    ? of(file === undefined ? {} : { log: file })
    : defer(() => import('pino')).pipe(
        map(({ pino }) => pino({ level }, { write: (line) => writeAbove(escapeUnprintable(line)) })),
        map((log) => ({ log: file === undefined ? log : combineLogs([log, file]) })),
      )

const collectEvents = ({ flags, settings: own, io, dependencies }: RunCommandContext, observers: Observers): Observable<RunEvent> =>
  createRunEngine(flags.fleet, io.env, dependencies).pipe(
    switchMap((engine) =>
      withProvider({ simulate: flags.simulate, asOf: flags.run.asOf }, { settings: own, dependencies }, ({ settings, variant }) =>
        dependencies
          .createCollector({ settings, streams: dependencies.streams, ...engine, ...observers, clock: () => io.scheduler.now() })
          .events({ ...flags.run, stop: io.signal$, ...variant }),
      ),
    ),
  )

/** Why an unfinished run is not resumed. */
const GIVE_UP_REASONS: Readonly<Record<GiveUpReason, string>> = {
  fresh: 'is not to be resumed (--fresh)',
  version: 'was begun by another version of scripstream',
  instant: 'was as of another day or time',
  settings: 'had other settings',
  selection: 'had other streams or stocks',
}

/**
 * The lines above the progress: outputs are of two sessions, an unfinished run is resumed, a complete run is not up to date, streams run although `--only` does not name
 * them, or a stream retries its failed items.
 */
export const startLines = (event: RunEvent, { run: { only }, retryFailed }: RunFlags): readonly string[] => {
  if (event.type === 'second-pass') return [`${event.stream}: retrying ${formatQuantity(event.items, 'item')}`]
  if (event.type !== 'run-started') return []
  const { run, asOfSession, isContinued, isRemainder, givenUp, changed, streams } = event
  const added = streams.filter(({ name, state }) => state === 'waiting' && only?.includes(name) === false).map(({ name }) => name)
  return [
    ...(asOfSession ? [describeAsOfSession(asOfSession)] : []),
    ...(isContinued ? [`Resuming run ${run}: only missing items are requested (--fresh starts from scratch).`] : []),
    ...(isRemainder && !isContinued
      ? ['Only what is missing or due since the last run is requested (--fresh downloads everything again).']
      : []),
    ...(givenUp === undefined
      ? []
      : [
          `Starting from scratch: the unfinished run ${givenUp.run} ${GIVE_UP_REASONS[givenUp.reason]}; it is discarded once the stocks are known.`,
        ]),
    ...(changed === undefined ? [] : [`Downloading again: ${clean(changed)} has changed since the last run.`]),
    ...(added.length > 0 && !retryFailed ? [`Also running what --only needs: ${added.join(', ')}`] : []),
  ]
}
