import { isSignificant } from '../../model/drift.js'
import { groupBy } from '../../model/map.js'
import type { Drift } from '../../model/report.js'
import { formatMinute } from '../../model/trading-day.js'
import type { Backtest } from '../../verify/backtest.js'
import {
  CHECKS,
  type CheckName,
  type Finding,
  groupByCause,
  REMEDIES,
  type Severity,
  type TrackedFinding,
  type Verification,
  type YearCoverage,
} from '../../verify/finding.js'
import { buildFolderArgs, formatCommandLine } from '../command-line.js'
import {
  type AnswerLine,
  fitTable,
  listFirst,
  type Style,
  type TextColumn,
  type TextLine,
  titledPart,
} from '../terminal/terminal.js'
import { clean, formatCount, formatDuration, formatQuantity } from '../terminal/text.js'
import { changedAnswerLines } from './drift.js'

/** The report of `verify`: what the checks found, and the sections that were asked for. */
export interface VerifyReport extends Verification {
  readonly drift?: readonly Drift[]
  readonly backtest?: Backtest
}

/** Findings shown of each check without `--all`. */
const SHOWN = 4

interface FindingsContext {
  readonly tookMs: number
  readonly args: readonly string[]
  readonly all?: boolean | undefined
}

/** The findings of a check: those that are shown in full, and those of earlier runs. */
interface CheckFindings {
  readonly check: CheckName
  readonly shown: readonly TrackedFinding[]
  readonly open: readonly TrackedFinding[]
}

export const findingLines = (
  report: VerifyReport,
  { tookMs, args, all = false }: FindingsContext,
): readonly AnswerLine[] => {
  const { findings, gone, coverage, notes, passed, changed, stale, drift, backtest } = report
  const checks = [...groupBy(findings, ({ check }) => check)].map(([check, own]): CheckFindings => {
    const open = own.filter(({ state }) => state === 'open')
    return { check: check as CheckName, shown: all ? own : own.filter(({ state }) => state === 'new'), open }
  })
  const texts = (title: string, lines: readonly string[]) =>
    titledPart(
      title,
      lines.map((line) => `  ${clean(line)}`),
    )
  const accepted =
    changed &&
    `${formatQuantity(changed.added, 'finding')} accepted, ${formatCount(changed.removed)} ${REMOVED}`
  const formatSelf = (...more: readonly string[]): string =>
    formatCommandLine([...buildFolderArgs(args, 'verify'), ...more])
  const accept = `  ${formatSelf('--accept', '…')}`
  const limit = all ? Number.POSITIVE_INFINITY : SHOWN
  return [
    formatFindingsHead(report, tookMs),
    ...(checks.length === 0 ? [] : ['', createChecksTable(checks)]),
    ...checks.flatMap(({ check, shown }) =>
      formatCheckFindings(check, all ? shown : groupByCause(shown), limit),
    ),
    ...(all ? [] : texts('Open (--all shows them in full)', listByCheck(findings, 'open', limit))),
    ...texts('Gone', listByCheck(gone, 'gone', limit)),
    ...texts('Accepted', accepted === undefined ? [] : [accepted]),
    ...texts(
      'Accepted earlier, no longer found (--accept removes them)',
      listFindings(stale.map(describeAccepted), limit),
    ),
    ...(coverage.length === 0 ? [] : ['', fitTable(YEAR_COLUMNS, coverage.slice(0, MAX_YEARS_SHOWN))]),
    ...texts('Not checked', notes),
    ...(drift === undefined
      ? []
      : titledPart('Changed answers', changedAnswerLines(drift, formatSelf('--drift', '--accept')))),
    ...(backtest === undefined ? [] : backtestLines(backtest)),
    ...texts('Limits exceeded', passed.map(describeExceeded)),
    // On one line, so that it can be copied.
    ...(findings.length === 0 ? [] : [...texts('Next', [NEXT]), () => [[[accept]] as const]]),
  ]
}

const backtestLines = ({ from, to, days, parts }: Backtest): readonly AnswerLine[] =>
  titledPart(
    `Back-test: ${formatQuantity(days, 'recorded day')}, from ${from} to ${to}`,
    parts.flatMap(({ name, count, of, examples, proof, limit }): readonly AnswerLine[] => [
      [
        [`  ${name}`, 'bold'],
        [`: ${formatCount(count)} of ${formatCount(of)}`, count === 0 ? undefined : 'yellow'],
      ],
      ...examples.map((text) => `    ${text}`),
      [[`    can prove: ${proof}`, 'dim']],
      [[`    cannot: ${limit}`, 'dim']],
    ]),
  )

export const describeExceeded = ({ limit, allowed, found }: Verification['passed'][number]): string =>
  `${limit}: ${formatCount(found)} new, ${formatCount(allowed)} allowed`

const REMOVED = 'no longer found and removed: .scripstream/accepted-findings.json'
const NEXT = 'Correct what is wrong. What is right as it is, accept (some of it with --only or --symbols):'

const countErrors = (findings: readonly Finding[]): number =>
  findings.filter(({ severity }) => severity === 'error').length

const formatFindingsHead = (report: VerifyReport, tookMs: number): TextLine => {
  const { folder, stocks, files, candles, sessions, history, findings, gone, accepted, notes, asOf } = report
  const hasChanges = report.drift?.some(isSignificant) === true
  const fresh = findings.filter(({ state }) => state === 'new')
  const open = findings.length - fresh.length
  const errors = countErrors(fresh)
  const states: readonly (readonly [isSo: boolean, word: string, style: Style])[] = [
    [errors > 0, 'Errors', 'red'],
    [fresh.length > 0 || hasChanges, 'Review', 'yellow'],
    [open > 0, 'Open', 'yellow'],
  ]
  const [, word, style] = states.find(([isSo]) => isSo) ?? [true, 'OK', 'green']
  const until =
    sessions.last === undefined ? '' : ` of ${formatQuantity(sessions.count, 'session')} to ${sessions.last}`
  const what = `${formatQuantity(stocks, 'stock')}, ${formatQuantity(files, 'file')}, ${formatQuantity(candles, 'candle')}${until}, ${formatQuantity(history.days, 'recorded day')}`
  const run = asOf === undefined ? '' : `, as of ${formatMinute(Date.parse(asOf))}`
  const known = Object.entries({ open, gone: gone.length, accepted: accepted.length }).filter(
    ([, count]) => count > 0,
  )
  const isNew = known.length > 0 ? 'new ' : ''
  const others = fresh.length === errors ? '' : `, ${formatQuantity(fresh.length - errors, 'other')}`
  const some =
    errors > 0
      ? `${formatQuantity(errors, `${isNew}error`)}${others}`
      : formatQuantity(fresh.length, `${isNew}finding`)
  const count = fresh.length === 0 ? `no ${isNew}findings` : some
  const found =
    known.length === 0
      ? count
      : `${count} (${known.map(([state, number]) => `${formatCount(number)} ${state}`).join(', ')})`
  const unchecked = notes.length === 0 ? '' : ' Not everything could be checked: see "Not checked".'
  const changed = hasChanges ? ' The answers have changed: see "Changed answers".' : ''
  return [
    [word, style],
    [`: ${found} in ${folder}${run} (${what}; ${formatDuration(tookMs)}).${unchecked}${changed}`],
  ]
}

const createChecksTable = (checks: readonly CheckFindings[]) => {
  const count = (title: string, severity: Severity, style?: Style): TextColumn<CheckFindings> => {
    const of = ({ shown }: CheckFindings): number =>
      shown.filter((finding) => finding.severity === severity).length
    return {
      title,
      align: 'right',
      cell: (row) => formatNonZero(of(row)),
      style: (row) => (of(row) > 0 ? style : 'dim'),
    }
  }
  const open: TextColumn<CheckFindings> = {
    title: 'open',
    align: 'right',
    cell: (row) => formatNonZero(row.open.length),
  }
  const columns: readonly TextColumn<CheckFindings>[] = [
    { title: 'check', align: 'left', cell: ({ check }) => check },
    count('errors', 'error', 'red'),
    count('warnings', 'warning', 'yellow'),
    { ...count('info', 'info'), drop: 1 },
    ...(checks.some((one) => one.open.length > 0) ? [open] : []),
  ]
  return fitTable(columns, checks)
}

const formatNonZero = (value: number): string => (value === 0 ? '-' : formatCount(value))

const MAX_YEARS_SHOWN = 5

const YEAR_COLUMNS: readonly TextColumn<YearCoverage>[] = [
  { title: 'year', align: 'left', cell: ({ year }) => String(year) },
  { title: 'sessions', align: 'right', cell: ({ sessions }) => formatCount(sessions) },
  { title: 'stocks', drop: 2, align: 'right', cell: ({ stocks }) => formatCount(stocks) },
  { title: 'candles', drop: 1, align: 'right', cell: ({ candles }) => formatCount(candles) },
  { title: 'coverage', align: 'right', cell: ({ share }) => `${(share * 100).toFixed(1)} %` },
]

const formatCheckFindings = (
  check: CheckName,
  findings: readonly Finding[],
  limit: number,
): readonly AnswerLine[] =>
  findings.length === 0
    ? []
    : [
        '',
        [[check, 'bold'], [`: ${CHECKS[check]}`]],
        ...listFindings(findings, limit),
        `  What to do: ${REMEDIES[check]}.`,
      ]

/** One line for each check: how many findings have a state, since when, and the first of them. */
const listByCheck = (
  findings: readonly TrackedFinding[],
  state: TrackedFinding['state'],
  limit: number,
): readonly string[] =>
  [...groupBy(findings, (finding) => (finding.state === state ? finding.check : ''))].flatMap(
    ([check, own]) => {
      if (check === '') return []
      const days = [...new Set(own.flatMap(({ since = [] }) => since))].sort()
      const errors = countErrors(own)
      const of = errors === 0 ? '' : ` (${formatQuantity(errors, 'error')})`
      const since =
        days[0] === undefined
          ? ''
          : `${state === 'gone' ? ', open' : ''} since ${days[0]}${days.length > 1 ? ' or later' : ''}`
      const more = own.length > limit ? ` and ${formatCount(own.length - limit)} more` : ''
      return [
        `${check}: ${formatCount(own.length)} ${state}${of}${since}: ${own.slice(0, limit).map(describeSubject).join(', ')}${more}`,
      ]
    },
  )

const listFindings = (findings: readonly Finding[], limit: number): readonly string[] =>
  listFirst(
    findings,
    limit,
    (finding) => `  ${describeSubject(finding)}: ${clean(finding.detail)}`,
    (rest) => `  and ${formatCount(rest)} more (--all shows them)`,
  )

/** A finding that was accepted and is no longer found, with its check and the reason instead of its text. */
const describeAccepted = (entry: Verification['stale'][number]): Finding => ({
  ...entry,
  detail: `${entry.check}, accepted ${entry.accepted}${entry.reason ? `: ${entry.reason}` : ''}`,
})

const describeSubject = ({ check, symbol, day, file }: Finding): string =>
  clean(
    [check === 'files' ? (file ?? symbol) : (symbol ?? file), day]
      .filter((part) => part !== undefined)
      .join(' ') || 'folder',
  )
