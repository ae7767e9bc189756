import { concatMap, defer, finalize, type Observable, tap } from 'rxjs'
import { createRunStats } from '../../model/run-stats.js'
import { readSize } from '../terminal/terminal.js'
import { wrap } from '../terminal/text.js'
import type { RunCommandContext } from './flags.js'
import { exitOnSecondSignal, followRun } from './follow-run.js'
import { concludeAndNotify } from './notified.js'
import { createRunEvents, startLines } from './run-events.js'
import { createRunProgress, followJobControl } from './run-progress.js'

/** Runs the graph and shows its progress, then its outcome; emits the exit code. */
export const runWithProgress = (context: RunCommandContext): Observable<number> =>
  defer(() => {
    const { flags, io, dependencies } = context
    const stats = createRunStats()
    const progress = createRunProgress({ ...context, stats }, io, dependencies)
    const event$ = createRunEvents(context, progress).pipe(
      tap((event) => {
        if (flags.quiet) return
        for (const line of startLines(event, flags).flatMap((text) => wrap(text, readSize(io.stderr).columns)))
          progress.writeAbove(`${line}\n`)
      }),
    )
    const signals = exitOnSecondSignal(io, progress, flags.args)
    signals.add(followJobControl(io, progress))
    const keepsProgress = flags.json || io.stdout.isTTY !== true
    return followRun(event$, { stats, progress, io, keepsProgress }).pipe(
      concatMap((ending) => concludeAndNotify(ending, context)),
      finalize(() => signals.unsubscribe()),
    )
  })
