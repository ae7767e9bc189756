import { concatMap, defer, finalize, type Observable, tap } from 'rxjs'
import { createRunStats } from '../../model/run-stats.js'
import { formatText } from '../terminal/print.js'
import type { RunCommandContext } from './flags.js'
import { exitOnSecondSignal, followRun } from './follow-run.js'
import { followForPage } from './live.js'
import { concludeAndNotify } from './notified.js'
import { withPage } from './page.js'
import { createRunEvents, startLines } from './run-events.js'
import { createRunProgress, followJobControl } from './run-progress.js'

/** Runs the graph and shows its progress, then its outcome; emits the exit code. */
export const runWithProgress = (context: RunCommandContext): Observable<number> =>
  defer(() => {
    const { flags, io, dependencies } = context
    const stats = createRunStats()
    const progress = createRunProgress({ ...context, stats }, io, dependencies)
    const follower = followForPage(context)
    let isInterrupted = false
    const event$ = createRunEvents(context, { progress, page: follower.telemetry }).pipe(
      follower.whileRunning(),
      tap((event) => {
        if (flags.quiet) return
        for (const text of startLines(event, flags))
          io.wall.attempt('the progress display', () => progress.writeAbove(formatText(text, io.stderr)))
      }),
    )
    const signals = exitOnSecondSignal(io, progress, flags.args)
    signals.add(followJobControl(io, progress))
    const keepsProgress = flags.json || io.stdout.isTTY !== true
    const run$ = followRun(event$, { stats, progress, io, keepsProgress }).pipe(
      tap(({ signal }) => {
        isInterrupted = signal !== undefined
      }),
      concatMap((ending) => concludeAndNotify(ending, context)),
    )
    const served = { run$, follower, isInterrupted: () => isInterrupted, write: progress.writeAbove }
    return withPage(served, context).pipe(finalize(() => signals.unsubscribe()))
  })
