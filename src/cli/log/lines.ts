import { UsageError } from '../../model/errors.js'
import type { LoggedScript, RunLogEntry } from '../../model/run-log.js'
import { formatMinute, toDay } from '../../model/trading-day.js'
import { countLost } from '../run/problems.js'
import { OUTCOME_WORDS } from '../run/summary.js'
import { formatBytes, formatCount, formatDuration, formatQuantity } from '../terminal/format.js'
import { renderTable, type TextLine } from '../terminal/terminal.js'
import { clean, wrap } from '../terminal/text.js'

const sum = (entry: RunLogEntry, figure: (script: LoggedScript) => number): number =>
  Object.values(entry.scripts).reduce((total, script) => total + figure(script), 0)

const started = ({ startedAt }: RunLogEntry): string => formatMinute(Date.parse(startedAt))

/** The end of a run's id, which differs from run to run. */
const shortId = (run: string): string => clean(run).slice(-4)

/** The last runs, newest last: one line each. */
export const logLines = (entries: readonly RunLogEntry[]): readonly TextLine[] =>
  renderTable(
    [
      { title: 'run', align: 'left', cell: ({ run }) => shortId(run) },
      { title: 'started', align: 'left', cell: started },
      { title: 'outcome', align: 'left', cell: ({ outcome }) => outcome, style: ({ outcome }) => OUTCOME_WORDS[outcome][1] },
      { title: 'took', align: 'right', cell: ({ durationMs }) => formatDuration(durationMs) },
      { title: 'stocks', align: 'right', cell: ({ stocks }) => formatCount(stocks) },
      { title: 'requests', align: 'right', cell: (entry) => formatCount(sum(entry, ({ requests }) => requests)) },
      { title: 'lost', align: 'right', cell: (entry) => formatCount(sum(entry, countLost)) },
      { title: 'what failed', align: 'left', cell: describeFailures },
    ],
    entries,
  )

const describeFailures = ({ error, scripts, missing = {} }: RunLogEntry): string =>
  error === undefined
    ? [
        ...Object.entries(scripts)
          .filter(([, { outcome }]) => outcome === 'failed')
          .map(([name]) => `${name} failed`),
        ...Object.entries(missing)
          .filter(([name]) => scripts[name]?.outcome !== 'failed')
          .map(([name, { count }]) => `${name} ${count === 'all' ? 'all' : formatCount(count)}`),
      ].join(', ')
    : clean(error)

const scriptTable = (scripts: readonly (readonly [string, LoggedScript])[]): readonly TextLine[] =>
  renderTable(
    [
      { title: 'stream', align: 'left', cell: ([name]) => clean(name) },
      { title: 'outcome', align: 'left', cell: ([, { outcome }]) => outcome },
      { title: 'took', align: 'right', cell: ([, { durationMs }]) => formatDuration(durationMs) },
      { title: 'requests', align: 'right', cell: ([, { requests }]) => formatCount(requests) },
      { title: 'retries', align: 'right', cell: ([, { retries }]) => formatCount(retries) },
      { title: 'lost', align: 'right', cell: ([, script]) => formatCount(countLost(script)) },
      { title: 'files', align: 'right', cell: ([, { files }]) => formatCount(files) },
      { title: 'size', align: 'right', cell: ([, { bytes }]) => formatBytes(bytes) },
    ],
    scripts,
  )

/** One run: its figures by stream, the failed items and the reasons. */
export const entryLines = (entry: RunLogEntry, columns: number): readonly TextLine[] => {
  const { run, outcome, asOf, durationMs, stocks, error, scripts, missing = {}, drift = 0 } = entry
  const paragraph = (text: string): readonly TextLine[] => wrap(text, columns).map((line): TextLine => [[line]])
  const section = (title: string, texts: readonly string[]): readonly TextLine[] =>
    texts.length === 0 ? [] : [[], [[title, 'bold']], ...texts.flatMap(paragraph)]
  return [
    ...paragraph(
      `Run ${clean(run)}: ${outcome}, started ${started(entry)}, as of ${formatMinute(Date.parse(asOf))} (${formatQuantity(stocks, 'stock')}, ${formatDuration(durationMs)}).`,
    ),
    ...(error === undefined ? [] : paragraph(`  ${clean(error)}`)),
    [],
    ...scriptTable(Object.entries(scripts)),
    ...section(
      'Missing after this run',
      Object.entries(missing).map(([name, { count, items = [] }]) => {
        const more = typeof count === 'number' && count > items.length ? ` and ${formatCount(count - items.length)} more` : ''
        return `  ${clean(name)}: ${count === 'all' ? 'all of it' : `${formatQuantity(count, 'item')}: ${items.map(clean).join(', ')}${more}`}`
      }),
    ),
    ...section(
      'Why',
      Object.entries(scripts).flatMap(([name, { error: failure, problems = [] }]) => [
        ...(failure === undefined ? [] : [`  ${clean(name)}: ${clean(failure)}`]),
        ...problems.map(({ item, reason }) => `  ${clean(name)}${item === undefined ? '' : ` ${clean(item)}`}: ${clean(reason)}`),
      ]),
    ),
    ...(drift > 0 ? section('Changed answers', [`  ${formatQuantity(drift, 'change')}; see "scripstream drift"`]) : []),
  ]
}

/** Two runs side by side: the figures of each stream. */
export const comparisonLines = (earlier: RunLogEntry, later: RunLogEntry): readonly TextLine[] => {
  const names = [...new Set([...Object.keys(earlier.scripts), ...Object.keys(later.scripts)])]
  const figures = (name: string, figure: (script: LoggedScript) => string): string =>
    [earlier, later].map(({ scripts }) => (scripts[name] === undefined ? '-' : figure(scripts[name]))).join(' → ')
  return [
    [[`Run ${shortId(earlier.run)} (${started(earlier)}, ${earlier.outcome}, ${formatDuration(earlier.durationMs)})`]],
    [[` and ${shortId(later.run)} (${started(later)}, ${later.outcome}, ${formatDuration(later.durationMs)})`]],
    [],
    ...renderTable(
      [
        { title: 'stream', align: 'left', cell: (name: string) => clean(name) },
        { title: 'outcome', align: 'left', cell: (name) => figures(name, ({ outcome }) => outcome) },
        { title: 'took', align: 'right', cell: (name) => figures(name, ({ durationMs }) => formatDuration(durationMs)) },
        { title: 'requests', align: 'right', cell: (name) => figures(name, ({ requests }) => formatCount(requests)) },
        { title: 'lost', align: 'right', cell: (name) => figures(name, (script) => formatCount(countLost(script))) },
        { title: 'size', align: 'right', cell: (name) => figures(name, ({ bytes }) => formatBytes(bytes)) },
      ],
      names,
    ),
  ]
}

/** Finds the run that a person names: `last`, `-2` (the one before the last), a run id or its end, or a day in India (its last run). */
export const findRun = (entries: readonly RunLogEntry[], name: string): RunLogEntry => {
  const byNumber = /^-\d+$/.test(name) ? entries.at(Number(name)) : undefined
  const found =
    name === 'last'
      ? entries.at(-1)
      : (byNumber ??
        entries.findLast(({ run }) => run === name || run.endsWith(name)) ??
        entries.findLast(({ startedAt }) => toDay(Date.parse(startedAt)) === name))
  if (found) return found
  const range =
    entries.length === 0
      ? 'no run is recorded here'
      : `${formatQuantity(entries.length, 'run')} since ${toDay(Date.parse(entries[0]?.startedAt ?? ''))}`
  throw new UsageError(
    `unknown run ${JSON.stringify(name)}: ${range}\nName it by its id or the end of it, a day (YYYY-MM-DD), "last", or -2 for the one before the last`,
  )
}
