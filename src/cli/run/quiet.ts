import { catchError, defer, map, type Observable, of } from 'rxjs'
import type { Settings } from '../../model/settings.js'
import { collectBrief } from '../brief/command.js'
import { briefLines } from '../brief/lines.js'
import type { Dependencies, ProcessIo } from '../dependencies.js'
import { printLines } from '../terminal/print.js'
import { readSize, type TextLine } from '../terminal/terminal.js'

interface QuietContext {
  readonly settings: Settings
  readonly io: ProcessIo
  readonly dependencies: Dependencies
}

/** Prints nothing if all is well, otherwise the brief and what to do next; `printSummary` if the folder has no brief of this run. */
export const printIfNotWell = (
  { isWell, run, next }: { readonly isWell: boolean; readonly run: string | undefined; readonly next: readonly TextLine[] },
  { settings, io, dependencies }: QuietContext,
  printSummary: () => void,
): Observable<unknown> =>
  isWell
    ? of(undefined)
    : defer(() => collectBrief(settings, dependencies, { watchlist: {}, verify: false })).pipe(
        map((brief) => {
          if (brief.run === run) printLines([...briefLines(brief, readSize(io.stdout).columns), ...next], io.stdout)
          else printSummary()
        }),
        catchError(() => of(printSummary())),
      )
