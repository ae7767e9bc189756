import { catchError, defer, from, map, type Observable, of, tap } from 'rxjs'
import { formatError } from '../../model/errors.js'
import { describeSignal, isWatched, type Signal } from '../../tables/changes/signals.js'
import type { WatchResult } from '../../tables/changes/watch.js'
import { untilSignal } from '../signals.js'
import { type AnswerLine, formatText } from '../terminal/terminal.js'
import { clean, formatCount } from '../terminal/text.js'
import type { EndScreen, RunCommandContext, RunEnding } from './context.js'

/**
 * Asks the rules of the folder after a complete run that had something to do; emits the new
 * signals. What fails is a warning.
 */
export const watchAfterRun = (
  { report, signal }: RunEnding,
  { writeAbove, step }: EndScreen,
  context: RunCommandContext,
): Observable<readonly Signal[]> => {
  if (signal !== undefined || report === undefined || !isWatched(report)) return of([])
  const { settings, io, dependencies } = context
  const ask = async (): Promise<WatchResult> => {
    const { listRules } = await import('../../tables/changes/watch-rules.js')
    const rules = await listRules(settings.out, settings.watch)
    if (rules.length === 0) return { signals: [], failures: [] }
    step('checking the rules')
    const { evaluateRules } = await import('../../tables/changes/watch.js')
    return evaluateRules(rules, { root: settings.out, streams: dependencies.streams }, () =>
      io.scheduler.now(),
    )
  }
  return defer(() => from(ask())).pipe(
    untilSignal(io.signal$),
    map((result) =>
      typeof result === 'string'
        ? { signals: [], failures: ['interrupted; the next run asks again'] }
        : result,
    ),
    catchError((error: unknown) => of({ signals: [], failures: [formatError(error)] })),
    tap(({ failures }) => {
      for (const failure of failures) writeAbove(formatText(`warning: watch: ${clean(failure)}`, io.stderr))
    }),
    map(({ signals }) => signals),
  )
}

export const signalLines = (signals: readonly Signal[]): readonly AnswerLine[] =>
  signals.flatMap((signal, place): readonly AnswerLine[] => {
    const { day, rule, subject } = signal
    const before = signals[place - 1]
    const isNew = before?.day !== day || before.rule !== rule
    const count = signals.filter((one) => one.day === day && one.rule === rule).length
    return [
      ...(isNew ? (['', [[`${day} ${rule}`, 'bold'], [` (${formatCount(count)})`]]] as const) : []),
      `  ${clean(subject)}: ${clean(describeSignal(signal))}`,
    ]
  })
