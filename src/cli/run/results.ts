import type { RunReport, ScriptReport } from '../../model/report.js'
import { countLost, isIdle, wasStopped } from '../../model/script-figures.js'
import { formatBytes, formatCount, formatDuration } from '../terminal/format.js'
import { fitColumns, renderTable, type Style, type TextColumn } from '../terminal/terminal.js'

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

/** One line per stream that ran, with the columns that fit, and whether there is one of file names. */
export const createResults = (report: RunReport, { columns, files, isVerbose }: ResultsContext) => {
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
  const fitting = fitColumns(createResultColumns(rows), rows, columns)
  return { lines: renderTable(fitting, rows), namesFiles: fitting.includes(WRITTEN_COLUMN) }
}

const describeResult = (script: ScriptReport): string => (wasStopped(script) ? 'stopped' : toResultWord(script.outcome))

/** The word for the outcome of a stream. */
export const toResultWord = (outcome: ScriptReport['outcome']): string => (outcome === 'success' ? 'ok' : outcome)

const styles: Readonly<Record<string, Style>> = {
  ok: 'green',
  partial: 'yellow',
  stopped: 'yellow',
  failed: 'red',
  skipped: 'dim',
}

const createFigureColumn = (
  title: string,
  read: (row: ResultRow) => number,
  { style, ...options }: { readonly drop?: number; readonly style?: Style } = {},
): TextColumn<ResultRow> => ({
  ...options,
  title,
  align: 'right',
  cell: (row) => (read(row) === 0 ? '-' : formatCount(read(row))),
  style: (row) => (read(row) === 0 ? 'dim' : style),
})

const createResultColumns = (rows: readonly ResultRow[]): readonly TextColumn<ResultRow>[] => {
  const empty = createFigureColumn('empty', ({ items }) => items.empty, { drop: 6 })
  const unchanged = createFigureColumn('skipped', ({ items }) => items.skipped, { drop: 5 })
  const partly = createFigureColumn('partly', ({ degraded }) => degraded, { drop: 8, style: 'yellow' })
  const isUsed = (column: TextColumn<ResultRow>): boolean => rows.some((row) => column.cell(row) !== '-')
  return [
    { title: 'stream', align: 'left', cell: ({ name }) => name },
    { title: 'result', align: 'left', cell: ({ result }) => result, style: ({ result }) => styles[result] },
    createFigureColumn('ok', ({ items }) => items.success, { drop: 9 }),
    ...[empty, unchanged, partly].filter(isUsed),
    createFigureColumn('lost', countLost, { style: 'red' }),
    createFigureColumn('files', ({ files }) => files, { drop: 7 }),
    { title: 'size', drop: 3, align: 'right', cell: ({ bytes, files }) => (files === 0 ? '-' : formatBytes(bytes)) },
    {
      title: 'time',
      drop: 4,
      align: 'right',
      cell: ({ durationMs }) => formatDuration(durationMs),
    },
    createFigureColumn('requests', ({ requests }) => requests, { drop: 2 }),
    createFigureColumn('429', ({ rateLimited }) => rateLimited, { drop: 1, style: 'yellow' }),
    ...(rows.some(({ writes }) => writes !== '') ? [WRITTEN_COLUMN] : []),
  ]
}

const WRITTEN_COLUMN: TextColumn<ResultRow> = { title: 'written', drop: 0, align: 'left', cell: ({ writes }) => writes }
