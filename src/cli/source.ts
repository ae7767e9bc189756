import { concatMap, forkJoin, type MonoTypeOperatorFunction, map, type Observable, of, throwError } from 'rxjs'
import { UsageError } from '../model/errors.js'
import type { RunEvent } from '../model/event.js'
import { isRow } from '../model/row.js'
import type { Storage } from '../pipeline/storage.js'
import { MASTER } from '../pipeline/work.js'

const FILE = 'source.json'

type Folder = Pick<Storage, 'stored' | 'keep'>

/**
 * Keeps made-up and real data apart: a folder that holds a market of the one kind refuses a run of the other, before anything is
 * asked, because candles are continued from what is stored. Notes in the folder which kind it is as soon as there is data.
 */
export const ofOneSource =
  (folder: Folder, { out, isSimulated }: { readonly out: string; readonly isSimulated: boolean }): MonoTypeOperatorFunction<RunEvent> =>
  (event$) =>
    heldBy(folder).pipe(
      concatMap((held) => {
        if (held !== undefined && held !== isSimulated) return throwError(() => new UsageError(refusal(out, held)))
        let isNoted = held !== undefined
        return event$.pipe(
          concatMap((event) => {
            if (isNoted || !bringsData(event)) return of(event)
            isNoted = true
            return noted(folder, isSimulated, event)
          }),
        )
      }),
    )

/** Whether something will be stored: of the master list, once the stocks of the run are found in it. */
const bringsData = (event: RunEvent): boolean =>
  event.type === 'master-read' || (event.type === 'settled' && event.status === 'success' && event.stream !== MASTER)

/** Whether the market in the folder is a made-up one; nothing if it holds none. A folder that says nothing holds real data. */
const heldBy = ({ stored }: Folder): Observable<boolean | undefined> =>
  forkJoin([stored.exists('master_isin_map.json'), stored.document(`.scripstream/${FILE}`)]).pipe(
    map(([hasMarket, source]) => (isRow(source) ? source.simulated === true : hasMarket ? false : undefined)),
  )

const noted = ({ keep }: Folder, simulated: boolean, event: RunEvent): Observable<RunEvent> =>
  keep(FILE, { simulated }).pipe(map(() => event))

const refusal = (out: string, isSimulated: boolean): string =>
  isSimulated
    ? `${out} holds made-up data of a run with --simulate, which real candles must not continue: choose another --out, or delete the folder`
    : `${out} holds data of a provider, which made-up data must not replace: choose another --out for --simulate`
