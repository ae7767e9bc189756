import { UsageError } from '../../model/errors.js'
import { type RunLogEntry, toRunReport } from '../../model/run-log.js'
import { countLost, wasStopped } from '../../model/script-figures.js'
import { formatMinute, readDay, toDay } from '../../model/trading-day.js'
import { readRunRecords } from '../../storage/run-records.js'
import { requireFolder } from '../../storage/run-state.js'
import type { Answer, Input } from '../command.js'
import { describeResults, OUTCOME_WORDS, sumScripts } from '../run/summary.js'
import {
  type AnswerLine,
  fitColumns,
  layOut,
  printWarning,
  renderTable,
  type TextColumn,
  type TextLine,
  titledPart,
} from '../terminal/terminal.js'
import { clean, formatCount, formatDuration, formatQuantity } from '../terminal/text.js'
import { listLast, MOST_LISTED } from './days.js'

/**
 * All runs of a folder, or those that a text names: `last`, `-2` (the one before the last), a run id or its
 * end, or a day in India (all its runs).
 */
export const showRuns = async (out: string, name: string | true, { io }: Input): Promise<Answer> => {
  const { runs, damage } = await readRunRecords(out)
  if (runs.length === 0) await requireFolder(out)
  for (const text of damage) printWarning(text, io.stderr)
  if (name === true) {
    const lines = listLast(createRunTable(runs.slice(-MOST_LISTED)), runs.length - MOST_LISTED, 'run')
    return { json: runs, lines: () => (runs.length === 0 ? ['No run is recorded here yet.'] : lines) }
  }
  const found = findRuns(runs, name)
  if (found.length === 1) return { json: found[0], lines: () => found.flatMap(entryLines) }
  return {
    json: found,
    lines: () => [createRunTable(found), ...found.flatMap((run) => ['', ...entryLines(run)])],
  }
}

const started = ({ startedAt }: RunLogEntry): string => formatMinute(Date.parse(startedAt))

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
  cell: listFailures,
}

/** The last runs, newest last: one line each, and what failed on lines of its own if it does not fit. */
const createRunTable =
  (entries: readonly RunLogEntry[]) =>
  (room: number): readonly TextLine[] => {
    const all: readonly TextColumn<RunLogEntry>[] = [
      // The end of a run's id differs from run to run.
      { title: 'run', cell: ({ run }) => clean(run).slice(-4) },
      { title: 'started', cell: started },
      {
        title: 'outcome',
        cell: ({ outcome }) => outcome,
        style: ({ outcome }) => OUTCOME_WORDS[outcome][1],
      },
      { title: 'took', drop: 4, align: 'right', cell: ({ durationMs }) => formatDuration(durationMs) },
      { title: 'stocks', drop: 1, align: 'right', cell: ({ stocks }) => formatCount(stocks) },
      {
        title: 'requests',
        drop: 2,
        align: 'right',
        cell: ({ scripts }) => formatCount(sumScripts(scripts, ({ requests }) => requests)),
      },
      {
        title: 'lost',
        drop: 5,
        align: 'right',
        cell: ({ scripts }) => formatCount(sumScripts(scripts, countLost)),
      },
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
      drift > 0
        ? [`  ${formatQuantity(drift, 'change')}; "scripstream verify --drift" shows those of the last run`]
        : [],
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

const findRuns = (entries: readonly RunLogEntry[], name: string): readonly RunLogEntry[] => {
  const isPlace = /^(last|-\d+)$/.test(name)
  const one = isPlace
    ? entries.at(name === 'last' ? -1 : Number(name))
    : entries.findLast(({ run }) => run.endsWith(name))
  const found = entries.filter((run) => run === one || toDay(Date.parse(run.startedAt)) === name)
  if (found.length > 0) return found
  const since = toDay(Date.parse(entries[0]?.startedAt ?? ''))
  const range =
    entries.length === 0
      ? 'no run is recorded here'
      : `${formatQuantity(entries.length, 'run')} since ${since}`
  throw new UsageError(
    readDay(name) === name
      ? `no run started on ${name}: ${range}\n"scripstream history --runs" lists them`
      : `unknown run ${JSON.stringify(name)}: ${range}\nName it by its id or the end of it, a day (YYYY-MM-DD), "last", or -2 for the one before the last`,
  )
}
