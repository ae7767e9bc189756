import { UsageError } from '../model/errors.js'
import type { FailedCount, LoggedScript, RunLogEntry } from '../model/run-log.js'
import { countLost, wasStopped } from '../model/script-figures.js'
import { formatMinute, readDay, toDay } from '../model/trading-day.js'
import { readRunRecords } from '../storage/run-records.js'
import { requireFolder } from '../storage/run-state.js'
import { defineCommand } from './command.js'
import { folderFlags, integerOption, jsonFlag } from './options.js'
import { groupReasons, isFailure, staleLines } from './run/problems.js'
import { OUTCOME_WORDS, toResultWord } from './run/summary.js'
import { formatBytes, formatCount, formatDuration, formatQuantity } from './terminal/format.js'
import { printWarning } from './terminal/print.js'
import { fitColumns, renderFittingTable, renderTable, type TextColumn, type TextLine, wrapLines } from './terminal/terminal.js'
import { clean } from './terminal/text.js'

export const addLog = defineCommand({
  name: 'log',
  about: 'Shows the runs of a folder: all of them, one, or two compared.',
  args: [
    ['[run]', 'a run: its id, a day (YYYY-MM-DD), "last", or -2 for the one before the last'],
    ['[other]', 'another run, to compare the two'],
  ],
  takesNumbers: true,
  flags: () => ({
    ...folderFlags(),
    limit: integerOption('--limit <n>', 'how many runs are listed', [1, 10_000], 20),
    json: jsonFlag(),
  }),
  examples: [
    ['scripstream log', 'the last 20 runs: when, how long, outcome, what failed'],
    ['scripstream log 2026-11-17', 'what failed on that day, stock by stock'],
    ['scripstream log last', 'the last run'],
    ['scripstream log -2 last', 'the last run compared with the one before'],
  ],
  run: async ({ limit }, { typed, settings, io }) => {
    const { out } = settings()
    const { runs, damage } = await readRunRecords(out)
    if (runs.length === 0) await requireFolder(out)
    for (const text of damage) printWarning(text, io.stderr)
    const chosen = typed.filter((name) => name !== undefined).map((name) => findRun(runs, name))
    const [one, two] = chosen
    const last = runs.slice(-limit)
    return {
      json: one === undefined ? last : two === undefined ? one : chosen,
      lines: (columns) => {
        if (one !== undefined) return two === undefined ? entryLines(one, columns) : comparisonLines(one, two, columns)
        return runs.length === 0 ? [[['No run is recorded here yet.']]] : logLines(last, columns)
      },
    }
  },
})

const sum = (entry: RunLogEntry, figure: (script: LoggedScript) => number): number =>
  Object.values(entry.scripts).reduce((total, script) => total + figure(script), 0)

const started = ({ startedAt }: RunLogEntry): string => formatMinute(Date.parse(startedAt))

/** The end of a run's id, which differs from run to run. */
const shortId = (run: string): string => clean(run).slice(-4)

const describeFailures = ({ error, scripts, missing = {}, stale = [] }: RunLogEntry): string => {
  if (error !== undefined) return clean(error)
  const isFailed = (name: string): boolean => scripts[name]?.outcome === 'failed'
  const failed = Object.entries(scripts).filter(([name]) => isFailed(name))
  const incomplete = Object.entries(missing).filter(([name]) => !isFailed(name))
  return [
    ...failed.map(([name, script]) => `${name} ${wasStopped(script) ? 'stopped' : 'failed'}`),
    ...incomplete.map(([name, { count }]) => `${name} ${count === 'all' ? 'all' : formatCount(count)}`),
    ...stale.map(({ stream, output, newest }) => clean(stream === undefined ? `nothing after ${newest}` : `${output} end at ${newest}`)),
  ].join(', ')
}

const FAILURES_COLUMN: TextColumn<RunLogEntry> = { title: 'what failed', drop: 3, align: 'left', cell: describeFailures }

/** The last runs, newest last: one line each, and what failed on lines of its own if it does not fit. */
const logLines = (entries: readonly RunLogEntry[], columns: number): readonly TextLine[] => {
  const all: readonly TextColumn<RunLogEntry>[] = [
    { title: 'run', align: 'left', cell: ({ run }) => shortId(run) },
    { title: 'started', align: 'left', cell: started },
    { title: 'outcome', align: 'left', cell: ({ outcome }) => outcome, style: ({ outcome }) => OUTCOME_WORDS[outcome][1] },
    { title: 'took', drop: 4, align: 'right', cell: ({ durationMs }) => formatDuration(durationMs) },
    { title: 'stocks', drop: 1, align: 'right', cell: ({ stocks }) => formatCount(stocks) },
    { title: 'requests', drop: 2, align: 'right', cell: (entry) => formatCount(sum(entry, ({ requests }) => requests)) },
    { title: 'lost', drop: 5, align: 'right', cell: (entry) => formatCount(sum(entry, countLost)) },
    FAILURES_COLUMN,
  ]
  const fitting = fitColumns(all, entries, columns)
  const [titles = [], ...rows] = renderTable(fitting, entries)
  if (fitting.includes(FAILURES_COLUMN)) return [titles, ...rows]
  const failures = entries.map(describeFailures)
  return [titles, ...rows.flatMap((row, index) => [row, ...(failures[index] ? wrapLines(`      ${failures[index]}`, columns) : [])])]
}

/** The figures of each stream in a run, or in two side by side. */
const scriptTable = (entries: readonly RunLogEntry[], columns: number): readonly TextLine[] => {
  const figure = (title: string, drop: number | undefined, read: (script: LoggedScript) => string): TextColumn<string> => ({
    title,
    ...(drop === undefined ? {} : { drop }),
    align: title === 'result' ? 'left' : 'right',
    cell: (name) => entries.map(({ scripts }) => (scripts[name] === undefined ? '-' : read(scripts[name]))).join(' → '),
  })
  return renderFittingTable(
    [
      { title: 'stream', align: 'left', cell: clean },
      figure('result', undefined, ({ outcome }) => toResultWord(outcome)),
      figure('took', 3, ({ durationMs }) => formatDuration(durationMs)),
      figure('requests', 4, ({ requests }) => formatCount(requests)),
      figure('retries', 1, ({ retries }) => formatCount(retries)),
      figure('lost', 6, (script) => formatCount(countLost(script))),
      figure('files', 5, ({ files }) => formatCount(files)),
      figure('size', 2, ({ bytes }) => formatBytes(bytes)),
    ],
    [...new Set(entries.flatMap(({ scripts }) => Object.keys(scripts)))],
    columns,
  )
}

/** One run: its figures by stream, the failed items and the reasons. */
const entryLines = (entry: RunLogEntry, columns: number): readonly TextLine[] => {
  const { run, outcome, asOf, durationMs, stocks, error, scripts, missing = {}, drift = 0 } = entry
  const size = `${formatQuantity(stocks, 'stock')}, ${formatDuration(durationMs)}`
  const paragraph = (text: string): readonly TextLine[] => wrapLines(text, columns)
  const section = (title: string, texts: readonly string[]): readonly TextLine[] =>
    texts.length === 0 ? [] : [[], [[title, 'bold']], ...texts.flatMap(paragraph)]
  const reasons = (isWanted: (problem: Problem, failure: string | undefined) => boolean): readonly string[] =>
    Object.entries(scripts).flatMap(([name, { error: failure, problems = [] }]) => {
      const own = problems.filter((problem) => isWanted(problem, failure))
      return groupReasons(own, own.length).map((reason) => `  ${clean(name)}: ${reason}`)
    })
  return [
    ...paragraph(`Run ${clean(run)}: ${outcome}, started ${started(entry)}, as of ${formatMinute(Date.parse(asOf))} (${size}).`),
    ...(error === undefined ? [] : paragraph(`  ${clean(error)}`)),
    [],
    ...scriptTable([entry], columns),
    ...section('Not up to date', staleLines(entry)),
    ...section('Missing after this run', describeMissing(missing)),
    ...section('Why', [
      ...Object.entries(scripts).flatMap(([name, { error: why }]) => (why === undefined ? [] : [`  ${clean(name)}: ${clean(why)}`])),
      ...reasons((problem, failure) => isFailure(problem) && problem.reason !== failure),
    ]),
    ...section(
      'Warnings',
      reasons((problem) => !isFailure(problem)),
    ),
    ...(drift > 0 ? section('Changed answers', [`  ${formatQuantity(drift, 'change')}; see "scripstream drift"`]) : []),
  ]
}

type Problem = NonNullable<LoggedScript['problems']>[number]

/** Streams that lack everything share a line. A stream of one request has one item, named `all`. */
const describeMissing = (missing: NonNullable<RunLogEntry['missing']>): readonly string[] => {
  const isAll = ({ count, items = [] }: FailedCount): boolean => count === 'all' || (count === 1 && items[0] === 'all')
  const some = Object.entries(missing).flatMap(([name, failed]) => {
    const { count, items = [] } = failed
    if (isAll(failed) || count === 'all') return []
    const more = count > items.length ? ` and ${formatCount(count - items.length)} more` : ''
    return [`  ${clean(name)}: ${formatQuantity(count, 'item')}: ${items.map(clean).join(', ')}${more}`]
  })
  const all = Object.entries(missing).filter(([, failed]) => isAll(failed))
  return all.length === 0 ? some : [...some, `  all of ${all.map(([name]) => clean(name)).join(', ')}`]
}

/** Two runs side by side: the figures of each stream. */
const comparisonLines = (earlier: RunLogEntry, later: RunLogEntry, columns: number): readonly TextLine[] => {
  const describe = (entry: RunLogEntry): string =>
    `${shortId(entry.run)} (${started(entry)}, ${entry.outcome}, ${formatDuration(entry.durationMs)})`
  const head = `Run ${describe(earlier)} → run ${describe(later)}`
  return [...wrapLines(head, columns), [], ...scriptTable([earlier, later], columns)]
}

/** Finds the run that a person names: `last`, `-2` (the one before the last), a run id or its end, or a day in India (its last run). */
const findRun = (entries: readonly RunLogEntry[], name: string): RunLogEntry => {
  const isDay = ({ startedAt }: RunLogEntry): boolean => toDay(Date.parse(startedAt)) === name
  const found =
    (/^(last|-\d+)$/.test(name) ? entries.at(name === 'last' ? -1 : Number(name)) : undefined) ??
    entries.findLast(({ run }) => run === name || run.endsWith(name)) ??
    entries.findLast(isDay)
  if (found) return found
  const range =
    entries.length === 0
      ? 'no run is recorded here'
      : `${formatQuantity(entries.length, 'run')} since ${toDay(Date.parse(entries[0]?.startedAt ?? ''))}`
  if (readDay(name) === name) throw new UsageError(`no run started on ${name}: ${range}\n"scripstream log" lists them`)
  throw new UsageError(
    `unknown run ${JSON.stringify(name)}: ${range}\nName it by its id or the end of it, a day (YYYY-MM-DD), "last", or -2 for the one before the last`,
  )
}
