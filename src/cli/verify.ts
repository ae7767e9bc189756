import { defer, map, type Observable } from 'rxjs'
import { CHECKS, type CheckName, checkNames, type Finding, type Verification, type YearCoverage } from '../analysis/verify/finding.js'
import { formatMinute } from '../model/trading-day.js'
import type { AddCommand, Command } from './dependencies.js'
import { exampleText, namesOption, readSymbols } from './options.js'
import { resolveSettings } from './provider.js'
import { formatCount, formatDuration, formatQuantity } from './terminal/format.js'
import { printJson, printLines } from './terminal/print.js'
import { readSize, renderTable, type Style, type TextLine } from './terminal/terminal.js'
import { clean, wrap } from './terminal/text.js'

const examples = [
  ['scripstream verify', 'everything in ./data'],
  ['scripstream verify --only spliced-series,large-moves', 'two of the checks'],
  ['scripstream verify --symbols INFY,TCS', 'only findings of two stocks'],
  ['scripstream run && scripstream verify --json > findings.json', 'the daily run, then all findings as JSON'],
] as const

const VERIFY_EXIT_CODES = `
Exit codes:
  0  within the limits of the setting "verify"; without it, no errors
  1  the folder cannot be read
  2  wrong usage or configuration
  4  a limit is exceeded
`

export const addVerify: AddCommand = (program, { io, dependencies, act }) => {
  const checksText = (): string =>
    ['', 'Checks:', ...checkNames.flatMap((name) => [`  ${name}`, ...wrap(`      ${CHECKS[name]}`, readSize(io.stdout).columns)]), ''].join(
      '\n',
    )
  program
    .command('verify')
    .description('Checks the outputs of a folder and reports what is wrong.')
    .option('--out <dir>', 'output folder (default: ./data)')
    .option('--config <file>', 'settings file (default: scripstream.config.json, if present)')
    .addOption(namesOption('--only', 'only these checks', { what: 'check', known: checkNames, listedBy: '"scripstream verify --help"' }))
    .option('--symbols <symbols>', 'only findings of these stocks: A,B or @FILE', readSymbols)
    .option('--json', 'print all findings as JSON on stdout')
    .addHelpText('after', () => exampleText(examples) + checksText() + VERIFY_EXIT_CODES)
    .action((flags: VerifyFlags) => act(verifyCommand(flags, io, dependencies)))
}

interface VerifyFlags {
  readonly out?: string
  readonly config?: string
  readonly only?: readonly CheckName[]
  readonly symbols?: readonly string[]
  readonly json?: boolean
}

/** The exit code if the findings exceed the limits in the settings. */
const EXIT_LIMIT_EXCEEDED = 4

/** The default allows no errors and any number of warnings: most trading days have unusual moves. */
const DEFAULT_LIMITS = { errors: 0 }

/** Checks the outputs of a folder, prints the findings, and emits the exit code. */
const verifyCommand: Command<VerifyFlags> = ({ out, config, only, symbols, json = false }, { stdout, env, scheduler }, dependencies) =>
  defer((): Observable<number> => {
    const settings = resolveSettings({ out, config }, { env }, dependencies)
    const startedAt = scheduler.now()
    const verifying = {
      streams: dependencies.streams,
      exchange: settings.exchange,
      only,
      symbols,
      limits: { ...DEFAULT_LIMITS, ...settings.verify },
    }
    const print = (verification: Verification): void => {
      const tookMs = scheduler.now() - startedAt
      if (json) printJson(verification, stdout)
      else printLines(findingLines(verification, { columns: readSize(stdout).columns, tookMs }), stdout)
    }
    return defer(async () => {
      const { verify } = await import('./folder-readers.js')
      return verify(settings.out, verifying)
    }).pipe(
      map((verification) => {
        print(verification)
        return verification.passed.length > 0 ? EXIT_LIMIT_EXCEEDED : 0
      }),
    )
  })

/** Findings shown of each check; `--json` has all. */
const MAX_FINDINGS_SHOWN = 4

interface FindingsContext {
  readonly columns: number
  readonly tookMs: number
}

/** Formats the findings for people: a table of the checks with findings, the first findings of each, and what was not checked. */
export const findingLines = (verification: Verification, { columns, tookMs }: FindingsContext): readonly TextLine[] => {
  const checks = (Object.entries(verification.counts) as [CheckName, SeverityCounts][]).filter(([, counts]) => sumSeverities(counts) > 0)
  return [
    ...formatFindingsHead(verification, { columns, tookMs }),
    ...(checks.length === 0 ? [] : [[], ...createChecksTable(checks)]),
    ...checks.flatMap(([check]) => formatCheckFindings(check, verification.findings, columns)),
    ...createCoverageTable(verification.coverage),
    ...formatTexts('Not checked', verification.notes, columns),
    ...formatTexts(
      'Limits exceeded',
      verification.passed.map(({ limit, allowed, found }) => `${limit}: ${formatCount(found)} found, ${formatCount(allowed)} allowed`),
      columns,
    ),
  ]
}

interface SeverityCounts {
  readonly error: number
  readonly warning: number
  readonly info: number
}

const sumSeverities = ({ error, warning, info }: SeverityCounts): number => error + warning + info

const formatFindingsHead = (
  { folder, stocks, files, candles, sessions, findings, notes, asOf }: Verification,
  { columns, tookMs }: FindingsContext,
): readonly TextLine[] => {
  const hasErrors = findings.some(({ severity }) => severity === 'error')
  const [word, style]: [string, Style] = hasErrors
    ? ['Errors', 'red']
    : findings.length > 0
      ? ['Review', 'yellow']
      : notes.length > 0
        ? ['Not all checked', 'yellow']
        : ['OK', 'green']
  const until = sessions.last === undefined ? '' : ` of ${formatQuantity(sessions.count, 'session')} to ${sessions.last}`
  const what = `${formatQuantity(stocks, 'stock')}, ${formatQuantity(files, 'file')}, ${formatQuantity(candles, 'candle')}${until}`
  const run = asOf === undefined ? '' : `, as of ${formatMinute(Date.parse(asOf))}`
  const found = findings.length === 0 ? 'no findings' : formatQuantity(findings.length, 'finding')
  const text = `${word}: ${found} in ${clean(folder)}${run} (${what}; ${formatDuration(tookMs)}).`
  const [first = '', ...more] = wrap(text, columns)
  return [[[word, style], [first.slice(word.length)]], ...more.map((line): TextLine => [[line]])]
}

const createChecksTable = (checks: readonly (readonly [CheckName, SeverityCounts])[]): readonly TextLine[] => {
  const number = (value: number): string => (value === 0 ? '-' : formatCount(value))
  return renderTable(
    [
      { title: 'check', align: 'left', cell: ([name]) => name },
      { title: 'errors', align: 'right', cell: ([, { error }]) => number(error), style: ([, { error }]) => (error > 0 ? 'red' : 'dim') },
      {
        title: 'warnings',
        align: 'right',
        cell: ([, { warning }]) => number(warning),
        style: ([, { warning }]) => (warning > 0 ? 'yellow' : 'dim'),
      },
      { title: 'info', align: 'right', cell: ([, { info }]) => number(info), style: ([, { info }]) => (info > 0 ? undefined : 'dim') },
    ],
    checks,
  )
}

const MAX_YEARS_SHOWN = 5

const createCoverageTable = (coverage: readonly YearCoverage[]): readonly TextLine[] =>
  coverage.length === 0
    ? []
    : [
        [],
        ...renderTable(
          [
            { title: 'year', align: 'left', cell: ({ year }) => String(year) },
            { title: 'sessions', align: 'right', cell: ({ sessions }) => formatCount(sessions) },
            { title: 'stocks', align: 'right', cell: ({ stocks }) => formatCount(stocks) },
            { title: 'candles', align: 'right', cell: ({ candles }) => formatCount(candles) },
            { title: 'coverage', align: 'right', cell: ({ share }) => `${(share * 100).toFixed(1)} %` },
          ],
          coverage.slice(0, MAX_YEARS_SHOWN),
        ),
      ]

const formatCheckFindings = (check: CheckName, findings: readonly Finding[], columns: number): readonly TextLine[] => {
  const own = findings.filter((finding) => finding.check === check)
  const rest = own.length - MAX_FINDINGS_SHOWN
  const lines = [
    ...own.slice(0, MAX_FINDINGS_SHOWN).map((finding) => `  ${describeSubject(finding)}: ${clean(finding.detail)}`),
    ...(rest > 0 ? [`  and ${formatCount(rest)} more (--json shows all)`] : []),
  ]
  const [title = '', ...more] = wrap(`${check}: ${CHECKS[check]}`, columns)
  return [
    [],
    [[check, 'bold'], [title.slice(check.length)]],
    ...[...more, ...lines.flatMap((line) => wrap(line, columns))].map((line): TextLine => [[line]]),
  ]
}

/** The subject of a finding: the stock and its day, the file, or the day alone. */
const describeSubject = ({ check, symbol, day, file }: Finding): string =>
  clean([check === 'files' ? (file ?? symbol) : (symbol ?? file), day].filter((part) => part !== undefined).join(' ') || 'folder')

const formatTexts = (title: string, texts: readonly string[], columns: number): readonly TextLine[] =>
  texts.length === 0
    ? []
    : [[], [[title, 'bold']], ...texts.flatMap((text) => wrap(`  ${clean(text)}`, columns)).map((line): TextLine => [[line]])]
