import { join } from 'node:path'
import { catchError, defer, EMPTY, ignoreElements, type Observable, of, switchMap, tap } from 'rxjs'
import { listMissingOutputs, readRunSnapshot } from '../../storage/run-snapshot.js'
import type { ProcessIo } from '../dependencies.js'
import { formatQuantity } from '../format.js'
import { formatCommandLine } from '../next-commands.js'
import { clean } from '../text.js'

/**
 * Warns if files of the last complete run are missing: a table that is loaded without them loses rows. Does nothing if no run recorded its
 * files, or the record cannot be read. Completes without a value.
 */
export const warnMissingFiles = (out: string, { stderr }: Pick<ProcessIo, 'stderr'>): Observable<never> =>
  defer(() => readRunSnapshot(join(out, '.scripstream/complete.json'))).pipe(
    catchError(() => of(undefined)),
    switchMap((noted) => (noted === undefined ? EMPTY : listMissingOutputs(noted, out))),
    tap((gone) => {
      const [first] = gone.map(clean)
      if (first === undefined) return
      const named = gone.length === 1 ? ` is missing: ${first}` : ` are missing, such as ${first}`
      const more = formatCommandLine(['verify', '--out', out])
      stderr.write(`warning: ${formatQuantity(gone.length, 'file')} of the last run${named}; for details: ${clean(more)}\n`)
    }),
    ignoreElements(),
  )
