import { UsageError } from '../model/errors.js'
import { type LoggedScript, type RunLogEntry, toRunReport } from '../model/run-log.js'
import { countLost, wasStopped } from '../model/script-figures.js'
import { formatMinute, readDay, toDay } from '../model/trading-day.js'
import { readRunRecords } from '../storage/run-records.js'
import { requireFolder } from '../storage/run-state.js'
import { defineCommand } from './command.js'
import { folderFlags, integerOption, jsonFlag } from './options.js'
import { describeResults, OUTCOME_WORDS } from './run/summary.js'
import {
  type AnswerLine,
  fitColumns,
  layOut,
  printWarning,
  renderTable,
  type TextColumn,
  type TextLine,
  titledPart,
} from './terminal/terminal.js'
import { clean, formatCount, formatDuration, formatQuantity } from './terminal/text.js'

export const addLog = defineCommand({
  name: 'log',
  about: 'Shows the runs of a folder: all of them, or one.',
  args: [['[run]', 'a run: its id, a day (YYYY-MM-DD), "last", or -2 for the one before the last']],
  takesNumbers: true,
  flags: () => ({
    ...folderFlags(),
    limit: integerOption('--limit <n>', 'how many runs are listed', [1, 10_000], 20),
    json: jsonFlag(),
  }),
  examples: [
    ['scripstream log', 'the last 20 runs: when, how long, outcome, what failed'],
    ['scripstream log 2026-11-17', 'the runs of that day, and what failed'],
    ['scripstream log last', 'the last run'],
  ],
  run: async ({ limit }, { typed: [name], settings, io }) => {
    const { out } = settings()
    const { runs, damage } = await readRunRecords(out)
    if (runs.length === 0) await requireFolder(out)
    for (const text of damage) printWarning(text, io.stderr)
    const chosen = name === undefined ? runs.slice(-limit) : findRuns(runs, name)
    const one = chosen.at(-1)
    const isList = name === undefined || chosen.length > 1
    return {
      json: isList ? chosen : one,
      lines: () => [
        ...(one === undefined ? ['No run is recorded here yet.'] : []),
        ...(isList && one ? [logTable(chosen)] : []),
        ...(name === undefined ? [] : chosen.flatMap((run) => [...(isList ? [''] : []), ...entryLines(run)])),
      ],
    }
  },
})

const sum = (entry: RunLogEntry, figure: (script: LoggedScript) => number): number =>
  Object.values(entry.scripts).reduce((total, script) => total + figure(script), 0)

const started = ({ startedAt }: RunLogEntry): string => formatMinute(Date.parse(startedAt))

/** The end of a run's id, which differs from run to run. */
const shortId = (run: string): string => clean(run).slice(-4)

const listFailures = ({ error, scripts, missing = {}, stale = [] }: RunLogEntry): string => {
  if (error !== undefined) return clean(error)
  const isFailed = (name: string): boolean => scripts[name]?.outcome === 'failed'
  const failed = Object.entries(scripts).filter(([name]) => isFailed(name))
  const incomplete = Object.entries(missing).filter(([name]) => !isFailed(name))
  return [
    ...failed.map(([name, script]) => `${name} ${wasStopped(script) ? 'stopped' : 'failed'}`),
    ...incomplete.map(([name, { count }]) => `${name} ${count === 'all' ? 'all' : formatCount(count)}`),
    ...stale.map(({ stream, output, newest }) =>
      clean(stream === undefined ? `nothing after ${newest}` : `${output} end at ${newest}`),
    ),
  ].join(', ')
}

const FAILURES_COLUMN: TextColumn<RunLogEntry> = {
  title: 'what failed',
  drop: 3,
  align: 'left',
  cell: listFailures,
}

/** The last runs, newest last: one line each, and what failed on lines of its own if it does not fit. */
const logTable =
  (entries: readonly RunLogEntry[]) =>
  (room: number): readonly TextLine[] => {
    const all: readonly TextColumn<RunLogEntry>[] = [
      { title: 'run', align: 'left', cell: ({ run }) => shortId(run) },
      { title: 'started', align: 'left', cell: started },
      {
        title: 'outcome',
        align: 'left',
        cell: ({ outcome }) => outcome,
        style: ({ outcome }) => OUTCOME_WORDS[outcome][1],
      },
      { title: 'took', drop: 4, align: 'right', cell: ({ durationMs }) => formatDuration(durationMs) },
      { title: 'stocks', drop: 1, align: 'right', cell: ({ stocks }) => formatCount(stocks) },
      {
        title: 'requests',
        drop: 2,
        align: 'right',
        cell: (entry) => formatCount(sum(entry, ({ requests }) => requests)),
      },
      { title: 'lost', drop: 5, align: 'right', cell: (entry) => formatCount(sum(entry, countLost)) },
      FAILURES_COLUMN,
    ]
    const fitting = fitColumns(all, entries, room)
    const [titles = [], ...rows] = renderTable(fitting, entries)
    if (fitting.includes(FAILURES_COLUMN)) return [titles, ...rows]
    const failures = entries.map(listFailures)
    return [
      titles,
      ...rows.flatMap((row, index) => [
        row,
        ...(failures[index] ? layOut([`      ${failures[index]}`], room) : []),
      ]),
    ]
  }

const entryLines = (entry: RunLogEntry): readonly AnswerLine[] => {
  const { run, outcome, asOf, durationMs, stocks, error, missing = {}, drift = 0 } = entry
  const size = `${formatQuantity(stocks, 'stock')}, ${formatDuration(durationMs)}`
  const { missing: _, ...report } = toRunReport(entry)
  return [
    `Run ${run}: ${outcome}, started ${started(entry)}, as of ${formatMinute(Date.parse(asOf))} (${size}).`,
    ...(error === undefined ? [] : [`  ${clean(error)}`]),
    ...describeResults(report),
    ...titledPart('Missing after this run', describeMissing(missing)),
    ...titledPart(
      'Changed answers',
      drift > 0 ? [`  ${formatQuantity(drift, 'change')}; see "scripstream drift"`] : [],
    ),
  ]
}

/** Streams that lack everything share a line. A stream of one request has one item, named `all`. */
const describeMissing = (missing: NonNullable<RunLogEntry['missing']>): readonly string[] => {
  const all = Object.entries(missing).filter(
    ([, { count, items = [] }]) => count === 'all' || (count === 1 && items[0] === 'all'),
  )
  const some = Object.entries(missing).filter(([name]) => all.every(([other]) => other !== name))
  return [
    ...some.map(([name, { count, items = [] }]) => {
      const more = Number(count) - items.length
      const rest = more > 0 ? ` and ${formatCount(more)} more` : ''
      return `  ${clean(name)}: ${formatQuantity(Number(count), 'item')}: ${items.map(clean).join(', ')}${rest}`
    }),
    ...(all.length === 0 ? [] : [`  all of ${all.map(([name]) => clean(name)).join(', ')}`]),
  ]
}

/**
 * The runs that a person names: `last`, `-2` (the one before the last), a run id or its end, or a day in
 * India (all its runs).
 */
const findRuns = (entries: readonly RunLogEntry[], name: string): readonly RunLogEntry[] => {
  const isPlace = /^(last|-\d+)$/.test(name)
  const found = isPlace
    ? entries.at(name === 'last' ? -1 : Number(name))
    : entries.findLast(({ run }) => run.endsWith(name))
  const ofDay = entries.filter(({ startedAt }) => toDay(Date.parse(startedAt)) === name)
  if (found) return [found]
  if (ofDay.length > 0) return ofDay
  const since = toDay(Date.parse(entries[0]?.startedAt ?? ''))
  const range =
    entries.length === 0
      ? 'no run is recorded here'
      : `${formatQuantity(entries.length, 'run')} since ${since}`
  if (readDay(name) === name)
    throw new UsageError(`no run started on ${name}: ${range}\n"scripstream log" lists them`)
  throw new UsageError(
    `unknown run ${JSON.stringify(name)}: ${range}\nName it by its id or the end of it, a day (YYYY-MM-DD), "last", or -2 for the one before the last`,
  )
}
