import { filter, forkJoin, from, map, type Observable, of, switchMap } from 'rxjs'
import type { Telemetry } from '../../engine/event-bus.js'
import type { GiveUpReason, RunEvent } from '../../model/event.js'
import { omitUndefined } from '../../model/row.js'
import { escapeUnprintable } from '../../model/text.js'
import { createRunEngine } from '../fleet.js'
import { describeAsOfSession } from '../options.js'
import { whileServing, withProvider } from '../provider.js'
import { formatText } from '../terminal/terminal.js'
import { clean, formatQuantity } from '../terminal/text.js'
import type { RunCommandContext } from './context.js'
import { guardRealVsSimulated } from './source.js'

interface Onlookers {
  readonly display: { readonly writeAbove: (text: string) => void }
  readonly page: Telemetry
}

/**
 * Starts the run with its logger, metrics, engine and provider; emits its events, but for those of single
 * items.
 */
export const createRunEvents = (
  context: RunCommandContext,
  { display, page }: Onlookers,
): Observable<RunEvent> => {
  const { flags, run, settings: own, io, dependencies, metrics, traces } = context
  const telemetry = [page, metrics?.telemetry, traces].filter((one) => one !== undefined)
  const clock = (): number => io.scheduler.now()
  const event$ = forkJoin({
    log: openLogs(context, display),
    engine: createRunEngine(flags, io.env, dependencies),
  }).pipe(
    switchMap(({ log, engine }) =>
      withProvider(
        { simulate: flags.simulate, asOf: run.asOf },
        { settings: own, dependencies },
        ({ settings, variant, note }) => {
          if (note !== undefined && !flags.quiet) display.writeAbove(formatText(note, io.stderr))
          return dependencies
            .createCollector({
              settings,
              streams: dependencies.streams,
              ...engine,
              ...omitUndefined({ log }),
              telemetry,
              clock,
            })
            .events({ ...run, stop: io.signal$, ...variant })
        },
      ),
    ),
  )
  const { metrics: port } = flags
  const serve = () =>
    import('./metrics.js').then(({ serveMetrics }) =>
      serveMetrics(port ?? 0, metrics as NonNullable<typeof metrics>, own),
    )
  const run$ = port === undefined || metrics === undefined ? event$ : whileServing(serve, () => event$)
  return run$.pipe(
    guardRealVsSimulated(dependencies.storage(own), {
      out: own.out,
      isSimulated: flags.simulate !== undefined,
    }),
    // Requests, items and files are read from the statistics.
    filter(({ type }) => type !== 'requested' && type !== 'item-finished' && type !== 'stored'),
  )
}

/** The logs of a run as one: its file, and the terminal if it is to show a log. */
const openLogs = (
  { flags: { logLevel = 'silent' }, log: file, io }: RunCommandContext,
  { writeAbove }: Onlookers['display'],
) =>
  logLevel === 'silent'
    ? of(file)
    : from(import('./log.js')).pipe(
        map(({ combineLogs, createLog }) => {
          const terminal = createLog((line) => writeAbove(escapeUnprintable(line)), logLevel, io)
          return file ? combineLogs([terminal, file]) : terminal
        }),
      )

const GIVE_UP_REASONS: Readonly<Record<GiveUpReason, string>> = {
  fresh: 'is not to be resumed (--fresh)',
  version: 'was begun by another version of scripstream',
  instant: 'was as of another day or time',
  session: 'was begun before the end of the session, which is over now',
  settings: 'had other settings',
  selection: 'had other streams or stocks',
}

/** The lines above the progress: what a run begins with that is not plain from its command. */
export const startLines = (
  event: RunEvent,
  { run: { only } }: Pick<RunCommandContext, 'run'>,
): readonly string[] => {
  if (event.type === 'second-pass')
    return [`${event.stream}: retrying ${formatQuantity(event.items, 'item')}`]
  if (event.type !== 'run-started') return []
  const { run, asOfSession, isContinued, isRemainder, givenUp, changed, streams } = event
  const added = streams
    .filter(({ name, state }) => state === 'waiting' && only?.includes(name) === false)
    .map(({ name }) => name)
  const lines: readonly (string | false | undefined)[] = [
    asOfSession && describeAsOfSession(asOfSession),
    isContinued && `Resuming run ${run}: only missing items are requested (--fresh starts from scratch).`,
    isRemainder &&
      !isContinued &&
      'Only what is missing or due since the last run is requested (--fresh downloads everything again).',
    givenUp &&
      `Starting from scratch: the unfinished run ${givenUp.run} ${GIVE_UP_REASONS[givenUp.reason]}; it is discarded once the stocks are known.`,
    changed !== undefined && `Downloading again: ${clean(changed)} has changed since the last run.`,
    added.length > 0 && `Also running what --only needs: ${added.join(', ')}`,
  ]
  return lines.filter((line) => typeof line === 'string')
}
