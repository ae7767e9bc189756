import { catchError, concatMap, defer, finalize, map, type Observable, of, Subscription, take, tap, throwError } from 'rxjs'
import type { ProcessIo } from '../dependencies.js'
import { whileServing } from '../provider.js'
import { openPage, toPortError } from '../serve.js'
import { formatText } from '../terminal/print.js'
import { createProgress, type ProgressDisplay, resolveMode } from '../terminal/progress.js'
import { chooseGlyphs } from '../terminal/terminal.js'
import type { RunCommandContext } from './flags.js'
import { exitOnSecondSignal, followRun } from './follow-run.js'
import { followProgress, type RunFollower } from './live.js'
import { concludeAndNotify } from './notified.js'
import { createRunEvents, startLines } from './run-events.js'

/** Runs the graph and shows its progress, then its outcome; emits the exit code. */
export const runWithProgress = (context: RunCommandContext): Observable<number> =>
  defer(() => {
    const { flags, io } = context
    const follower = followProgress(context)
    const display = createDisplay(follower, context)
    let isInterrupted = false
    const event$ = createRunEvents(context, { display, page: follower.telemetry }).pipe(
      follower.whileRunning(),
      tap((event) => {
        if (flags.quiet) return
        for (const text of startLines(event, flags)) io.wall.attempt(DISPLAY, () => display.writeAbove(formatText(text, io.stderr)))
      }),
    )
    const signals = exitOnSecondSignal(io, display, flags.args)
    signals.add(followJobControl(io, display))
    const keepsProgress = flags.json || io.stdout.isTTY !== true
    const run$ = followRun(event$, { follower, display, io, keepsProgress }).pipe(
      tap(({ signal }) => {
        isInterrupted = signal !== undefined
      }),
      concatMap((ending) => concludeAndNotify(ending, context)),
    )
    const served = { run$, follower, isInterrupted: () => isInterrupted, write: display.writeAbove }
    return withPage(served, context).pipe(finalize(() => signals.unsubscribe()))
  })

/** The progress display of a run, as its flags want it. */
const createDisplay = (follower: RunFollower, { flags, io: { stderr, env, scheduler, wall } }: RunCommandContext): ProgressDisplay =>
  wall.guard(
    DISPLAY,
    createProgress(flags.quiet ? 'none' : resolveMode(flags.progress, stderr, env), {
      progress: follower.progress,
      stream: stderr,
      glyphs: chooseGlyphs(env),
      scheduler,
      attempt: (action) => wall.attempt(DISPLAY, action),
    }),
  )

const DISPLAY = 'the progress display'

/** Ctrl+Z clears the display and shows the cursor before the process stops; `fg` draws again. */
export const followJobControl = ({ jobSignal$, suspend }: ProcessIo, { pause, resume }: ProgressDisplay): Subscription => {
  if (pause === undefined || resume === undefined) return Subscription.EMPTY
  return jobSignal$.subscribe((signal) => {
    if (signal === 'SIGCONT') return resume()
    pause()
    suspend()
  })
}

interface ServedRun {
  readonly run$: Observable<number>
  readonly follower: RunFollower
  /** Whether a signal has ended the run. */
  readonly isInterrupted: () => boolean
  readonly write: (text: string) => void
}

/** Serves the page during a run, and on a terminal after it, until Ctrl+C. Emits the exit code of the run. */
const withPage = ({ run$, follower, isInterrupted, write }: ServedRun, context: RunCommandContext): Observable<number> => {
  const { flags, settings, io, dependencies } = context
  if (flags.serve === undefined) return run$
  const port = flags.serve === true ? undefined : flags.serve
  const staysOpen = io.stdout.isTTY === true && !flags.quiet && !flags.json
  return whileServing(
    () => openPage({ settings, port, live: follower.state, wall: io.wall }, dependencies),
    ({ origin }) => {
      if (!flags.quiet) write(`The page of this run: ${origin}/run\n`)
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
