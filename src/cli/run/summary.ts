import type { StreamDefinition } from '../../engine/define-stream.js'
import { groupByPhase, type PhaseGroup } from '../../engine/plan.js'
import { REPORT_FILE } from '../../engine/storage.js'
import { isSignificant } from '../../model/drift.js'
import { formatPart } from '../../model/format.js'
import type { RunReport, ScriptReport } from '../../model/report.js'
import { countItems, countLost, isIdle, isIncomplete, wasStopped } from '../../model/script-figures.js'
import { buildFolderArgs, buildResumeArgs, formatCommandLine } from '../command-line.js'
import { fleetLines } from '../fleet.js'
import { findHints, type Origins } from '../hints.js'
import {
  type AnswerLine,
  columnsOf,
  fitTable,
  GLYPHS,
  layOut,
  measureLine,
  type Style,
  type TextColumn,
  type TextLine,
  titledPart,
} from '../terminal/terminal.js'
import { clean, formatBytes, formatCount, formatDuration, formatQuantity } from '../terminal/text.js'
import { driftLines } from '../verify/drift.js'
import { earlierFailureLines, problemLines, staleLines, warningLines, wrongSymbolLines } from './problems.js'

/** A stream with its phase. */
type PhasedStream = Pick<StreamDefinition, 'name' | 'phase'>

type NextContext = Pick<SummaryContext, 'args' | 'isSimulated' | 'origins'>

export interface SummaryContext {
  /** The output folder as the user named it. */
  readonly out: string
  readonly args: readonly string[]
  readonly isReportStored: boolean
  readonly streams: readonly PhasedStream[]
  readonly isSimulated: boolean
  /** Whether it is the first complete run of its folder: the summary ends with the next step. */
  readonly isFirst?: boolean
  readonly origins?: Origins | undefined
  readonly sinks: readonly AnswerLine[]
}

/**
 * The summary of a run: each phase, the streams that are not complete, what is missing and why, where the
 * files are, what to do, and last the outcome.
 */
export const createSummary = (report: RunReport, context: SummaryContext): readonly AnswerLine[] => {
  const verdict = [...nextLines(report, context), '', formatVerdict(report), ...firstStepLines(context)]
  if (report.finishedBefore !== undefined) return verdict.slice(1)
  const all = [
    ...describeResults(report, context.streams),
    ...writtenLines(report, context),
    ...context.sinks,
    ...verdict,
  ]
  return all[0] === '' ? all.slice(1) : all
}

/** What a run did, by stream. Complete streams share a line for each phase, if their phases are known. */
export const describeResults = (
  report: RunReport,
  streams: readonly PhasedStream[] = [],
): readonly AnswerLine[] => [
  ...resultLines(report, streams),
  ...titledPart('Missing', problemLines(report)),
  ...titledPart('Not up to date', staleLines(report)),
  ...titledPart('Wrong symbols', wrongSymbolLines(report)),
  ...titledPart('Changed answers', driftLines(report.drift)),
  ...titledPart('Missing from earlier runs', earlierFailureLines(report)),
  ...titledPart('Fleet', fleetLines(report.fleet)),
  ...titledPart('Notes', warningLines(report)),
]

export const OUTCOME_WORDS: Readonly<Record<RunReport['outcome'], readonly [string, Style]>> = {
  complete: ['Complete', 'green'],
  partial: ['Partial', 'yellow'],
  failed: ['Failed', 'red'],
  interrupted: ['Interrupted', 'yellow'],
}

const UP_TO_DATE = ['Up to date', 'green'] as const
const UNKNOWN = ['Unknown', 'yellow'] as const
const NO_SESSION = ['No session', 'yellow'] as const

const formatVerdict = (report: RunReport): TextLine => [toVerdict(report), [`: ${formatOutcome(report)}`]]

/** The outcome in a word or two. Nothing is up to date while it may be that a session is under way. */
export const toVerdict = ({ outcome, finishedBefore, looked }: RunReport): readonly [string, Style] => {
  if (finishedBefore === undefined) return OUTCOME_WORDS[outcome]
  if (looked === undefined) return UP_TO_DATE
  return 'failure' in looked ? UNKNOWN : looked.expected === undefined ? UP_TO_DATE : NO_SESSION
}

/** Why nothing was requested but a look for a session; undefined if more was. */
export const describeUpToDate = ({
  run,
  scripts,
  finishedAt,
  finishedBefore,
  looked,
}: RunReport): string | undefined => {
  if (finishedBefore === undefined) return undefined
  const ago = formatDuration(Date.parse(finishedAt) - Date.parse(finishedBefore))
  const files = sumScripts(scripts, (script) => script.files)
  return `run ${run} finished ${ago} ago, all ${formatQuantity(files, 'file')} present${looked ? `; ${describeLook(looked)}` : ''}`
}

const describeLook = (looked: NonNullable<RunReport['looked']>): string =>
  'failure' in looked
    ? `whether there is a session today could not be found out: ${clean(looked.failure)}`
    : `${looked.expected === undefined ? `no session since ${looked.newest}` : `nothing of ${looked.expected}`} so far (1 request)`

/** The sum of a figure of all streams. */
export const sumScripts = <Script>(
  scripts: Readonly<Record<string, Script>>,
  read: (script: Script) => number,
): number => Object.values(scripts).reduce((total, script) => total + read(script), 0)

const formatOutcome = (report: RunReport): string => {
  const ran = filterRan(report)
  const takenOver = sumScripts(report.scripts, (script) => script.takenOver)
  const before = takenOver > 0 ? `, ${formatQuantity(takenOver, 'item')} already fetched` : ''
  const scope = `(${formatQuantity(report.stocks, 'stock')}, ${formatDuration(report.durationMs)}${before})`
  switch (report.outcome) {
    case 'complete':
      return `${describeUpToDate(report) ?? `${formatQuantity(ran.length, 'stream')} ${scope}`}.`
    case 'partial':
      return ran.some(isIncomplete)
        ? `something is missing from ${formatPart(ran.filter(isIncomplete).length, ran.length, 'stream')} ${scope}.`
        : `all files are written, but ${describeCatch(report)} ${scope}.`
    case 'failed':
      return `${clean(report.error ?? ran.find(({ error }) => error !== undefined)?.error ?? 'unknown reason')}.`.replace(
        /\.\.$/,
        '.',
      )
    case 'interrupted':
      return `${formatPart(
        ran.filter(({ outcome }) => outcome !== 'failed').length,
        Object.values(report.scripts).filter(
          (script) => !isIdle(script) || describeIdleness(script) === 'not started',
        ).length,
        'stream',
      )} finished in ${formatDuration(report.durationMs)}. Written files are complete; all others are unchanged.`
  }
}

const describeCatch = ({ wrongSymbols = [], drift = [], stale = [] }: RunReport): string =>
  [
    ...(stale.length > 0 ? ['not everything is up to date'] : []),
    ...(wrongSymbols.length > 0
      ? [
          `${formatQuantity(wrongSymbols.length, 'symbol')} of the watchlist ${wrongSymbols.length === 1 ? 'is' : 'are'} wrong`,
        ]
      : []),
    ...(drift.some(isSignificant) ? ['answers have changed'] : []),
  ].join(', and ')

const idleLines = ({ scripts }: RunReport): readonly AnswerLine[] => {
  const idle = Object.entries(scripts).filter(([, script]) => isIdle(script))
  return IDLE_TITLES.flatMap((title) => {
    const names = idle.filter(([, script]) => describeIdleness(script) === title).map(([name]) => name)
    return names.length > 0 ? [[[`${title}: ${names.join(', ')}`, 'dim']] as const] : []
  })
}

const IDLE_TITLES = ['not started', 'not selected', 'disabled'] as const

const describeIdleness = ({ outcome, error }: ScriptReport): (typeof IDLE_TITLES)[number] =>
  outcome === 'disabled' ? 'disabled' : error === undefined ? 'not selected' : 'not started'

const filterRan = ({ scripts }: RunReport): readonly ScriptReport[] =>
  Object.values(scripts).filter(
    ({ outcome }) => outcome === 'success' || outcome === 'partial' || outcome === 'failed',
  )

const writtenLines = (report: RunReport, { isReportStored, out }: SummaryContext): readonly AnswerLine[] => {
  const files = sumScripts(report.scripts, (script) => script.files)
  const size = sumScripts(report.scripts, (script) => (script.files > 0 ? script.bytes : 0))
  if (files === 0 && !isReportStored) return []
  // The files of a stopped stream are not counted.
  const isStopped = Object.values(report.scripts).some(wasStopped)
  const amount = `${isStopped ? 'at least ' : ''}${formatQuantity(files, 'file')}, ${formatBytes(size)}`
  const where = `${clean(out)}: ${files === 0 && !isStopped ? 'nothing; earlier files are unchanged' : amount}`
  return ['', [['Written', 'bold'], [` to ${where}${isReportStored ? `; report: ${REPORT_FILE}` : ''}`]]]
}

const firstStepLines = ({ isFirst = false, args }: SummaryContext): readonly AnswerLine[] =>
  isFirst ? [adviceLine('See it:', buildFolderArgs(args, 'serve'))] : []

/** Advice with its command: on one line, or with the command on the next, so that it can be copied. */
const adviceLine =
  (advice: string, args: readonly string[]) =>
  (columns: number): readonly TextLine[] => {
    const whole: TextLine = [[`${advice} `], [formatCommandLine(args), 'cyan']]
    return measureLine(whole) <= columns ? [whole] : [...layOut([advice], columns), ...command(args)()]
  }

const SIMULATED_NOTE = 'This data is simulated; settings for real data:'

/** On one line, so that it can be copied. */
const command = (args: readonly string[]) => (): readonly TextLine[] => [
  [[`    ${formatCommandLine(args)}`, 'cyan']],
]

const nextLines = (report: RunReport, context: NextContext): readonly AnswerLine[] => {
  const steps = listSteps(report, context)
  if (steps.length === 0) return context.isSimulated ? ['', adviceLine(SIMULATED_NOTE, ['init'])] : []
  return titledPart(
    'Next',
    steps.flatMap(([advice, args]) => [`  ${advice}`, ...(args === undefined ? [] : [command(args)])]),
  )
}

type Step = readonly [advice: string, args?: readonly string[]]

const listSteps = (report: RunReport, { args, origins }: NextContext): readonly Step[] => {
  const again = buildResumeArgs(args)
  if (report.finishedBefore !== undefined) return [['To download again:', [...again, '--fresh']]]
  const hints = findHints(report, origins).map((hint): Step => [hint])
  const isMissing = Object.values(report.scripts).some(isIncomplete)
  const retry: Step = report.isResumable
    ? ['Run it again today; only missing items are requested:', again]
    : ['Run it again; it requests what is missing:', again]
  const isResumed = isMissing && report.isResumable === true
  const partial: readonly Step[] = [
    ...(isMissing ? [...hints, retry] : []),
    ...(report.stale && !isResumed
      ? [['Run it again later; only what is not up to date is requested:', again] as const]
      : []),
    ...(report.wrongSymbols ? [['Correct these symbols in the watchlist.'] as const] : []),
    ...(report.drift?.some(isSignificant)
      ? [
          [
            'See what has changed; "scripstream verify --drift --accept" accepts it:',
            [...buildFolderArgs(args, 'verify'), '--drift'],
          ] as const,
        ]
      : []),
  ]
  return {
    partial,
    complete: [],
    failed: [...hints, ['Fix the cause, then run it again:', again] as const],
    interrupted: [['To resume (finished items are not requested again):', again] as const],
  }[report.outcome]
}

interface ResultRow extends ScriptReport {
  readonly name: string
  readonly result: string
}

const resultLines = (report: RunReport, streams: readonly PhasedStream[]): readonly AnswerLine[] => {
  const rows = Object.entries(report.scripts)
    .filter(([, script]) => !isIdle(script))
    .map(([name, script]): ResultRow => ({ ...script, name, result: describeResult(script) }))
  const isComplete = ({ name, outcome }: ResultRow): boolean =>
    outcome === 'success' && streams.some((stream) => stream.name === name)
  const others = rows.filter((row) => !isComplete(row))
  const phases = groupByPhase(streams).flatMap((group) => summarizePhase(group, rows))
  return [
    ...(phases.length === 0 ? [] : ['', phaseTable(phases)]),
    ...(others.length === 0 ? [] : ['', fitTable(createResultColumns(others), others)]),
    ...idleLines(report),
  ]
}

/** A table without titles: each cell has its unit. */
const phaseTable = (rows: readonly (readonly string[])[]) => (room: number) => {
  const columns = columnsOf({
    phase: undefined,
    streams: undefined,
    items: 4,
    files: 3,
    size: 2,
    time: 5,
    limited: 1,
  })
  const lines = fitTable(columns, rows)(room).slice(1)
  return lines.map(([[phase] = [''], ...figures]): TextLine => [[phase, 'green'], ...figures])
}

/** What the complete streams of a phase did, in one row; none without any. */
const summarizePhase = (
  { phase, isSequential, members }: PhaseGroup<PhasedStream>,
  rows: readonly ResultRow[],
): readonly (readonly string[])[] => {
  const own = rows.filter((row) => members.some(({ name }) => name === row.name))
  const complete = own.filter(({ outcome }) => outcome === 'success')
  if (complete.length === 0) return []
  const sum = (read: (row: ResultRow) => number): number =>
    complete.reduce((total, row) => total + read(row), 0)
  const all = own.length === 1 ? (own[0]?.name ?? '') : formatQuantity(own.length, 'stream')
  const limited = sum(({ rateLimited }) => rateLimited)
  const durationMs = isSequential
    ? sum((row) => row.durationMs)
    : Math.max(...complete.map((row) => row.durationMs))
  const figures = [
    complete.length < own.length ? formatPart(complete.length, own.length, 'stream') : all,
    formatQuantity(sum(countItems), 'item'),
    formatQuantity(
      sum(({ files }) => files),
      'file',
    ),
    formatBytes(sum(({ bytes }) => bytes)),
    formatDuration(durationMs),
    limited === 0 ? '' : `${formatCount(limited)} x 429`,
  ]
  return [[`${GLYPHS.ok} ${phase}`, ...figures]]
}

const describeResult = (script: ScriptReport): string =>
  wasStopped(script) ? 'stopped' : toResultWord(script.outcome)

export const toResultWord = (outcome: ScriptReport['outcome']): string =>
  outcome === 'success' ? 'ok' : outcome

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
    { title: 'stream', cell: ({ name }) => name },
    { title: 'result', cell: ({ result }) => result, style: ({ result }) => styles[result] },
    createFigureColumn('ok', ({ items }) => items.success, { drop: 9 }),
    ...[empty, unchanged, partly].filter(isUsed),
    createFigureColumn('lost', countLost, { style: 'red' }),
    createFigureColumn('files', ({ files }) => files, { drop: 7 }),
    {
      title: 'size',
      drop: 3,
      align: 'right',
      cell: ({ bytes, files }) => (files === 0 ? '-' : formatBytes(bytes)),
    },
    { title: 'time', drop: 4, align: 'right', cell: ({ durationMs }) => formatDuration(durationMs) },
    createFigureColumn('requests', ({ requests }) => requests, { drop: 2 }),
    createFigureColumn('429', ({ rateLimited }) => rateLimited, { drop: 1, style: 'yellow' }),
  ]
}
