import type { RunReport, ScriptReport } from '../model/report.js'
import { formatBytes, formatCount, formatDuration } from './format.js'
import { isIdle, lostOf, wasStopped } from './problems.js'
import { type Column, tableOf, widestOf } from './table.js'
import type { Line, Style } from './terminal.js'

export interface ResultsContext {
  readonly columns: number
  /** File names or patterns of each stream. */
  readonly files: ReadonlyMap<string, readonly string[]>
}

interface Row extends ScriptReport {
  readonly name: string
  readonly result: string
  readonly writes: string
}

export interface Results {
  readonly lines: readonly Line[]
  /** Whether the table has a column of file names. */
  readonly namesFiles: boolean
}

/** One line per stream that ran, in the widest table that fits: with file names, without them, or also without sizes. */
export const resultsOf = (report: RunReport, { columns, files }: ResultsContext): Results => {
  const rows = Object.entries(report.scripts)
    .filter(([, script]) => !isIdle(script))
    .map(
      ([name, script]): Row => ({
        ...script,
        name,
        result: wordFor(script),
        writes: script.files > 0 ? (files.get(name) ?? []).join(', ') : '',
      }),
    )
  const usual = columnsFor(rows)
  const [wide, normal, narrow] = [[...usual, ...wideColumnsFor(rows)], usual, usual.filter(({ title }) => title !== 'size')].map((chosen) =>
    tableOf(chosen, rows),
  )
  const fits = (lines: readonly Line[] | undefined): boolean => lines !== undefined && widestOf(lines) <= columns
  if (fits(wide)) return { lines: wide ?? [], namesFiles: true }
  return { lines: (fits(normal) ? normal : narrow) ?? [], namesFiles: false }
}

const wordFor = (script: ScriptReport): string => {
  if (wasStopped(script)) return 'stopped'
  return script.outcome === 'success' ? 'ok' : script.outcome
}

const styles: Readonly<Record<string, Style>> = {
  ok: 'green',
  partial: 'yellow',
  stopped: 'yellow',
  failed: 'red',
  skipped: 'dim',
}

const figure = (title: string, read: (row: Row) => number, style?: Style): Column<Row> => ({
  title,
  align: 'right',
  cell: (row) => (read(row) === 0 ? '-' : formatCount(read(row))),
  style: (row) => (read(row) === 0 ? 'dim' : style),
})

const columnsFor = (rows: readonly Row[]): readonly Column<Row>[] => {
  const empty = figure('empty', ({ items }) => items.empty)
  const unchanged = figure('skipped', ({ items }) => items.skipped)
  const partly = figure('partly', ({ degraded }) => degraded, 'yellow')
  const isUsed = (column: Column<Row>): boolean => rows.some((row) => column.cell(row) !== '-')
  return [
    { title: 'stream', align: 'left', cell: ({ name }) => name },
    { title: 'result', align: 'left', cell: ({ result }) => result, style: ({ result }) => styles[result] },
    figure('ok', ({ items }) => items.success),
    ...[empty, unchanged, partly].filter(isUsed),
    figure('lost', lostOf, 'red'),
    figure('files', ({ files }) => files),
    { title: 'size', align: 'right', cell: ({ bytes, files }) => (files === 0 ? '-' : formatBytes(bytes)) },
    {
      title: 'time',
      align: 'right',
      cell: ({ durationMs }) => formatDuration(durationMs),
    },
  ]
}

const wideColumnsFor = (rows: readonly Row[]): readonly Column<Row>[] => [
  figure('requests', ({ requests }) => requests),
  figure('429', ({ rateLimited }) => rateLimited, 'yellow'),
  ...(rows.some(({ writes }) => writes !== '') ? [written] : []),
]

const written: Column<Row> = { title: 'written', align: 'left', cell: ({ writes }) => writes }
