import { catchError, concatMap, map, type Observable, of, take, throwError } from 'rxjs'
import { whileServing } from '../provider.js'
import { openPage, toPortError } from '../serve/page-server.js'
import type { RunCommandContext } from './flags.js'
import type { RunFollower } from './live.js'

interface ServedRun {
  readonly run$: Observable<number>
  readonly follower: RunFollower
  /** Whether a signal has ended the run. */
  readonly isInterrupted: () => boolean
  readonly write: (text: string) => void
}

/** Serves the page during a run, and on a terminal after it, until Ctrl+C. Emits the exit code of the run. */
export const withPage = ({ run$, follower, isInterrupted, write }: ServedRun, context: RunCommandContext): Observable<number> => {
  const { flags, settings, io, dependencies } = context
  if (flags.serve === undefined) return run$
  const port = flags.serve === true ? undefined : flags.serve
  const staysOpen = io.stdout.isTTY === true && !flags.quiet && !flags.json
  return whileServing(
    () => openPage({ settings, port, live: follower.state, wall: io.wall }, dependencies),
    ({ origin }) => {
      if (!flags.quiet) write(`The page of this run: ${origin}\n`)
      return run$.pipe(
        concatMap((code) => {
          if (!staysOpen || isInterrupted()) return of(code)
          io.stderr.write(`The page stays at ${origin}; press Ctrl+C to end.\n`)
          return io.signal$.pipe(
            take(1),
            map(() => code),
          )
        }),
      )
    },
  ).pipe(catchError((error: unknown) => throwError(() => toPortError(error, '--serve', port))))
}
