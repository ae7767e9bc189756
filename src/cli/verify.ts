import { defer } from 'rxjs'
import { UsageError } from '../model/errors.js'
import { groupBy } from '../model/map.js'
import { formatMinute, toDay } from '../model/trading-day.js'
import {
  CHECKS,
  type CheckName,
  checkNames,
  type Finding,
  REMEDIES,
  type Severity,
  type TrackedFinding,
  type Verification,
  type YearCoverage,
} from '../verify/finding.js'
import { type Answer, defineCommand, type FlagValues, type Input } from './command.js'
import { buildFolderArgs, formatCommandLine } from './command-line.js'
import { notifyOfFailure } from './notify/notify.js'
import {
  dayOption,
  flag,
  folderFlags,
  integerOption,
  jsonFlag,
  namesOption,
  readSymbols,
  symbolsOption,
} from './options.js'
import {
  type AnswerLine,
  fitTable,
  listFirst,
  type Style,
  type TextColumn,
  type TextLine,
  titledPart,
} from './terminal/terminal.js'
import { clean, formatCount, formatDuration, formatQuantity } from './terminal/text.js'

const EXIT_LIMIT_EXCEEDED = 4

const verifyFlags = () => ({
  ...folderFlags(),
  only: namesOption('--only', 'only these checks', {
    what: 'check',
    known: checkNames,
    listedBy: '"scripstream help checks"',
  }),
  symbols: symbolsOption('only findings of these stocks'),
  since: dayOption('--since <day>', 'only findings about this day or later'),
  limit: integerOption('--limit <number>', 'findings shown of each check (default: 4)', [0, 1_000_000]),
  all: flag('--all', 'also show open findings in full'),
  history: flag('--history', 'also read every byte of the recorded days'),
  deep: flag('--deep', 'also find files that a disk or an editor has changed'),
  accept: flag('--accept', 'accept the findings: later commands report only new ones'),
  reason: flag('--reason <text>', 'why they are accepted'),
  quiet: flag('-q, --quiet', 'print nothing without new errors or warnings, and notify of a failure'),
  json: jsonFlag('print all findings as JSON on stdout'),
})

type VerifyFlags = FlagValues<ReturnType<typeof verifyFlags>>

export const addVerify = defineCommand({
  name: 'verify',
  about: 'Checks the outputs of a folder and reports what is wrong.',
  flags: verifyFlags,
  examples: [
    ['scripstream verify --symbols INFY,TCS --since 2026-01-01', 'only findings of two stocks of this year'],
    ['scripstream verify --accept --reason "as traded"', 'from now on, report only new findings'],
    ['scripstream run && scripstream verify --quiet', 'the daily run; prints only new findings'],
  ],
  notes: [
    `Checks ("scripstream help checks" explains them): ${checkNames.join(', ')}`,
    'A finding is new until "verify" has reported it in the files of an earlier run, then open until it is gone or accepted.',
  ],
  exits: { [EXIT_LIMIT_EXCEEDED]: 'more new findings than the setting "verify" allows' },
  run: (flags, input) =>
    defer(() => verifyFolder(flags, input)).pipe(
      notifyOfFailure(
        {
          command: 'verify',
          isScheduled: flags.quiet,
          describe: ({ json }) => describeExceededLimits(json as Verification),
        },
        input,
      ),
    ),
})

const verifyFolder = async (
  flags: VerifyFlags,
  { settings, dependencies: { streams }, io, args }: Input,
): Promise<Answer> => {
  const { only, symbols, since, limit, all, deep, history, accept = false, reason, quiet = false } = flags
  if (reason !== undefined && !accept) throw new UsageError('--reason: it needs --accept')
  const { out, exchange, watchlists, verify } = settings()
  const startedAt = io.scheduler.now()
  const options = {
    streams,
    exchange,
    only,
    since,
    deep,
    history,
    isReport: true,
    ...readSymbols(symbols, { watchlists }),
    // The default allows no errors and any number of warnings: most trading days have unusual moves.
    limits: { errors: 0, ...verify },
    ...(accept ? { accept: { on: toDay(startedAt), reason } } : {}),
  }
  const { verifyAndRecord } = await import('../verify/recorded-checks.js')
  const { verification } = await verifyAndRecord(out, options, () => io.scheduler.now())
  const code = verification.passed.length > 0 ? EXIT_LIMIT_EXCEEDED : 0
  if (
    quiet &&
    code === 0 &&
    verification.findings.every(({ severity, state }) => severity === 'info' || state === 'open')
  )
    return code
  const tookMs = io.scheduler.now() - startedAt
  return { code, json: verification, lines: () => findingLines(verification, { tookMs, args, limit, all }) }
}

const describeExceededLimits = ({ folder, findings, passed }: Verification) => {
  const fresh = findings.filter(({ state }) => state === 'new')
  const checks = [...groupBy(fresh, ({ check }) => check)].map(([check, own]) => `${check} ${own.length}`)
  return {
    headline: `${passed.map(describeExceeded).join('; ')} in ${folder} (${checks.join(', ')}).`,
    findings: fresh,
  }
}

/** Findings shown of each check, unless `--limit` changes it; `--json` has all. */
const DEFAULT_LIMIT = 4

interface FindingsContext {
  readonly tookMs: number
  readonly args: readonly string[]
  readonly limit?: number | undefined
  readonly all?: boolean | undefined
}

/** The findings of a check: those that are shown in full, and those of earlier runs. */
interface CheckFindings {
  readonly check: CheckName
  readonly shown: readonly TrackedFinding[]
  readonly open: readonly TrackedFinding[]
}

export const findingLines = (
  verification: Verification,
  { tookMs, args, limit = DEFAULT_LIMIT, all = false }: FindingsContext,
): readonly AnswerLine[] => {
  const { findings, gone, coverage, notes, passed, changed, stale } = verification
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
  const accept = `  ${formatCommandLine([...buildFolderArgs(args, 'verify'), '--accept', '--reason', '…'])}`
  return [
    formatFindingsHead(verification, tookMs),
    ...(checks.length === 0 ? [] : ['', createChecksTable(checks)]),
    ...checks.flatMap(({ check, shown }) => formatCheckFindings(check, shown, limit)),
    ...(all ? [] : texts('Open (--all shows them in full)', listByCheck(findings, 'open', limit))),
    ...texts('Gone', listByCheck(gone, 'gone', limit)),
    ...texts('Accepted', accepted === undefined ? [] : [accepted]),
    ...texts(
      'Accepted earlier, no longer found (--accept removes them)',
      listFindings(stale.map(describeAccepted), limit),
    ),
    ...(coverage.length === 0 ? [] : ['', fitTable(YEAR_COLUMNS, coverage.slice(0, MAX_YEARS_SHOWN))]),
    ...texts('Not checked', notes),
    ...texts('Limits exceeded', passed.map(describeExceeded)),
    // On one line, so that it can be copied.
    ...(findings.length === 0 ? [] : [...texts('Next', [NEXT]), () => [[[accept]] as const]]),
  ]
}

const describeExceeded = ({ limit, allowed, found }: Verification['passed'][number]): string =>
  `${limit}: ${formatCount(found)} new, ${formatCount(allowed)} allowed`

const REMOVED = 'no longer found and removed: .scripstream/accepted-findings.json'
const NEXT = 'Correct what is wrong. What is right as it is, accept (some of it with --only or --symbols):'

const countErrors = (findings: readonly Finding[]): number =>
  findings.filter(({ severity }) => severity === 'error').length

const formatFindingsHead = (
  { folder, stocks, files, candles, sessions, history, findings, gone, accepted, notes, asOf }: Verification,
  tookMs: number,
): TextLine => {
  const fresh = findings.filter(({ state }) => state === 'new')
  const open = findings.length - fresh.length
  const errors = countErrors(fresh)
  const states: readonly (readonly [isSo: boolean, word: string, style: Style])[] = [
    [errors > 0, 'Errors', 'red'],
    [fresh.length > 0, 'Review', 'yellow'],
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
  const rest = notes.length === 0 ? '' : ' Not everything could be checked: see "Not checked".'
  return [[word, style], [`: ${found} in ${folder}${run} (${what}; ${formatDuration(tookMs)}).${rest}`]]
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
    (rest) => `  and ${formatCount(rest)} more (--limit ${findings.length} shows all)`,
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
