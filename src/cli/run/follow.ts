import {
  catchError,
  concatMap,
  defer,
  delayWhen,
  filter,
  finalize,
  map,
  type Observable,
  of,
  type Subscription,
  skip,
  take,
  takeLast,
  tap,
  throwError,
  throwIfEmpty,
  timer,
} from 'rxjs'
import { formatError, UsageError } from '../../model/errors.js'
import type { RunEvent } from '../../model/event.js'
import { buildResumeArgs, formatCommandLine } from '../command-line.js'
import type { ProcessIo } from '../dependencies.js'
import { whileServing } from '../provider.js'
import { openPage, toPortError } from '../serve.js'
import { type ExitSignal, toExitCode, untilSignal } from '../signals.js'
import { createProgress, type ProgressDisplay, resolveMode } from '../terminal/progress.js'
import { formatText } from '../terminal/terminal.js'
import type { EndScreen, RunCommandContext, RunEnding } from './context.js'
import { concludeAndNotify } from './ending.js'
import { createRunEvents, startLines } from './events.js'
import { followProgress, type RunFollower } from './live.js'

const DISPLAY = 'the progress display'

export const runWithProgress = (context: RunCommandContext): Observable<number> =>
  defer(() => {
    const { flags, args, io } = context
    const follower = followProgress(context)
    const display = createDisplay(follower, context)
    const event$ = createRunEvents(context, { display, page: follower.telemetry }).pipe(
      follower.whileRunning(),
      tap((event) => {
        if (flags.quiet) return
        for (const text of startLines(event, context))
          io.wall.attempt(DISPLAY, () => display.writeAbove(formatText(text, io.stderr)))
      }),
    )
    const signals = exitOnSecondSignal(io, display, args)
    let isInterrupted = false
    const screen = createEndScreen(display, follower, context)
    const run$ = followRun(event$, follower, display, context).pipe(
      tap(({ signal }) => {
        isInterrupted = signal !== undefined
      }),
      concatMap((ending) => concludeAndNotify(ending, screen, context)),
      tap({ error: screen.end }),
    )
    const served$ = whilePageIsServed(follower, context, (origin) => {
      if (!flags.quiet) display.writeAbove(`The page of this run: ${origin}/run\n`)
      return run$.pipe(concatMap((code) => (isInterrupted ? of(code) : keepPageOpen(code, origin, context))))
    })
    return (flags.serve === undefined ? run$ : served$).pipe(finalize(() => signals.unsubscribe()))
  })

const createDisplay = (
  follower: RunFollower,
  { flags, io: { stderr, env, scheduler, wall } }: RunCommandContext,
): ProgressDisplay =>
  wall.guard(
    DISPLAY,
    createProgress(flags.quiet ? 'none' : resolveMode(flags.progress ?? 'auto', stderr, env), {
      progress: follower.progress,
      stream: stderr,
      scheduler,
      attempt: (action) => wall.attempt(DISPLAY, action),
    }),
  )

/** The display from the end of the run on. */
const createEndScreen = (
  { writeAbove, end }: ProgressDisplay,
  { progress }: RunFollower,
  { flags, io }: RunCommandContext,
): EndScreen => ({
  writeAbove,
  step: (text) => progress()?.announce(text),
  end: () => {
    progress()?.announce()
    end({ keep: flags.json === true || io.stdout.isTTY !== true })
  },
})

/** Ends the process at the second signal, with the command that resumes the run. */
const exitOnSecondSignal = (io: ProcessIo, display: ProgressDisplay, args: readonly string[]): Subscription =>
  io.signal$.pipe(skip(1), take(1)).subscribe((signal) => {
    display.end()
    io.stderr.write(`Stopped at once. To resume: ${formatCommandLine(buildResumeArgs(args))}\n`)
    io.exit(toExitCode(signal))
  })

/** A stopping run gives requests in flight 5 s to finish; after this time it is cut off. */
const MAX_GRACE_MS = 6_000
const STOPPING = 'Stopping: requests in flight have 5 s to finish. Press Ctrl+C again to stop at once.'

/**
 * Follows a run to its end: its report, an error, or a signal. After a signal, a started run has a few
 * seconds to finish before it is unsubscribed. Emits once. Errors only on wrong usage, and if the run fails
 * before it starts.
 */
const followRun = (
  event$: Observable<RunEvent>,
  follower: RunFollower,
  display: ProgressDisplay,
  { io }: RunCommandContext,
): Observable<RunEnding> => {
  const findStats = () => {
    const stats = follower.progress()?.stats
    return stats && stats.streams().length > 0 ? stats : undefined
  }
  let signal: ExitSignal | undefined
  const graceOver$ = io.signal$.pipe(
    take(1),
    tap((first) => {
      signal = first
      if (findStats()) display.writeAbove(formatText(STOPPING, io.stderr))
    }),
    delayWhen(() => (findStats() ? timer(MAX_GRACE_MS, io.scheduler) : of(0))),
  )
  return event$.pipe(
    tap((event) => display.update(event)),
    filter((event) => event.type === 'run-finished'),
    takeLast(1),
    throwIfEmpty(() => new Error('the run ended without a report')),
    map(
      ({ report }): RunEnding => ({
        report,
        isReportStored: true,
        ...(report.outcome === 'interrupted' && signal ? { signal } : {}),
      }),
    ),
    catchError((error: unknown) => {
      const stats = error instanceof UsageError ? undefined : findStats()
      const report = stats?.report(io.scheduler.now(), { outcome: 'failed', error: formatError(error) })
      return report ? of({ report, error }) : throwError(() => error)
    }),
    untilSignal(graceOver$),
    map((ending): RunEnding => {
      if (typeof ending !== 'string') return ending
      const report = findStats()?.report(io.scheduler.now(), { outcome: 'interrupted' })
      return report ? { report, signal: ending } : { signal: ending }
    }),
  )
}

const whilePageIsServed = (
  { state }: RunFollower,
  { flags: { serve }, settings, io, dependencies }: RunCommandContext,
  use: (origin: string) => Observable<number>,
): Observable<number> => {
  const port = serve === true ? undefined : serve
  return whileServing(
    () => openPage({ settings, port, live: state, wall: io.wall }, dependencies),
    ({ origin }) => use(origin),
  ).pipe(catchError((error: unknown) => throwError(() => toPortError(error, '--serve', port))))
}

/** On a terminal, serves the page after the run, until Ctrl+C. */
const keepPageOpen = (code: number, origin: string, { flags, io }: RunCommandContext): Observable<number> => {
  if (io.stdout.isTTY !== true || flags.quiet || flags.json) return of(code)
  io.stderr.write(`The page stays at ${origin}; press Ctrl+C to end.\n`)
  return io.signal$.pipe(
    take(1),
    map(() => code),
  )
}
