import { catchError, concat, concatMap, defer, map, type Observable, of, tap, toArray } from 'rxjs'
import type { ExportOptions } from '../../../sinks/export.js'
import { messageOf } from '../../model/errors.js'
import type { Ending } from '../conduct.js'
import type { Shell } from '../parts.js'
import { commandLine } from '../rerun.js'
import type { RunFlags } from '../run-flags.js'
import { untilSignal } from '../signals.js'
import type { Line } from '../terminal.js'
import { clean } from '../text.js'
import { type Exported, endingLines, exported } from './export.js'
import { exportInto, type Target } from './targets.js'

/** What was loaded into a sink of a run, or why nothing was. */
export type AfterRun = Exported | { readonly sink: string; readonly error: string }

interface Place {
  readonly out: string
  readonly io: Shell
  readonly streams: ExportOptions['streams']
}

/** Loads the outputs of a finished run into its sinks. A failed sink changes only the exit code of the run. Emits once. */
export const loadedAfter = (
  { report, signal }: Ending,
  flags: Pick<RunFlags, 'sinks' | 'out' | 'config'>,
  { out, io, streams }: Place,
): Observable<{ readonly sinks: readonly AfterRun[]; readonly code: number }> => {
  const { sinks } = flags
  const hasOutputs = signal === undefined && (report?.outcome === 'complete' || report?.outcome === 'partial')
  if (sinks.length === 0 || !hasOutputs) return of({ sinks: [], code: 0 })
  const loading = sinks.map((target) => loaded(target, { out, streams }).pipe(tap((one) => tellFailure(one, exporting(target, flags), io))))
  return concat(...loading).pipe(
    toArray(),
    untilSignal(io.signal$),
    map((all) => (typeof all === 'string' ? [{ sink: 'sinks', error: 'interrupted; the earlier data stays' }] : all)),
    map((all) => ({ sinks: all, code: all.some((one) => 'error' in one) ? 1 : 0 })),
  )
}

const loaded = (target: Target, { out, streams }: Omit<Place, 'io'>): Observable<AfterRun> =>
  defer(() => exportInto(target, { streams })).pipe(
    concatMap((sink) => exported(sink, out)),
    catchError((error: unknown) => of({ sink: target.kind, error: messageOf(error) })),
  )

const tellFailure = (one: AfterRun, again: readonly string[], { stderr }: Shell): void => {
  if (!('error' in one)) return
  stderr.write(`error: the run is stored, but not loaded into its sink: ${clean(one.error)}\n`)
  stderr.write(`  To load it without new requests: ${clean(commandLine(again))}\n`)
}

/** The arguments that load the outputs of a run again. */
const exporting = ({ typed }: Target, { out, config }: Pick<RunFlags, 'out' | 'config'>): readonly string[] => [
  ...['export', '--to', typed],
  ...(out === undefined ? [] : ['--out', out]),
  ...(config === undefined ? [] : ['--config', config]),
]

/** Formats the result of a sink for people. */
export const sinkLines = (one: AfterRun): readonly Line[] =>
  'error' in one ? [[['Not loaded', 'red'], [` into ${clean(one.sink)}: ${clean(one.error)}`]]] : endingLines(one)
