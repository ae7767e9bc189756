import { catchError, defer, from, map, type Observable, of } from 'rxjs'
import { listOutputFiles } from '../../engine/plan.js'
import { CollectError } from '../../model/errors.js'
import type { Signal } from '../../tables/watch/compare-rows.js'
import { collectBrief } from '../brief/command.js'
import { briefLines } from '../brief/lines.js'
import { buildResumeArgs, formatCommandLine } from '../command-line.js'
import { formatExportTotals } from '../export/command.js'
import { printError } from '../hints.js'
import { printJson, printLines } from '../terminal/print.js'
import { readSize, type TextLine, wrapTitled } from '../terminal/terminal.js'
import { clean } from '../terminal/text.js'
import type { RunCommandContext, RunEnding, SinkResult } from './context.js'
import { createSummary, describeUpToDate, nextLines } from './summary.js'
import { signalLines } from './watch.js'

interface EndedContext extends Omit<RunCommandContext, 'sinks'> {
  readonly isReportStored: boolean
  readonly sinks: readonly SinkResult[]
  /** What standing queries found. */
  readonly signals: readonly Signal[]
}

/**
 * Prints the report or the summary of a run on stdout. With `--quiet` nothing if all is well, otherwise the brief and what to do next, or the
 * summary if the folder has no brief of this run.
 */
export const printEnding = (ending: RunEnding, context: EndedContext, isWell: boolean): Observable<unknown> => {
  const { flags, io } = context
  const { report } = ending
  if (!flags.quiet) return defer(() => of(printSummary(ending, context)))
  if (isWell) return of(undefined)
  return defer(() => from(collectBrief(context, { watchlist: {}, verify: false }))).pipe(
    map((brief) => {
      if (report === undefined || brief.run !== report.run) return printSummary(ending, context)
      printLines([...briefLines(brief, readSize(io.stdout).columns), ...nextLines(report, toSummaryContext(context))], io.stdout)
    }),
    catchError(() => of(printSummary(ending, context))),
  )
}

const printSummary = ({ report, signal, error }: RunEnding, context: EndedContext): void => {
  const { flags, args, io, sinks } = context
  if (error !== undefined && !(error instanceof CollectError)) printError(error, io)
  if (!report) io.stderr.write('Interrupted before the run started.\n')
  else if (!flags.json) printLines(createSummary(report, toSummaryContext(context)), io.stdout)
  else {
    const why = describeUpToDate(report)
    if (why !== undefined) io.stderr.write(`Up to date: ${why}; --fresh downloads again.\n`)
    printJson(sinks.length > 0 ? { ...report, sinks } : report, io.stdout)
    if (signal !== undefined) io.stderr.write(`Interrupted. To resume: ${formatCommandLine(buildResumeArgs(args))}\n`)
  }
}

const toSummaryContext = ({ flags, args, io, isReportStored, origins, settings, dependencies, sinks, signals }: EndedContext) => {
  const { columns } = readSize(io.stdout)
  return {
    ...{ origins, columns, args, isReportStored, out: settings.out },
    isSimulated: flags.simulate !== undefined,
    isVerbose: flags.verbose === true,
    files: new Map(dependencies.streams.map((stream) => [stream.name, listOutputFiles(stream, settings.exchange)])),
    sinks: [...sinks.flatMap((sink) => [[], ...sinkLines(sink, columns)]), ...signalLines(signals, columns)],
  }
}

const sinkLines = (one: SinkResult, columns: number): readonly TextLine[] =>
  'error' in one
    ? wrapTitled(['Not loaded', 'red'], ` into ${clean(one.sink)}: ${clean(one.error)}`, columns)
    : formatExportTotals(one, columns)
