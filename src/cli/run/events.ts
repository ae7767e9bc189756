import { concatMap, filter, forkJoin, type MonoTypeOperatorFunction, map, type Observable, of, switchMap, throwError } from 'rxjs'
import { UsageError } from '../../model/errors.js'
import type { GiveUpReason, RunEvent } from '../../model/event.js'
import { isRow, omitUndefined } from '../../model/row.js'
import { escapeUnprintable } from '../../model/text.js'
import { MASTER } from '../../pipeline/define-stream.js'
import type { Telemetry } from '../../pipeline/event-bus.js'
import { type Storage, toStatePath } from '../../pipeline/storage.js'
import { describeAsOfSession } from '../as-of.js'
import { createRunEngine } from '../fleet.js'
import { whileServing, withProvider } from '../provider.js'
import { formatQuantity } from '../terminal/format.js'
import { clean } from '../terminal/text.js'
import type { RunCommandContext } from './context.js'
import { combineLogs, createLog } from './log.js'

interface Onlookers {
  readonly display: { readonly writeAbove: (text: string) => void }
  readonly page: Telemetry
}

/** Starts the run with its logger, metrics, engine and provider; emits its events, but for those of single items. */
export const createRunEvents = (context: RunCommandContext, { display, page }: Onlookers): Observable<RunEvent> => {
  const { flags, run, settings: own, io, dependencies, metrics, traces } = context
  const shown = flags.logLevel && flags.logLevel !== 'silent' ? flags.logLevel : undefined
  const terminal = shown && createLog((line) => display.writeAbove(escapeUnprintable(line)), shown, io)
  const log = terminal && context.log ? combineLogs([terminal, context.log]) : (terminal ?? context.log)
  const telemetry = [page, metrics?.telemetry, traces].filter((one) => one !== undefined)
  const clock = (): number => io.scheduler.now()
  const event$ = createRunEngine(flags, io.env, dependencies).pipe(
    switchMap((engine) =>
      withProvider({ simulate: flags.simulate, asOf: run.asOf }, { settings: own, dependencies }, ({ settings, variant }) =>
        dependencies
          .createCollector({ settings, streams: dependencies.streams, ...engine, ...omitUndefined({ log }), telemetry, clock })
          .events({ ...run, stop: io.signal$, ...variant }),
      ),
    ),
  )
  const { metrics: port } = flags
  const serve = () =>
    import('./metrics.js').then(({ serveMetrics }) => serveMetrics(port ?? 0, metrics as NonNullable<typeof metrics>, own))
  return (port === undefined || metrics === undefined ? event$ : whileServing(serve, () => event$)).pipe(
    guardRealVsSimulated(dependencies.storage(own), { out: own.out, isSimulated: flags.simulate !== undefined }),
    // Requests, items and files are read from the statistics.
    filter(({ type }) => type !== 'requested' && type !== 'item-finished' && type !== 'stored'),
  )
}

/** Why an unfinished run is not resumed. */
const GIVE_UP_REASONS: Readonly<Record<GiveUpReason, string>> = {
  fresh: 'is not to be resumed (--fresh)',
  version: 'was begun by another version of scripstream',
  instant: 'was as of another day or time',
  settings: 'had other settings',
  selection: 'had other streams or stocks',
}

/** The lines above the progress: what a run begins with that is not plain from its command. */
export const startLines = (event: RunEvent, { run: { only }, flags }: Pick<RunCommandContext, 'run' | 'flags'>): readonly string[] => {
  if (event.type === 'second-pass') return [`${event.stream}: retrying ${formatQuantity(event.items, 'item')}`]
  if (event.type !== 'run-started') return []
  const { run, asOfSession, isContinued, isRemainder, givenUp, changed, streams } = event
  const added = streams.filter(({ name, state }) => state === 'waiting' && only?.includes(name) === false).map(({ name }) => name)
  const lines: readonly (string | false | undefined)[] = [
    asOfSession && describeAsOfSession(asOfSession),
    isContinued && `Resuming run ${run}: only missing items are requested (--fresh starts from scratch).`,
    isRemainder && !isContinued && 'Only what is missing or due since the last run is requested (--fresh downloads everything again).',
    givenUp &&
      `Starting from scratch: the unfinished run ${givenUp.run} ${GIVE_UP_REASONS[givenUp.reason]}; it is discarded once the stocks are known.`,
    changed !== undefined && `Downloading again: ${clean(changed)} has changed since the last run.`,
    added.length > 0 && !flags.retryFailed && `Also running what --only needs: ${added.join(', ')}`,
  ]
  return lines.filter((line) => typeof line === 'string')
}

const SOURCE_FILE = 'source.json'

type Folder = Pick<Storage, 'stored' | 'storeDocument'>

/**
 * Keeps simulated and real data apart, because a run extends the stored candles: a folder with data of one kind refuses a run of the other
 * before the first request. Records the kind in the folder as soon as there is data.
 */
export const guardRealVsSimulated =
  (folder: Folder, { out, isSimulated }: { readonly out: string; readonly isSimulated: boolean }): MonoTypeOperatorFunction<RunEvent> =>
  (event$) =>
    readSource(folder).pipe(
      concatMap((stored) => {
        if (stored !== undefined && stored !== isSimulated) return throwError(() => new UsageError(describeConflict(out, stored)))
        let isRecorded = stored !== undefined
        return event$.pipe(
          concatMap((event) => {
            if (isRecorded || !storesData(event)) return of(event)
            isRecorded = true
            return folder.storeDocument(SOURCE_FILE, { simulated: isSimulated }).pipe(map(() => event))
          }),
        )
      }),
    )

/** Whether data will be stored: for the master list, once the stocks of the run are found in it. */
const storesData = (event: RunEvent): boolean =>
  event.type === 'master-read' || (event.type === 'item-finished' && event.status === 'success' && event.stream !== MASTER)

/** Whether the data in the folder is simulated; undefined for an empty folder. A folder without a record has real data. */
const readSource = ({ stored }: Folder): Observable<boolean | undefined> =>
  forkJoin([stored.exists('master_isin_map.json'), stored.document(toStatePath(SOURCE_FILE))]).pipe(
    map(([hasMarket, source]) => (isRow(source) ? source.simulated === true : hasMarket ? false : undefined)),
  )

const describeConflict = (out: string, isSimulated: boolean): string =>
  isSimulated
    ? `${out} has simulated data, which a real run must not extend; choose another --out, or delete the folder`
    : `${out} has real data, which a simulated run must not overwrite; choose another --out for --simulate`
