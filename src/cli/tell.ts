import { CollectError, messageOf, UsageError } from '../model/errors.js'
import { jsonText } from '../model/json-text.js'
import type { RunReport } from '../model/report.js'
import type { Settings } from '../model/settings.js'
import type { StreamDefinition } from '../pipeline/define-stream.js'
import type { Ending } from './conduct.js'
import { type AfterRun, sinkLines } from './export/after-run.js'
import { filesOf } from './files.js'
import type { Shell } from './parts.js'
import { commandLine, continuing } from './rerun.js'
import type { RunFlags } from './run-flags.js'
import { exitCodeOf } from './signals.js'
import { nothingAsked, summaryOf } from './summary.js'
import { paintLine, sizeOf } from './terminal.js'
import { clean } from './text.js'

export interface TellContext {
  readonly flags: Pick<RunFlags, 'json' | 'args' | 'simulate'>
  readonly settings: Settings
  readonly io: Pick<Shell, 'stdout' | 'stderr'>
  readonly streams: readonly StreamDefinition[]
  readonly isReportStored: boolean
  /** The results of the sinks. */
  readonly sinks?: readonly AfterRun[]
}

const exitCodes: Readonly<Record<RunReport['outcome'], number>> = { complete: 0, failed: 1, interrupted: 1, partial: 3 }

/** Prints the report or the summary of a run on stdout, and returns the exit code. */
export const tellEnding = ({ report, signal, error }: Ending, context: TellContext): number => {
  const { flags, io } = context
  if (error !== undefined && !(error instanceof CollectError)) tellError(error, io)
  if (!report) io.stderr.write('Interrupted before the run started.\n')
  else if (flags.json) tellJson(report, context)
  else io.stdout.write(summaryText(report, context) + sinksText(context))
  if (signal !== undefined && report && flags.json) io.stderr.write(`Interrupted. To resume: ${commandLine(continuing(flags.args))}\n`)
  if (signal !== undefined) return exitCodeOf(signal)
  return report ? exitCodes[report.outcome] : 1
}

const tellJson = (report: RunReport, { io: { stdout, stderr }, sinks = [] }: TellContext): void => {
  const why = nothingAsked(report)
  if (why !== undefined) stderr.write(`Up to date: ${why}; --fresh downloads again.\n`)
  stdout.write(`${jsonText(sinks.length > 0 ? { ...report, sinks } : report, 2)}\n`)
}

/** Prints an error for people, an unexpected one with its stack, and returns the exit code. */
export const tellError = (error: unknown, { stderr }: Pick<Shell, 'stderr'>): number => {
  const text =
    error instanceof CollectError ? error.message : `unexpected error: ${(error instanceof Error && error.stack) || messageOf(error)}`
  const [first = '', ...more] = text.split('\n')
  stderr.write([`error: ${clean(first)}`, ...more.map((line) => `  ${marginOf(line)}${clean(line)}`), ''].join('\n'))
  return error instanceof UsageError ? 2 : 1
}

const sinksText = ({ sinks = [], io }: TellContext): string =>
  sinks
    .map(
      (sink) =>
        `\n${sinkLines(sink)
          .map((line) => `${paintLine(line, Number.POSITIVE_INFINITY, io.stdout)}\n`)
          .join('')}`,
    )
    .join('')

/** The leading blanks of a line: a `^` may point at a position in the line above. */
const marginOf = (line: string): string => /^ */.exec(line)?.[0] ?? ''

const summaryText = (report: RunReport, { flags, settings, io, streams, isReportStored }: TellContext): string => {
  const { columns } = sizeOf(io.stdout)
  const files = new Map(streams.map((stream) => [stream.name, filesOf(stream, settings.exchange)]))
  const isSimulated = flags.simulate !== undefined
  const summary = summaryOf(report, { columns, files, out: settings.out, args: flags.args, isReportStored, isSimulated })
  return `${summary.map((line) => paintLine(line, Number.POSITIVE_INFINITY, io.stdout)).join('\n')}\n`
}
