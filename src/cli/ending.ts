import { CollectError } from '../model/errors.js'
import type { RunReport } from '../model/report.js'
import type { Settings } from '../model/settings.js'
import { formatJson } from '../model/text.js'
import type { StreamDefinition } from '../pipeline/define-stream.js'
import type { ProcessIo } from './dependencies.js'
import { type SinkResult, sinkLines } from './export/after-run.js'
import { listOutputFiles } from './files.js'
import type { RunEnding } from './follow-run.js'
import { printError } from './hints.js'
import { buildResumeArgs, formatCommandLine } from './next-commands.js'
import type { RunFlags } from './run-flags.js'
import { toExitCode } from './signals.js'
import { createSummary, describeUpToDate } from './summary.js'
import { paintLine, readSize } from './terminal.js'

export interface EndingContext {
  readonly flags: Pick<RunFlags, 'json' | 'args' | 'simulate'>
  readonly settings: Settings
  readonly io: Pick<ProcessIo, 'stdout' | 'stderr'>
  readonly streams: readonly StreamDefinition[]
  readonly isReportStored: boolean
  /** The results of the sinks. */
  readonly sinks?: readonly SinkResult[]
}

const OUTCOME_EXIT_CODES: Readonly<Record<RunReport['outcome'], number>> = { complete: 0, failed: 1, interrupted: 1, partial: 3 }

/** Prints the report or the summary of a run on stdout, and returns the exit code. */
export const printEnding = ({ report, signal, error }: RunEnding, context: EndingContext): number => {
  const { flags, io } = context
  if (error !== undefined && !(error instanceof CollectError)) printError(error, io)
  if (!report) io.stderr.write('Interrupted before the run started.\n')
  else if (flags.json) printJsonReport(report, context)
  else io.stdout.write(formatSummary(report, context) + formatSinks(context))
  if (signal !== undefined && report && flags.json)
    io.stderr.write(`Interrupted. To resume: ${formatCommandLine(buildResumeArgs(flags.args))}\n`)
  if (signal !== undefined) return toExitCode(signal)
  return report ? OUTCOME_EXIT_CODES[report.outcome] : 1
}

const printJsonReport = (report: RunReport, { io: { stdout, stderr }, sinks = [] }: EndingContext): void => {
  const why = describeUpToDate(report)
  if (why !== undefined) stderr.write(`Up to date: ${why}; --fresh downloads again.\n`)
  stdout.write(`${formatJson(sinks.length > 0 ? { ...report, sinks } : report, 2)}\n`)
}

const formatSinks = ({ sinks = [], io }: EndingContext): string =>
  sinks
    .map(
      (sink) =>
        `\n${sinkLines(sink)
          .map((line) => `${paintLine(line, Number.POSITIVE_INFINITY, io.stdout)}\n`)
          .join('')}`,
    )
    .join('')

const formatSummary = (report: RunReport, { flags, settings, io, streams, isReportStored }: EndingContext): string => {
  const { columns } = readSize(io.stdout)
  const files = new Map(streams.map((stream) => [stream.name, listOutputFiles(stream, settings.exchange)]))
  const isSimulated = flags.simulate !== undefined
  const summary = createSummary(report, { columns, files, out: settings.out, args: flags.args, isReportStored, isSimulated })
  return `${summary.map((line) => paintLine(line, Number.POSITIVE_INFINITY, io.stdout)).join('\n')}\n`
}
