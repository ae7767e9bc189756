import {
  catchError,
  delayWhen,
  filter,
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
import type { RunReport } from '../../model/report.js'
import { buildResumeArgs, formatCommandLine } from '../command-line.js'
import type { ProcessIo } from '../dependencies.js'
import { type ExitSignal, toExitCode, untilSignal } from '../signals.js'
import { formatText } from '../terminal/print.js'
import type { ProgressDisplay } from '../terminal/progress.js'
import type { RunFollower } from './live.js'

/** How a run ended. Without a report, it had not started. */
export interface RunEnding {
  readonly report?: RunReport
  /** The signal that interrupted it. */
  readonly signal?: ExitSignal
  /** The error that ended it. */
  readonly error?: unknown
  /** Whether the run itself has stored the report. */
  readonly isReportStored?: boolean
}

interface FollowContext {
  readonly follower: Pick<RunFollower, 'progress'>
  readonly display: ProgressDisplay
  readonly io: Pick<ProcessIo, 'scheduler' | 'signal$' | 'stderr'>
  /** Whether the progress display stays on the terminal. */
  readonly keepsProgress: boolean
}

/** A stopping run gives requests in flight 5 s to finish; after this time it is cut off. */
const MAX_GRACE_MS = 6_000

/**
 * Follows a run to its end: its report, an error, or a signal. After a signal, a started run has a few seconds to finish before it is
 * unsubscribed. Emits once. Errors only on wrong usage, and if the run fails before it starts.
 */
export const followRun = (event$: Observable<RunEvent>, { follower, display, io, keepsProgress }: FollowContext): Observable<RunEnding> => {
  const hasStarted = (): boolean => (follower.progress()?.stats.streams().length ?? 0) > 0
  const reportNow = (outcome: 'failed' | 'interrupted', error?: string): RunReport | undefined =>
    hasStarted() ? follower.progress()?.stats.report(io.scheduler.now(), { outcome, ...(error === undefined ? {} : { error }) }) : undefined
  const end = (): void => display.end({ keep: keepsProgress })
  let signal: ExitSignal | undefined
  const graceOver$ = io.signal$.pipe(
    take(1),
    tap((first) => {
      signal = first
      if (hasStarted()) display.writeAbove(formatText(STOPPING, io.stderr))
    }),
    delayWhen(() => (hasStarted() ? timer(MAX_GRACE_MS, io.scheduler) : of(0))),
  )
  return event$.pipe(
    tap((event) => display.update(event)),
    filter((event) => event.type === 'run-finished'),
    takeLast(1),
    throwIfEmpty(() => new Error('the run ended without a report')),
    map(({ report }): RunEnding => ({ report, isReportStored: true, ...(report.outcome === 'interrupted' && signal ? { signal } : {}) })),
    catchError((error: unknown) => {
      const report = error instanceof UsageError ? undefined : reportNow('failed', formatError(error))
      return report ? of({ report, error }) : throwError(() => error)
    }),
    untilSignal(graceOver$),
    map((ending) => (typeof ending === 'string' ? createInterruptedEnding(ending, reportNow('interrupted')) : ending)),
    tap({ next: end, error: end }),
  )
}

const STOPPING = 'Stopping: requests in flight have 5 s to finish. Press Ctrl+C again to stop at once.'

/** Ends the process at the second signal, with the command that resumes the run. */
export const exitOnSecondSignal = (io: ProcessIo, display: ProgressDisplay, args: readonly string[]): Subscription =>
  io.signal$.pipe(skip(1), take(1)).subscribe((signal) => {
    display.end()
    io.stderr.write(`Stopped at once. To resume: ${formatCommandLine(buildResumeArgs(args))}\n`)
    io.exit(toExitCode(signal))
  })

const createInterruptedEnding = (signal: ExitSignal, report: RunReport | undefined): RunEnding => (report ? { report, signal } : { signal })

const OUTCOME_EXIT_CODES: Readonly<Record<RunReport['outcome'], number>> = { complete: 0, failed: 1, interrupted: 1, partial: 3 }

/** The exit code of a run. */
export const toRunExitCode = ({ report, signal }: RunEnding): number =>
  signal !== undefined ? toExitCode(signal) : report ? OUTCOME_EXIT_CODES[report.outcome] : 1
