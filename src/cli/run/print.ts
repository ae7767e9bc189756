import { catchError, defer, map, type Observable, of } from 'rxjs'
import { CollectError } from '../../model/errors.js'
import { readRunRecords } from '../../storage/run-records.js'
import type { Signal } from '../../tables/changes/signals.js'
import { buildResumeArgs, formatCommandLine } from '../command-line.js'
import { formatExportTotals } from '../export/command.js'
import { printError } from '../hints.js'
import { type AnswerLine, printJson, printLines } from '../terminal/terminal.js'
import { clean } from '../terminal/text.js'
import type { RunCommandContext, RunEnding, SinkResult } from './context.js'
import { createSummary, describeUpToDate, toVerdict } from './summary.js'
import { signalLines } from './watch.js'

interface EndedContext extends Omit<RunCommandContext, 'sinks'> {
  readonly isReportStored: boolean
  readonly isFirst: boolean
  readonly sinks: readonly SinkResult[]
  readonly signals: readonly Signal[]
}

export const printEnding = ({ report, signal, error }: RunEnding, context: EndedContext): void => {
  const { flags, args, io, sinks } = context
  if (error !== undefined && !(error instanceof CollectError)) printError(error, io)
  if (!report) io.stderr.write('Interrupted before the run started.\n')
  else if (!flags.json) printLines(createSummary(report, toSummaryContext(context)), io.stdout)
  else {
    const why = describeUpToDate(report)
    if (why !== undefined) io.stderr.write(`${toVerdict(report)[0]}: ${why}; --fresh downloads again.\n`)
    printJson(sinks.length > 0 ? { ...report, sinks } : report, io.stdout)
    if (signal !== undefined)
      io.stderr.write(`Interrupted. To resume: ${formatCommandLine(buildResumeArgs(args))}\n`)
  }
}

const toSummaryContext = ({
  flags,
  settings,
  dependencies,
  isFirst,
  sinks,
  signals,
  ...context
}: EndedContext) => ({
  ...context,
  out: settings.out,
  streams: dependencies.streams,
  isSimulated: flags.simulate !== undefined,
  isFirst: isFirst && flags.serve === undefined,
  sinks: [...sinks.flatMap((sink) => ['', ...sinkLines(sink)]), ...signalLines(signals)],
})

const sinkLines = (one: SinkResult): readonly AnswerLine[] =>
  'error' in one
    ? [[['Not loaded', 'red'], [` into ${one.sink}: ${clean(one.error)}`]]]
    : formatExportTotals(one)

/** Whether the folder has no other complete run. */
export const isFirstSuccess = (
  { report }: RunEnding,
  { settings }: RunCommandContext,
): Observable<boolean> => {
  if (report?.outcome !== 'complete' || report.finishedBefore !== undefined) return of(false)
  return defer(() => readRunRecords(settings.out)).pipe(
    map(({ runs }) => runs.filter(({ outcome }) => outcome === 'complete').length === 1),
    // The folder of a storage that is no folder.
    catchError(() => of(false)),
  )
}
