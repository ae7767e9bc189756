import { join } from 'node:path'
import { catchError, defer, EMPTY, ignoreElements, type Observable, of, switchMap, tap } from 'rxjs'
import { goneSince, notedRun } from '../../../sinks/complete-run.js'
import { formatQuantity } from '../format.js'
import type { Shell } from '../parts.js'
import { commandLine } from '../rerun.js'
import { clean } from '../text.js'

/**
 * Warns if files of the last complete run are missing: a table that is loaded without them loses rows. Does nothing if no run recorded its
 * files, or the record cannot be read. Completes without a value.
 */
export const tellGone = (out: string, { stderr }: Pick<Shell, 'stderr'>): Observable<never> =>
  defer(() => notedRun(join(out, '.scripstream/complete.json'))).pipe(
    catchError(() => of(undefined)),
    switchMap((noted) => (noted === undefined ? EMPTY : goneSince(noted, out))),
    tap((gone) => {
      const [first] = gone.map(clean)
      if (first === undefined) return
      const named = gone.length === 1 ? ` is missing: ${first}` : ` are missing, such as ${first}`
      const more = commandLine(['verify', '--out', out])
      stderr.write(`warning: ${formatQuantity(gone.length, 'file')} of the last run${named}; for details: ${clean(more)}\n`)
    }),
    ignoreElements(),
  )
