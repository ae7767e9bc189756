import { catchError, concatMap, defer, map, type Observable, of } from 'rxjs'
import { CollectError, formatError } from '../../model/errors.js'
import type { Settings } from '../../model/settings.js'
import { listOutputFiles } from '../../pipeline/phases.js'
import { buildResumeArgs, formatCommandLine } from '../command-line.js'
import type { Dependencies, ProcessIo } from '../dependencies.js'
import { type Origins, printError } from '../hints.js'
import { printJson, printLines } from '../terminal/print.js'
import { readSize, type TextLine } from '../terminal/terminal.js'
import { clean } from '../terminal/text.js'
import type { RunCommandContext, RunFlags } from './flags.js'
import { type RunEnding, toRunExitCode } from './follow-run.js'
import { printIfNotWell } from './quiet.js'
import { loadAfterRun, type SinkResult, sinkLines } from './sinks.js'
import { createSummary, describeUpToDate, nextLines } from './summary.js'

type RunReport = NonNullable<RunEnding['report']>

/** Stores the report of an ended run, loads its outputs into the sinks, and prints the outcome; emits the exit code. */
export const concludeRun = (ending: RunEnding, context: RunCommandContext): Observable<number> => {
  const { flags, settings, origins, io, dependencies } = context
  const { streams } = dependencies
  return storeReport(ending, context).pipe(
    concatMap((isReportStored) =>
      loadAfterRun(ending, flags, { out: settings.out, io, streams }).pipe(
        concatMap(({ sinks, code }) => {
          const ended = { flags, settings, origins, io, streams, isReportStored, sinks }
          const ownCode = toRunExitCode(ending)
          const exitCode = code === 0 || ownCode !== 0 ? ownCode : code
          const isWell = exitCode === 0 && ending.report?.stale === undefined
          const print = (): void => printEnding(ending, ended)
          return defer(() =>
            flags.quiet ? printIfNotWell({ ...describeQuietly(ending, ended), isWell }, context, print) : of(print()),
          ).pipe(
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

interface EndingContext {
  readonly flags: Pick<RunFlags, 'json' | 'args' | 'simulate' | 'verbose'>
  readonly settings: Settings
  readonly origins?: Origins | undefined
  readonly io: Pick<ProcessIo, 'stdout' | 'stderr'>
  readonly streams: Dependencies['streams']
  readonly isReportStored: boolean
  /** The results of the sinks. */
  readonly sinks?: readonly SinkResult[]
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

const printJsonReport = (report: RunReport, { io: { stdout, stderr }, sinks = [] }: EndingContext): void => {
  const why = describeUpToDate(report)
  if (why !== undefined) stderr.write(`Up to date: ${why}; --fresh downloads again.\n`)
  printJson(sinks.length > 0 ? { ...report, sinks } : report, stdout)
}

const formatSummary = (report: RunReport, context: EndingContext): readonly TextLine[] => {
  const { flags, settings, io, streams } = context
  const { columns } = readSize(io.stdout)
  return createSummary(report, {
    ...toNextContext(context),
    files: new Map(streams.map((stream) => [stream.name, listOutputFiles(stream, settings.exchange)])),
    out: settings.out,
    isVerbose: flags.verbose === true,
    sinks: (context.sinks ?? []).flatMap((sink) => [[], ...sinkLines(sink, columns)]),
  })
}

const toNextContext = ({ flags, io, isReportStored, origins }: EndingContext) => ({
  origins,
  columns: readSize(io.stdout).columns,
  args: flags.args,
  isReportStored,
  isSimulated: flags.simulate !== undefined,
})

/** The run that the brief must be about, and what to do next. */
const describeQuietly = ({ report }: RunEnding, context: EndingContext) => ({
  run: report?.run,
  next: report === undefined ? [] : nextLines(report, toNextContext(context)),
})
