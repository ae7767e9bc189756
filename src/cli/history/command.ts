import { Argument } from 'commander'
import { defer, map, type Observable } from 'rxjs'
import type { HistoryDay, HistorySummary } from '../../analysis/history/describe-history.js'
import { UsageError } from '../../model/errors.js'
import { formatMinute } from '../../model/trading-day.js'
import type { AddCommand, Command } from '../dependencies.js'
import { dayOption, exampleText, integerOption } from '../options.js'
import { resolveSettings } from '../provider.js'
import { formatBytes, formatQuantity } from '../terminal/format.js'
import { printJson, printLines, printWarning } from '../terminal/print.js'
import { readSize, renderFittingTable, type TextLine, wrapLines } from '../terminal/terminal.js'
import { clean } from '../terminal/text.js'

type HistoryAction = 'compact' | 'prune'

interface HistoryFlags {
  readonly action?: HistoryAction | undefined
  readonly out?: string
  readonly config?: string
  readonly before?: string
  readonly limit: number
  readonly json?: boolean
}

const examples = [
  ['scripstream history', 'the recorded days, their sizes, and the sessions without a record'],
  ['scripstream history prune --before 2025-01-01', 'delete the days before 2025'],
  ['scripstream history compact', 'delete what no day needs'],
] as const

const HISTORY_EXIT_CODES = `
Exit codes:
  0  done
  1  the folder cannot be read or written, or a run is using it
  2  wrong usage or configuration
`

const DEFAULT_LIMIT = 20

export const addHistory: AddCommand = (program, { io, dependencies, act }) => {
  program
    .command('history')
    .description('Shows the days that runs have kept, or deletes old ones.')
    .addArgument(
      new Argument('[action]', 'prune: delete the days before a day; compact: delete what no day needs').choices(['prune', 'compact']),
    )
    .option('--out <dir>', 'output folder (default: ./data)')
    .option('--config <file>', 'settings file (default: scripstream.config.json, if present)')
    .addOption(dayOption('--before <day>', 'prune: the first day that stays'))
    .addOption(integerOption('--limit <n>', 'how many days are listed', [1, 100_000]).default(DEFAULT_LIMIT))
    .option('--json', 'print JSON on stdout')
    .addHelpText('after', exampleText(examples) + HISTORY_EXIT_CODES)
    .action((action: HistoryAction | undefined, flags: HistoryFlags) => act(historyCommand({ ...flags, action }, io, dependencies)))
}

const historyCommand: Command<HistoryFlags> = (
  { action, before, limit, json = false, ...place },
  { env, stdout, stderr, scheduler },
  dependencies,
) =>
  defer((): Observable<number> => {
    if (action === 'prune' && before === undefined) throw new UsageError('history prune: name the first day that stays with --before DAY')
    if (action !== 'prune' && before !== undefined) throw new UsageError('--before belongs to "scripstream history prune"')
    const { out, exchange } = resolveSettings(place, { env }, dependencies)
    const { columns } = readSize(stdout)
    return defer(async () => {
      const { describeHistory, pruneHistory } = await import('../folder-readers.js')
      if (action === undefined) {
        const summary = await describeHistory(out, { streams: dependencies.streams, exchange })
        if (json) printJson(summary, stdout)
        else printLines(summaryLines(summary, limit, columns), stdout)
        return
      }
      const warn = (text: string): void => printWarning(clean(text), stderr)
      const deleted = await pruneHistory(out, { ...(before === undefined ? {} : { before }), now: scheduler.now(), warn })
      if (json) printJson({ folder: out, deleted }, stdout)
      else printLines(deletedLines(deleted, columns), stdout)
    }).pipe(map(() => 0))
  })

const deletedLines = (deleted: readonly { readonly path: string; readonly bytes: number }[], columns: number): readonly TextLine[] => {
  if (deleted.length === 0) return [['Nothing to delete.']].map(([text = '']) => [[text]])
  const bytes = deleted.reduce((sum, file) => sum + file.bytes, 0)
  return [
    ...deleted.flatMap(({ path, bytes: size }) => wrapLines(`  ${clean(path)} (${formatBytes(size)})`, columns)),
    ...wrapLines(`Deleted ${formatQuantity(deleted.length, 'file')}, ${formatBytes(bytes)}.`, columns),
  ]
}

/** The newest days, and what the history has in all. */
const summaryLines = ({ folder, days, baseBytes }: HistorySummary, limit: number, columns: number): readonly TextLine[] => {
  const recorded = days.filter(isRecorded)
  if (recorded.length === 0) return wrapLines(`No day is recorded in ${clean(folder)} yet; the next complete run records its day.`, columns)
  const gaps = days.length - recorded.length
  const bytes = days.reduce((sum, day) => sum + day.bytes, 0)
  const sums = [
    `${formatQuantity(recorded.length, 'day')} from ${recorded[0]?.day} to ${recorded.at(-1)?.day}`,
    `${formatBytes(bytes + baseBytes)} (${formatBytes(bytes / recorded.length)} a day, ${formatBytes(baseBytes)} in common)`,
    gaps === 0 ? 'no session without a record' : `${formatQuantity(gaps, 'session')} without a record`,
  ]
  const rest = days.length - limit
  return [
    ...renderFittingTable(
      [
        { title: 'day', align: 'left', cell: ({ day }) => day },
        {
          title: 'collected',
          drop: 1,
          align: 'left',
          cell: ({ knownAt }) => (knownAt === undefined ? '-' : formatMinute(Date.parse(knownAt))),
        },
        { title: 'size', align: 'right', cell: (day) => (isRecorded(day) ? formatBytes(day.bytes) : '-') },
        {
          title: 'lists',
          drop: 2,
          align: 'left',
          cell: describeLists,
          style: (day) => (describeLists(day) === 'all' ? undefined : 'yellow'),
        },
      ],
      days.slice(-limit),
      columns,
    ),
    ...(rest > 0 ? wrapLines(`and ${formatQuantity(rest, 'earlier day')} (--limit shows more)`, columns) : []),
    [],
    ...wrapLines(`${sums.join('; ')}.`, columns),
  ]
}

const isRecorded = ({ streams, damage }: HistoryDay): boolean => streams.length > 0 || damage !== undefined

const describeLists = (day: HistoryDay): string => {
  if (day.damage !== undefined) return 'damaged'
  if (!isRecorded(day)) return 'no record'
  const { missing, streams } = day
  if (missing.length === 0) return 'all'
  return missing.length === 1 ? `without ${missing.join('')}` : `without ${missing.length} of ${missing.length + streams.length} streams`
}
