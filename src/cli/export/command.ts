import { Option } from 'commander'
import { catchError, concat, concatMap, defer, EMPTY, from, ignoreElements, map, type Observable, of, switchMap, tap, toArray } from 'rxjs'
import type { Export, ExportOptions, LoadedTable } from '../../analysis/export/export.js'
import { listMissingOutputs, readCompleteRun } from '../../storage/full-run.js'
import { formatCommandLine } from '../command-line.js'
import type { AddCommand, Command, ProcessIo } from '../dependencies.js'
import { describeInstall } from '../install.js'
import { dayOption, exampleText, type FolderFlags, trimDistinct } from '../options.js'
import { resolveSettings } from '../provider.js'
import { toExitCode, untilSignal } from '../signals.js'
import { formatCount, formatDuration, formatQuantity } from '../terminal/format.js'
import { printJson, printLines, printWarning } from '../terminal/print.js'
import { readSize, renderFittingTable, type TextLine, wrapLines, wrapTitled } from '../terminal/terminal.js'
import { clean } from '../terminal/text.js'
import { createExport, readTarget, type Target } from './targets.js'

export interface ExportFlags extends FolderFlags {
  readonly to: readonly Target[]
  readonly schema?: string
  readonly tables?: readonly string[]
  readonly asOf?: ExportOptions['asOf']
  readonly json?: boolean
  readonly quiet?: boolean
}

const examples = [
  ['scripstream export --to market.duckdb', 'all tables and what is derived from them into one DuckDB file'],
  ['scripstream export --to market.duckdb --tables screener,candles', 'two of them'],
  ['scripstream export --to feb.duckdb --as-of 2026-02-10', 'as they stood on that day; see "scripstream history"'],
  ['scripstream export --to parquet:/srv/parquet', 'one folder per table, candles by year'],
  ['scripstream export --to screener.xlsx --to events.parquet', 'single tables: csv, json, parquet, xlsx'],
  ['scripstream export --to postgres://me@localhost/market --schema nse', 'into a schema of a PostgreSQL database'],
  ['scripstream export --to postgres', 'the database that PGHOST, PGUSER, PGPASSWORD and PGDATABASE name'],
] as const

const createNote = (): string => `
A file with the name of a table, such as screener.csv, gets this table; query lists
the tables. Everything else gets all tables, or those in --tables. What has changed
is first written to lake/ in the output folder.

Replaces the tables with the contents of the folder, in one transaction (for
Parquet: finished folders are moved into place). After a failure, the earlier
data is still there. A table without source files is skipped and keeps its rows.
PostgreSQL: only rows that differ are written, and only tables that have changed.
The column as_of is the day of the outputs.
Of two candles of one day, the last one in the file counts; a candle with an
unreadable day is left out. Everything else at the target stays.
Needs DuckDB: ${describeInstall(['@duckdb/node-api'])}
For PostgreSQL also: ${describeInstall(['postgres'])}
For Excel (.xlsx) also: ${describeInstall(['write-excel-file'])}
`

export const EXPORT_EXIT_CODES = `
Exit codes:
  0              loaded
  1              an output cannot be read, or a target cannot be written
  2              wrong usage or configuration, nothing to load, or a missing
                 package
  130, 143, 129  interrupted by Ctrl+C, TERM or a closed terminal
`

export const addExport: AddCommand = (program, { io, dependencies, act }) => {
  program
    .command('export')
    .description('Loads the collected files into DuckDB, Parquet, PostgreSQL or single files.')
    .requiredOption(
      '--to <target>',
      'market.duckdb, parquet:DIR, screener.csv or postgres://…; repeatable',
      (text: string, before: readonly Target[] = []) => [...before, readTarget('--to', text)],
    )
    .option('--out <dir>', 'output folder (default: ./data)')
    .option('--config <file>', 'settings file (default: scripstream.config.json, if present)')
    .option('--tables <names>', 'only these tables, such as screener,candles (default: all)', (text: string) =>
      trimDistinct(text.split(',')),
    )
    .addOption(dayOption('--as-of <day>', 'load the tables as they stood on that day'))
    .option('--schema <name>', 'schema in PostgreSQL (default: scripstream)')
    .option('--json', 'print the loaded tables as JSON')
    .addOption(new Option('--quiet', 'print nothing if all is well, for schedulers').conflicts('json'))
    .addHelpText('after', () => createNote() + exampleText(examples) + EXPORT_EXIT_CODES)
    .action((flags: ExportFlags) => act(exportCommand(flags, io, dependencies)))
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
    const warn = (text: string): void => printWarning(clean(text), io.stderr)
    const loading = flags.to.map((target) =>
      defer(() => createExport(target, { ...flags, ...dependencies, warn })).pipe(concatMap((sink) => runExport(sink, out))),
    )
    return concat(warnMissingFiles(out, io), ...loading)
  }).pipe(
    tap((one) => {
      if (!flags.json && !flags.quiet) printLines(formatExport(one, readSize(io.stdout).columns), io.stdout)
    }),
    toArray(),
    tap((all) => {
      if (flags.json) printJson(all, io.stdout)
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
const formatExport = (one: ExportResult, columns: number): readonly TextLine[] => [
  ...renderFittingTable(
    [
      { title: 'table', align: 'left', cell: ({ table }: LoadedTable) => table },
      { title: 'rows', align: 'right', cell: ({ rows, isSkipped }: LoadedTable) => (isSkipped ? '-' : formatCount(rows)) },
      { title: 'time', align: 'right', cell: ({ ms, isSkipped }: LoadedTable) => (isSkipped ? '-' : formatDuration(ms)) },
    ],
    one.tables,
    columns,
  ),
  [],
  ...formatExportTotals(one, columns),
]

/** Formats the totals for people: loaded, left out and skipped. */
export const formatExportTotals = ({ sink, ms, tables }: ExportResult, columns: number): readonly TextLine[] => {
  const rows = tables.reduce((total, table) => total + table.rows, 0)
  const leftOut = tables.reduce((total, table) => total + table.leftOut, 0)
  const skipped = tables.filter(({ isSkipped }) => isSkipped).map(({ table }) => table)
  const loaded = `${formatQuantity(rows, 'row')} in ${formatQuantity(tables.length - skipped.length, 'table')}`
  const head = ` into ${clean(sink)}: ${loaded}, ${formatDuration(ms)}`
  const notes = [
    ...(leftOut > 0 ? [`${formatQuantity(leftOut, 'candle')} left out: their day is unreadable, or has a later candle in the file`] : []),
    ...(skipped.length > 0 ? [`Skipped, no source files: ${skipped.join(', ')}. Rows loaded earlier stay.`] : []),
  ]
  return [...wrapTitled(['Loaded', 'green'], head, columns), ...notes.flatMap((text) => wrapLines(text, columns, 'yellow'))]
}

/**
 * Warns if files of the last complete run are missing: a table that is loaded without them loses rows. Does nothing if no run recorded its
 * files, or the record cannot be read. Completes without a value.
 */
const warnMissingFiles = (out: string, { stderr }: Pick<ProcessIo, 'stderr'>): Observable<never> =>
  defer(() => readCompleteRun(out)).pipe(
    catchError(() => of(undefined)),
    switchMap((noted) => (noted === undefined ? EMPTY : listMissingOutputs(noted, out))),
    tap((gone) => {
      const [first] = gone.map(clean)
      if (first === undefined) return
      const named = gone.length === 1 ? ` is missing: ${first}` : ` are missing, such as ${first}`
      const more = formatCommandLine(['verify', '--out', out])
      printWarning(`${formatQuantity(gone.length, 'file')} of the last run${named}; for details: ${clean(more)}`, stderr)
    }),
    ignoreElements(),
  )
