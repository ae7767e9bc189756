import {
  concatMap,
  forkJoin,
  ignoreElements,
  type MonoTypeOperatorFunction,
  map,
  merge,
  type Observable,
  of,
  Subject,
  tap,
  throwError,
} from 'rxjs'
import { MASTER } from '../../engine/define-stream.js'
import { type Storage, toStatePath } from '../../engine/storage.js'
import { UsageError } from '../../model/errors.js'
import type { RunEvent } from '../../model/event.js'
import { isRow, readText } from '../../model/row.js'
import { toDay } from '../../model/trading-day.js'
import { catchDamagedFile } from '../../operators/catch-item-failure.js'
import { printWarning } from '../terminal/print.js'
import type { RunCommandContext } from './context.js'

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
        const firstData$ = new Subject<void>()
        const record$ = firstData$.pipe(concatMap(() => folder.storeDocument(SOURCE_FILE, { simulated: isSimulated })))
        const next = (event: RunEvent): void => {
          if (isRecorded || !storesData(event)) return
          isRecorded = true
          firstData$.next()
        }
        // Not one Observable for each of 60,000 events.
        return merge(record$.pipe(ignoreElements()), event$.pipe(tap({ next, complete: () => firstData$.complete() })))
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

/** A simulated market has no other "now" than the day that is asked for: the outputs of a later day are replaced by those of that day. */
export const warnOfLaterDay = ({
  flags,
  run: { asOf },
  settings,
  io,
  dependencies,
}: Pick<RunCommandContext, 'flags' | 'run' | 'settings' | 'io' | 'dependencies'>): Observable<unknown> => {
  if (flags.simulate === undefined || asOf === undefined) return of(undefined)
  return dependencies
    .storage(settings)
    .stored.document(toStatePath('report.json'))
    .pipe(
      catchDamagedFile(() => undefined),
      map((report) => {
        const [before, day] = [isRow(report) ? toDay(Date.parse(readText(report.asOf))) : '', toDay(asOf)]
        if (before > day) printWarning(`${settings.out} is of ${before}: its outputs become those of ${day}, but candles stay`, io.stderr)
      }),
    )
}
