import { concat, concatMap, defer, from, map, type Observable, tap, toArray } from 'rxjs'
import type { Export, Loaded } from '../../../sinks/export.js'
import { jsonText } from '../../model/json-text.js'
import { formatCount, formatDuration, formatQuantity } from '../format.js'
import type { Command } from '../parts.js'
import { settingsFor } from '../provider.js'
import { exitCodeOf, untilSignal } from '../signals.js'
import { tableOf } from '../table.js'
import { type Line, paintLine } from '../terminal.js'
import { clean } from '../text.js'
import { tellGone } from './gone.js'
import { exportInto, type Target } from './targets.js'

export interface ExportFlags {
  readonly to: readonly Target[]
  readonly out: string | undefined
  readonly config: string | undefined
  readonly schema: string | undefined
  readonly json: boolean
}

/** The tables that an export loaded into a sink. */
export interface Exported {
  readonly sink: string
  readonly ms: number
  readonly tables: readonly Loaded[]
}

/** Loads the output folder into each target, one after the other, and prints the loaded tables. */
export const exportCommand: Command<ExportFlags> = (flags, io, dependencies) =>
  defer(() => {
    const { out } = settingsFor(flags, io, dependencies)
    const loading = flags.to.map((target) => defer(() => exportInto(target, flags)).pipe(concatMap((sink) => exported(sink, out))))
    return concat(tellGone(out, io), ...loading)
  }).pipe(
    tap((one) => {
      if (!flags.json)
        io.stdout.write(
          exportedLines(one)
            .map((line) => `${paintLine(line, Number.POSITIVE_INFINITY, io.stdout)}\n`)
            .join(''),
        )
    }),
    toArray(),
    tap((all) => {
      if (flags.json) io.stdout.write(`${jsonText(all, 2)}\n`)
    }),
    map(() => 0),
    untilSignal(io.signal$),
    map((end) => {
      if (typeof end === 'number') return end
      io.stderr.write('Interrupted: the unfinished load is rolled back; the earlier data stays.\n')
      return exitCodeOf(end)
    }),
  )

export const exported = (sink: Export, out: string): Observable<Exported> =>
  defer(() => {
    const began = performance.now()
    return from(sink.write(out)).pipe(
      toArray(),
      map((tables) => ({ sink: sink.name, ms: Math.round(performance.now() - began), tables })),
    )
  })

/** Formats each table with its rows, then the totals, for people. */
export const exportedLines = (one: Exported): readonly Line[] => [
  ...tableOf(
    [
      { title: 'table', align: 'left', cell: ({ table }: Loaded) => table },
      { title: 'rows', align: 'right', cell: ({ rows, isSkipped }: Loaded) => (isSkipped ? '-' : formatCount(rows)) },
      { title: 'time', align: 'right', cell: ({ ms, isSkipped }: Loaded) => (isSkipped ? '-' : formatDuration(ms)) },
    ],
    one.tables,
  ),
  [],
  ...endingLines(one),
]

/** Formats the totals for people: loaded, left out and skipped. */
export const endingLines = ({ sink, ms, tables }: Exported): readonly Line[] => {
  const rows = tables.reduce((total, table) => total + table.rows, 0)
  const leftOut = tables.reduce((total, table) => total + table.leftOut, 0)
  const skipped = tables.filter(({ isSkipped }) => isSkipped).map(({ table }) => table)
  const loaded = `${formatQuantity(rows, 'row')} in ${formatQuantity(tables.length - skipped.length, 'table')}`
  const head = ` into ${clean(sink)}: ${loaded}, ${formatDuration(ms)}`
  const notes = [
    ...(leftOut > 0 ? [`${formatQuantity(leftOut, 'candle')} left out: their day is unreadable, or has a later candle in the file`] : []),
    ...(skipped.length > 0 ? [`Skipped, no source files: ${skipped.join(', ')}. Rows loaded earlier stay.`] : []),
  ]
  return [[['Loaded', 'green'], [head]], ...notes.map((text): Line => [[text, 'yellow']])]
}
