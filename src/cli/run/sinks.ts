import { catchError, concat, concatMap, defer, forkJoin, map, type Observable, of, tap, toArray } from 'rxjs'
import type { ExportOptions } from '../../analysis/export/export.js'
import { formatError } from '../../model/errors.js'
import { formatCommandLine } from '../command-line.js'
import type { ProcessIo } from '../dependencies.js'
import { type ExportResult, formatExportTotals, runExport } from '../export/command.js'
import { createExport, type Target } from '../export/targets.js'
import { untilSignal } from '../signals.js'
import { type TextLine, wrapTitled } from '../terminal/terminal.js'
import { clean } from '../terminal/text.js'
import type { RunFlags } from './flags.js'
import type { RunEnding } from './follow-run.js'

/** What was loaded into a sink of a run, or why nothing was. */
export type SinkResult = ExportResult | { readonly sink: string; readonly error: string }

interface AfterRunContext {
  readonly out: string
  readonly io: ProcessIo
  readonly streams: ExportOptions['streams']
}

/** Errors if a package that a sink needs is missing, so that this is reported before the first request. Emits once. */
export const checkSinks = (sinks: readonly Target[], { streams }: Pick<AfterRunContext, 'streams'>): Observable<unknown> =>
  sinks.length === 0 ? of([]) : forkJoin(sinks.map((target) => defer(() => createExport(target, { streams }))))

/** Loads the outputs of a finished run into its sinks. A failed sink changes only the exit code of the run. Emits once. */
export const loadAfterRun = (
  { report, signal }: RunEnding,
  flags: Pick<RunFlags, 'sinks' | 'out' | 'config'>,
  { out, io, streams }: AfterRunContext,
): Observable<{ readonly sinks: readonly SinkResult[]; readonly code: number }> => {
  const { sinks } = flags
  const hasOutputs = signal === undefined && (report?.outcome === 'complete' || report?.outcome === 'partial')
  if (sinks.length === 0 || !hasOutputs) return of({ sinks: [], code: 0 })
  const loading = sinks.map((target) =>
    loadTarget(target, { out, streams }).pipe(tap((one) => printSinkFailure(one, buildExportArgs(target, flags), io))),
  )
  return concat(...loading).pipe(
    toArray(),
    untilSignal(io.signal$),
    map((all) => (typeof all === 'string' ? [{ sink: 'sinks', error: 'interrupted; the earlier data stays' }] : all)),
    map((all) => ({ sinks: all, code: all.some((one) => 'error' in one) ? 1 : 0 })),
  )
}

const loadTarget = (target: Target, { out, streams }: Omit<AfterRunContext, 'io'>): Observable<SinkResult> =>
  defer(() => createExport(target, { streams })).pipe(
    concatMap((sink) => runExport(sink, out)),
    catchError((error: unknown) => of({ sink: target.kind, error: formatError(error) })),
  )

const printSinkFailure = (one: SinkResult, again: readonly string[], { stderr }: ProcessIo): void => {
  if (!('error' in one)) return
  stderr.write(`error: the run is stored, but not loaded into its sink: ${clean(one.error)}\n`)
  stderr.write(`  To load it without new requests: ${clean(formatCommandLine(again))}\n`)
}

/** The arguments that load the outputs of a run again. */
const buildExportArgs = ({ kind, typed }: Target, { out, config }: Pick<RunFlags, 'out' | 'config'>): readonly string[] => [
  ...(kind === 'lake' ? ['lake'] : ['export', '--to', typed]),
  ...(out === undefined ? [] : ['--out', out]),
  ...(config === undefined ? [] : ['--config', config]),
]

/** Formats the result of a sink for people. */
export const sinkLines = (one: SinkResult, columns: number): readonly TextLine[] =>
  'error' in one
    ? wrapTitled(['Not loaded', 'red'], ` into ${clean(one.sink)}: ${clean(one.error)}`, columns)
    : formatExportTotals(one, columns)
