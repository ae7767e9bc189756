import { concat, concatMap, defer, from, map, type Observable, toArray } from 'rxjs'
import { UsageError } from '../../model/errors.js'
import { disk } from '../../storage/disk.js'
import { listMissingOutputs, readFullRun } from '../../storage/full-run.js'
import type { ExportOptions } from '../../tables/export/export.js'
import { type Answer, defineCommand, type Input } from '../command.js'
import { formatCommandLine } from '../command-line.js'
import type { ProcessIo } from '../dependencies.js'
import { notifyOfFailure } from '../notify/notify.js'
import { dayOption, flag, folderFlags, jsonFlag, listFlag, trimDistinct } from '../options.js'
import { type AnswerLine, columnsOf, fitTable, layOut, printWarning } from '../terminal/terminal.js'
import { clean, formatCount, formatDuration, formatQuantity } from '../terminal/text.js'
import { createExport, type ExportResult, findFolder, LAKE, type Target, targetsFlag } from './targets.js'

const EXIT_MISSING = 3

export const addExport = defineCommand({
  name: 'export',
  about: 'Writes the lake, Parquet files of all tables; --to loads a database or files instead.',
  flags: () => ({
    to: targetsFlag('--to <target>', 'market.duckdb, screener.xlsx, postgres://…; repeatable'),
    tables: listFlag('--tables <names>', 'only these tables, such as screener,candles', (text) =>
      trimDistinct(text.split(',')),
    ),
    asOf: dayOption('--as-of <day>', 'load the tables as they stood on that day'),
    schema: flag('--schema <name>', 'schema in PostgreSQL (default: scripstream)'),
    ...folderFlags(),
    json: jsonFlag('print the loaded tables as JSON'),
    quiet: flag(
      '-q, --quiet',
      'print nothing if all is well, and notify of a failure; for schedulers',
    ).conflicts('json'),
  }),
  examples: [
    ['scripstream export', 'all tables into ./data/lake, those that have changed'],
    ['duckdb -init views.sql', 'then, in that folder: queries without scripstream'],
    ['scripstream export --to market.duckdb', 'all tables, and what is derived from them'],
    ['scripstream export --to market.duckdb --tables screener,candles', 'two of them'],
    ['scripstream export --to screener.xlsx', 'a table by its name, for Excel'],
    ['scripstream export --to qlib:DIR --to zipline:DIR', 'candles for back-tests'],
    [
      'scripstream export --to postgres://me@localhost/market',
      'or "postgres": the database of PGHOST, PGUSER, …',
    ],
  ],
  notes: [
    'The lake has a Parquet file for each table, views.sql for DuckDB, and a README for pandas and Polars. With the setting "lake": true each run writes it.',
    '--to replaces the tables at the target in one transaction; after a failure, the earlier data is still there. A table without source files keeps its rows, and everything else at the target stays. PostgreSQL: only rows that differ are written.',
    'PostgreSQL also needs the package postgres, and Excel write-excel-file.',
  ],
  needs: ['@duckdb/node-api'],
  exits: {
    [EXIT_MISSING]: 'tables of the lake are missing: no run has finished, or recorded days are damaged',
  },
  endsBySignal: true,
  interrupted: 'Interrupted: the unfinished load is rolled back; the earlier data stays.\n',
  run: (flags, input) => loadTargets(flags, input),
})

interface LoadFlags extends Pick<ExportOptions, 'asOf' | 'tables'> {
  readonly to?: readonly Target[] | undefined
  readonly schema?: string | undefined
  readonly json?: boolean | undefined
  readonly quiet?: boolean | undefined
}

/** Loads the output folder into each target, one after the other, and answers with the loaded tables. */
const loadTargets = ({ to, ...flags }: LoadFlags, input: Input): Observable<Answer> =>
  defer(() => {
    const { io, dependencies, settings } = input
    const [given] = Object.entries({
      '--tables': flags.tables,
      '--as-of': flags.asOf,
      '--schema': flags.schema,
    }).filter(([, value]) => value !== undefined)
    if (to === undefined && given !== undefined)
      throw new UsageError(
        `${given[0]} needs --to: the lake has all tables, and its views.sql all recorded days`,
      )
    const { out } = settings()
    const warn = (text: string): void => printWarning(clean(text), io.stderr)
    const options = { ...flags, streams: dependencies.streams, warn }
    const loaded$ = defer(() => warnMissingFiles(out, io)).pipe(
      concatMap(() => concat(...(to ?? [LAKE]).map((target) => runExport(target, options, out)))),
    )
    if (flags.json)
      return loaded$.pipe(
        toArray(),
        map((all) => ({ json: all, code: Math.max(...all.map(findLoadCode)) })),
      )
    return loaded$.pipe(
      map((one) => {
        const code = findLoadCode(one)
        return flags.quiet && code === 0 ? code : { code, lines: () => formatExport(one) }
      }),
    )
  }).pipe(
    notifyOfFailure({ command: 'export', isScheduled: flags.quiet, describe: describeIncompleteLoad }, input),
  )

export const runExport = (
  target: Target,
  options: Parameters<typeof createExport>[1],
  out: string,
): Observable<ExportResult> =>
  defer(() => createExport(target, options)).pipe(
    concatMap((sink) => {
      const began = performance.now()
      const folder = findFolder(target)
      const created = folder === undefined || disk.existsSync(folder) ? {} : { newFolder: folder }
      return from(sink.write(out)).pipe(
        toArray(),
        map((tables) => ({ sink: sink.name, ms: Math.round(performance.now() - began), tables, ...created })),
      )
    }),
  )

const describeIncompleteLoad = ({ lines = () => [] }: Exclude<Answer, number>) => ({
  headline:
    layOut(lines(), Number.POSITIVE_INFINITY)
      .at(-1)
      ?.map(([text]) => text)
      .join('') ?? 'incomplete',
})

const findLoadCode = ({ tables }: ExportResult): number =>
  tables.some(({ missing }) => missing !== undefined) ? EXIT_MISSING : 0

const formatExport = (one: ExportResult): readonly AnswerLine[] => {
  const rows = one.tables.map(({ table, rows, ms, isSkipped, missing }) => [
    table,
    isSkipped || missing !== undefined ? '-' : formatCount(rows),
    // A table of the lake that has not changed is not written.
    isSkipped || (isLake(one) && ms === 0) ? '-' : formatDuration(ms),
  ])
  const titles = columnsOf({ table: undefined, rows: undefined, time: undefined })
  return [fitTable(titles, rows), '', ...formatExportTotals(one)]
}

const isLake = ({ sink }: ExportResult): boolean => sink === LAKE.typed

export const formatExportTotals = (one: ExportResult): readonly AnswerLine[] => {
  const { sink, ms, tables, newFolder } = one
  const absent = tables.filter(({ missing }) => missing !== undefined)
  const rows = tables.reduce((total, table) => total + (table.missing === undefined ? table.rows : 0), 0)
  const leftOut = tables.reduce((total, table) => total + table.leftOut, 0)
  const skipped = tables.filter(({ isSkipped }) => isSkipped).map(({ table }) => table)
  const loaded = `${formatQuantity(rows, 'row')} in ${formatQuantity(tables.length - skipped.length - absent.length, 'table')}`
  const written = tables.filter((table) => table.ms > 0).length
  const [title, head] = isLake(one)
    ? [
        `Lake ${absent.length > 0 ? 'incomplete' : 'up to date'}`,
        `: ${loaded}, ${written === 0 ? 'nothing' : formatQuantity(written, 'table')} written, ${formatDuration(ms)}`,
      ]
    : [
        'Loaded',
        ` into ${sink}${newFolder === undefined ? '' : ` (new folder ${newFolder})`}: ${loaded}, ${formatDuration(ms)}`,
      ]
  const notes = [
    ...(leftOut > 0
      ? [
          `${formatQuantity(leftOut, 'candle')} left out: their day is unreadable, or has a later candle in the file`,
        ]
      : []),
    ...(absent.length > 0
      ? [
          `Missing, because ${absent[0]?.missing}: ${absent.map(({ table }) => table).join(', ')}. The next run and then "scripstream export" write them.`,
        ]
      : []),
    ...(skipped.length > 0
      ? [`Skipped, no source files: ${skipped.join(', ')}. Rows loaded earlier stay.`]
      : []),
  ]
  return [
    [[title, absent.length > 0 ? 'yellow' : 'green'], [head]],
    ...notes.map((text) => [[text, 'yellow']] as const),
  ]
}

/**
 * Warns if files of the last complete run are missing: a table that is loaded without them loses rows. Does
 * nothing if no run recorded its files, or the record cannot be read.
 */
const warnMissingFiles = async (out: string, { stderr }: Pick<ProcessIo, 'stderr'>): Promise<void> => {
  const complete = await readFullRun(out).catch(() => undefined)
  const gone = complete === undefined ? [] : await listMissingOutputs(complete, out)
  const [first] = gone
  if (first === undefined) return
  const named = gone.length === 1 ? ` is missing: ${first}` : ` are missing, such as ${first}`
  const more = formatCommandLine(['verify', '--out', out])
  printWarning(`${formatQuantity(gone.length, 'file')} of the last run${named}; for details: ${more}`, stderr)
}
