import { concat, concatMap, defer, from, map, type Observable, tap, toArray } from 'rxjs'
import type { Export, LoadedTable } from '../../../sinks/export.js'
import { formatJson } from '../../model/text.js'
import type { Command } from '../dependencies.js'
import { formatCount, formatDuration, formatQuantity } from '../format.js'
import { resolveSettings } from '../provider.js'
import { toExitCode, untilSignal } from '../signals.js'
import { renderTable } from '../table.js'
import { paintLine, type TextLine } from '../terminal.js'
import { clean } from '../text.js'
import { warnMissingFiles } from './missing-files.js'
import { createExport, type Target } from './targets.js'

export interface ExportFlags {
  readonly to: readonly Target[]
  readonly out: string | undefined
  readonly config: string | undefined
  readonly schema: string | undefined
  readonly json: boolean
}

/** The tables that an export loaded into a sink. */
export interface ExportResult {
  readonly sink: string
  readonly ms: number
  readonly tables: readonly LoadedTable[]
}

/** Loads the output folder into each target, one after the other, and prints the loaded tables. */
export const exportCommand: Command<ExportFlags> = (flags, io, dependencies) =>
  defer(() => {
    const { out } = resolveSettings(flags, io, dependencies)
    const loading = flags.to.map((target) =>
      defer(() => createExport(target, { ...flags, ...dependencies })).pipe(concatMap((sink) => runExport(sink, out))),
    )
    return concat(warnMissingFiles(out, io), ...loading)
  }).pipe(
    tap((one) => {
      if (!flags.json)
        io.stdout.write(
          formatExport(one)
            .map((line) => `${paintLine(line, Number.POSITIVE_INFINITY, io.stdout)}\n`)
            .join(''),
        )
    }),
    toArray(),
    tap((all) => {
      if (flags.json) io.stdout.write(`${formatJson(all, 2)}\n`)
    }),
    map(() => 0),
    untilSignal(io.signal$),
    map((end) => {
      if (typeof end === 'number') return end
      io.stderr.write('Interrupted: the unfinished load is rolled back; the earlier data stays.\n')
      return toExitCode(end)
    }),
  )

export const runExport = (sink: Export, out: string): Observable<ExportResult> =>
  defer(() => {
    const began = performance.now()
    return from(sink.write(out)).pipe(
      toArray(),
      map((tables) => ({ sink: sink.name, ms: Math.round(performance.now() - began), tables })),
    )
  })

/** Formats each table with its rows, then the totals, for people. */
export const formatExport = (one: ExportResult): readonly TextLine[] => [
  ...renderTable(
    [
      { title: 'table', align: 'left', cell: ({ table }: LoadedTable) => table },
      { title: 'rows', align: 'right', cell: ({ rows, isSkipped }: LoadedTable) => (isSkipped ? '-' : formatCount(rows)) },
      { title: 'time', align: 'right', cell: ({ ms, isSkipped }: LoadedTable) => (isSkipped ? '-' : formatDuration(ms)) },
    ],
    one.tables,
  ),
  [],
  ...formatExportTotals(one),
]

/** Formats the totals for people: loaded, left out and skipped. */
export const formatExportTotals = ({ sink, ms, tables }: ExportResult): readonly TextLine[] => {
  const rows = tables.reduce((total, table) => total + table.rows, 0)
  const leftOut = tables.reduce((total, table) => total + table.leftOut, 0)
  const skipped = tables.filter(({ isSkipped }) => isSkipped).map(({ table }) => table)
  const loaded = `${formatQuantity(rows, 'row')} in ${formatQuantity(tables.length - skipped.length, 'table')}`
  const head = ` into ${clean(sink)}: ${loaded}, ${formatDuration(ms)}`
  const notes = [
    ...(leftOut > 0 ? [`${formatQuantity(leftOut, 'candle')} left out: their day is unreadable, or has a later candle in the file`] : []),
    ...(skipped.length > 0 ? [`Skipped, no source files: ${skipped.join(', ')}. Rows loaded earlier stay.`] : []),
  ]
  return [[['Loaded', 'green'], [head]], ...notes.map((text): TextLine => [[text, 'yellow']])]
}
