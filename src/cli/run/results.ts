import type { RunReport, ScriptReport } from '../../model/report.js'
import { formatBytes, formatCount, formatDuration } from '../terminal/format.js'
import { measureWidest, renderTable, type Style, type TextColumn, type TextLine } from '../terminal/terminal.js'
import { countLost, isIdle, wasStopped } from './problems.js'

export interface ResultsContext {
  readonly columns: number
  /** Whether the names of the files are shown. */
  readonly isVerbose: boolean
  /** File names or patterns of each stream. */
  readonly files: ReadonlyMap<string, readonly string[]>
}

interface ResultRow extends ScriptReport {
  readonly name: string
  readonly result: string
  readonly writes: string
}

interface Results {
  readonly lines: readonly TextLine[]
  /** Whether the table has a column of file names. */
  readonly namesFiles: boolean
}

/** One line per stream that ran, in the widest table that fits: with file names, without them, or also without sizes. */
export const createResults = (report: RunReport, { columns, files, isVerbose }: ResultsContext): Results => {
  const rows = Object.entries(report.scripts)
    .filter(([, script]) => !isIdle(script))
    .map(
      ([name, script]): ResultRow => ({
        ...script,
        name,
        result: describeResult(script),
        writes: isVerbose && script.files > 0 ? (files.get(name) ?? []).join(', ') : '',
      }),
    )
  const usual = createResultColumns(rows)
  const [wide, normal, narrow] = [[...usual, ...createWideColumns(rows)], usual, usual.filter(({ title }) => title !== 'size')].map(
    (chosen) => renderTable(chosen, rows),
  )
  const fits = (lines: readonly TextLine[] | undefined): boolean => lines !== undefined && measureWidest(lines) <= columns
  if (fits(wide)) return { lines: wide ?? [], namesFiles: true }
  return { lines: (fits(normal) ? normal : narrow) ?? [], namesFiles: false }
}

const describeResult = (script: ScriptReport): string => {
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

const createFigureColumn = (title: string, read: (row: ResultRow) => number, style?: Style): TextColumn<ResultRow> => ({
  title,
  align: 'right',
  cell: (row) => (read(row) === 0 ? '-' : formatCount(read(row))),
  style: (row) => (read(row) === 0 ? 'dim' : style),
})

const createResultColumns = (rows: readonly ResultRow[]): readonly TextColumn<ResultRow>[] => {
  const empty = createFigureColumn('empty', ({ items }) => items.empty)
  const unchanged = createFigureColumn('skipped', ({ items }) => items.skipped)
  const partly = createFigureColumn('partly', ({ degraded }) => degraded, 'yellow')
  const isUsed = (column: TextColumn<ResultRow>): boolean => rows.some((row) => column.cell(row) !== '-')
  return [
    { title: 'stream', align: 'left', cell: ({ name }) => name },
    { title: 'result', align: 'left', cell: ({ result }) => result, style: ({ result }) => styles[result] },
    createFigureColumn('ok', ({ items }) => items.success),
    ...[empty, unchanged, partly].filter(isUsed),
    createFigureColumn('lost', countLost, 'red'),
    createFigureColumn('files', ({ files }) => files),
    { title: 'size', align: 'right', cell: ({ bytes, files }) => (files === 0 ? '-' : formatBytes(bytes)) },
    {
      title: 'time',
      align: 'right',
      cell: ({ durationMs }) => formatDuration(durationMs),
    },
  ]
}

const createWideColumns = (rows: readonly ResultRow[]): readonly TextColumn<ResultRow>[] => [
  createFigureColumn('requests', ({ requests }) => requests),
  createFigureColumn('429', ({ rateLimited }) => rateLimited, 'yellow'),
  ...(rows.some(({ writes }) => writes !== '') ? [WRITTEN_COLUMN] : []),
]

const WRITTEN_COLUMN: TextColumn<ResultRow> = { title: 'written', align: 'left', cell: ({ writes }) => writes }
