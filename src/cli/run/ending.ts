import { catchError, concatMap, defer, map, type Observable, of } from 'rxjs'
import { CollectError, formatError } from '../../model/errors.js'
import { listOutputFiles } from '../../pipeline/plan.js'
import { collectBrief } from '../brief/command.js'
import { briefLines } from '../brief/lines.js'
import { buildResumeArgs, formatCommandLine } from '../command-line.js'
import { printError } from '../hints.js'
import { printJson, printLines } from '../terminal/print.js'
import { readSize, type TextLine } from '../terminal/terminal.js'
import { clean } from '../terminal/text.js'
import type { RunCommandContext } from './flags.js'
import { type RunEnding, toRunExitCode } from './follow-run.js'
import { loadAfterRun, type SinkResult, sinkLines } from './sinks.js'
import { createSummary, describeUpToDate, nextLines } from './summary.js'

type RunReport = NonNullable<RunEnding['report']>

/** Stores the report of an ended run, loads its outputs into the sinks, and prints the outcome; emits the exit code. */
export const concludeRun = (ending: RunEnding, context: RunCommandContext): Observable<number> => {
  const { flags, settings, io, dependencies } = context
  return storeReport(ending, context).pipe(
    concatMap((isReportStored) =>
      loadAfterRun(ending, flags, { out: settings.out, io, streams: dependencies.streams }).pipe(
        concatMap(({ sinks, code }) => {
          const ended = { ...context, isReportStored, sinks }
          const ownCode = toRunExitCode(ending)
          const exitCode = code === 0 || ownCode !== 0 ? ownCode : code
          const isWell = exitCode === 0 && ending.report?.stale === undefined
          return defer(() => (flags.quiet ? printQuietly(ending, ended, isWell) : of(printEnding(ending, ended)))).pipe(
            io.wall.pass('the summary'),
            map(() => exitCode),
          )
        }),
      ),
    ),
  )
}

/** Stores the report of a run if the collector could not; emits whether a report is stored. */
const storeReport = (
  { report, isReportStored = false }: RunEnding,
  { settings, io, dependencies }: RunCommandContext,
): Observable<boolean> => {
  if (!report) return of(false)
  if (isReportStored) return of(true)
  return dependencies
    .storage(settings)
    .storeDocument('report.json', report)
    .pipe(
      map(() => true),
      catchError((failure: unknown) => {
        io.stderr.write(`error: cannot store the report: ${clean(formatError(failure))}\n`)
        return of(false)
      }),
    )
}

interface EndingContext extends RunCommandContext {
  readonly isReportStored: boolean
  readonly sinks: readonly SinkResult[]
}

/** Prints nothing if all is well, otherwise the brief and what to do next, or the summary if the folder has no brief of this run. */
const printQuietly = (ending: RunEnding, context: EndingContext, isWell: boolean): Observable<unknown> => {
  if (isWell) return of(undefined)
  const { io } = context
  const { report } = ending
  return defer(() => collectBrief(context, { watchlist: {}, verify: false })).pipe(
    map((brief) => {
      if (brief.run !== report?.run) return printEnding(ending, context)
      const next = report === undefined ? [] : nextLines(report, toNextContext(context))
      printLines([...briefLines(brief, readSize(io.stdout).columns), ...next], io.stdout)
    }),
    catchError(() => of(printEnding(ending, context))),
  )
}

/** Prints the report or the summary of a run on stdout. */
const printEnding = ({ report, signal, error }: RunEnding, context: EndingContext): void => {
  const { flags, io } = context
  if (error !== undefined && !(error instanceof CollectError)) printError(error, io)
  if (!report) io.stderr.write('Interrupted before the run started.\n')
  else if (flags.json) printJsonReport(report, context)
  else printLines(formatSummary(report, context), io.stdout)
  if (signal !== undefined && report && flags.json)
    io.stderr.write(`Interrupted. To resume: ${formatCommandLine(buildResumeArgs(flags.args))}\n`)
}

const printJsonReport = (report: RunReport, { io: { stdout, stderr }, sinks }: EndingContext): void => {
  const why = describeUpToDate(report)
  if (why !== undefined) stderr.write(`Up to date: ${why}; --fresh downloads again.\n`)
  printJson(sinks.length > 0 ? { ...report, sinks } : report, stdout)
}

const formatSummary = (report: RunReport, context: EndingContext): readonly TextLine[] => {
  const { flags, settings, io, dependencies } = context
  const { columns } = readSize(io.stdout)
  return createSummary(report, {
    ...toNextContext(context),
    files: new Map(dependencies.streams.map((stream) => [stream.name, listOutputFiles(stream, settings.exchange)])),
    out: settings.out,
    isVerbose: flags.verbose === true,
    sinks: context.sinks.flatMap((sink) => [[], ...sinkLines(sink, columns)]),
  })
}

const toNextContext = ({ flags, io, isReportStored, origins }: EndingContext) => ({
  origins,
  columns: readSize(io.stdout).columns,
  args: flags.args,
  isReportStored,
  isSimulated: flags.simulate !== undefined,
})
