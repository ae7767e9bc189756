import { catchError, concatMap, defer, forkJoin, type MonoTypeOperatorFunction, map, type Observable, of, throwError } from 'rxjs'
import { formatError, UsageError } from '../../model/errors.js'
import { createRedactor } from '../../model/redact.js'
import { notifyOfEnd } from '../notify/notify.js'
import type { EndedCommand } from '../notify/payload.js'
import { concludeRun } from './ending.js'
import type { RunCommandContext } from './flags.js'
import type { RunEnding } from './follow-run.js'
import { exportMetrics } from './metrics-export.js'

/** Concludes a run, logs its end, exports its metrics and sends its notification; emits the exit code. */
export const concludeAndNotify = (ending: RunEnding, context: RunCommandContext): Observable<number> =>
  concludeRun(ending, context).pipe(concatMap((exitCode) => reportEnd({ ...ending, exitCode }, context).pipe(map(() => exitCode))))

/** Logs an error that ends the command, exports the metrics, and sends a notification, before the error passes. */
export const reportError =
  <T>(context: RunCommandContext): MonoTypeOperatorFunction<T> =>
  (source$) =>
    source$.pipe(
      catchError((error: unknown) =>
        reportEnd({ error, exitCode: error instanceof UsageError ? 2 : 1 }, context).pipe(concatMap(() => throwError(() => error))),
      ),
    )

const reportEnd = (ended: Omit<EndedCommand, 'at'>, context: RunCommandContext): Observable<unknown> =>
  defer(() => {
    const { settings, io, log } = context
    const { error, signal, report, exitCode } = ended
    const outcome = report?.outcome ?? (signal === undefined ? 'failed' : 'interrupted')
    const reason = error === undefined ? {} : { error: createRedactor(settings)(formatError(error)) }
    log?.[exitCode === 0 ? 'info' : 'warn']({ outcome, exitCode, ...(signal === undefined ? {} : { signal }), ...reason }, 'command-ended')
    const notified$: Observable<unknown> =
      settings.notify === undefined ? of(undefined) : notifyOfEnd({ ...ended, at: io.scheduler.now() }, context)
    return forkJoin([exportMetrics(ended, context).pipe(io.wall.pass('the metrics')), notified$.pipe(io.wall.pass('the notification'))])
  })
