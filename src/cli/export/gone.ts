import { join } from 'node:path'
import { catchError, defer, EMPTY, ignoreElements, type Observable, of, switchMap, tap } from 'rxjs'
import { goneSince, notedRun } from '../../../sinks/complete-run.js'
import { counted } from '../format.js'
import type { Shell } from '../parts.js'
import { commandLine } from '../rerun.js'
import { clean } from '../text.js'

/**
 * Says which of the files that the last complete run noted are gone, if any are: a table that is loaded without them holds less than it did.
 * Where no run noted any, or its note cannot be read, there is nothing to say. Completes without a value.
 */
export const tellGone = (out: string, { stderr }: Pick<Shell, 'stderr'>): Observable<never> =>
  defer(() => notedRun(join(out, '.scripstream/complete.json'))).pipe(
    catchError(() => of(undefined)),
    switchMap((noted) => (noted === undefined ? EMPTY : goneSince(noted, out))),
    tap((gone) => {
      const [first] = gone.map(clean)
      if (first === undefined) return
      const named = gone.length === 1 ? ` is gone, ${first}` : ` are gone, the first of them ${first}`
      const more = commandLine(['verify', '--out', out])
      stderr.write(`scripstream: ${counted(gone.length, 'file')} that the last run left${named}: ${clean(more)} tells more\n`)
    }),
    ignoreElements(),
  )
