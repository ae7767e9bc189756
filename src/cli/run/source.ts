import {
  concatMap,
  firstValueFrom,
  forkJoin,
  ignoreElements,
  type MonoTypeOperatorFunction,
  map,
  merge,
  type Observable,
  Subject,
  tap,
  throwError,
} from 'rxjs'
import { MASTER } from '../../engine/define-stream.js'
import { type Storage, toStatePath } from '../../engine/storage.js'
import { UsageError } from '../../model/errors.js'
import type { RunEvent } from '../../model/event.js'
import { isRow } from '../../model/row.js'
import type { Settings } from '../../model/settings.js'
import type { Dependencies } from '../dependencies.js'

const SOURCE_FILE = 'source.json'

type Folder = Pick<Storage, 'stored' | 'storeDocument'>

/**
 * Keeps simulated and real data apart, because a run extends the stored candles: a folder with data of one
 * kind refuses a run of the other before the first request. Records the kind in the folder as soon as there
 * is data.
 */
export const guardRealVsSimulated =
  (
    folder: Folder,
    { out, isSimulated }: { readonly out: string; readonly isSimulated: boolean },
  ): MonoTypeOperatorFunction<RunEvent> =>
  (event$) =>
    readSource(folder).pipe(
      concatMap((stored) => {
        if (stored !== undefined && stored !== isSimulated)
          return throwError(() => new UsageError(describeConflict(out, stored)))
        let isRecorded = stored !== undefined
        const firstData$ = new Subject<void>()
        const record$ = firstData$.pipe(
          concatMap(() => folder.storeDocument(SOURCE_FILE, { simulated: isSimulated })),
        )
        const next = (event: RunEvent): void => {
          if (isRecorded || !storesData(event)) return
          isRecorded = true
          firstData$.next()
        }
        // Not one Observable for each of 60,000 events.
        return merge(
          record$.pipe(ignoreElements()),
          event$.pipe(tap({ next, complete: () => firstData$.complete() })),
        )
      }),
    )

/** @throws an error if a run with real data is refused, as it is where the kind of the data cannot be read */
export const checkSource = async (
  settings: Settings,
  { storage }: Pick<Dependencies, 'storage'>,
): Promise<undefined> => {
  const stored = await firstValueFrom(readSource(storage(settings)))
  if (stored) throw new UsageError(describeConflict(settings.out, stored))
}

/** Whether data will be stored: for the master list, once the stocks of the run are found in it. */
const storesData = (event: RunEvent): boolean =>
  event.type === 'master-read' ||
  (event.type === 'item-finished' && event.status === 'success' && event.stream !== MASTER)

/**
 * Whether the data in the folder is simulated; undefined for an empty folder. A folder without a record has
 * real data.
 */
const readSource = ({ stored }: Folder): Observable<boolean | undefined> =>
  forkJoin([stored.exists('master_isin_map.json'), stored.document(toStatePath(SOURCE_FILE))]).pipe(
    map(([hasMarket, source]) => (isRow(source) ? source.simulated === true : hasMarket ? false : undefined)),
  )

const describeConflict = (out: string, isSimulated: boolean): string =>
  isSimulated
    ? `${out} has simulated data, which a real run must not extend; choose another --out, or delete the folder`
    : `${out} has real data, which a simulated run must not overwrite; choose another --out for --simulate`
