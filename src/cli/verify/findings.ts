import { CHECKS, type CheckName, type Finding, type Verification, type YearCoverage } from '../../analysis/verify/finding.js'
import { formatMinute } from '../../model/trading-day.js'
import { formatCount, formatDuration, formatQuantity } from '../terminal/format.js'
import { renderFittingTable, type Style, type TextLine, wrapLines, wrapTitled } from '../terminal/terminal.js'
import { clean } from '../terminal/text.js'

/** Findings shown of each check, unless `--limit` changes it; `--json` has all. */
const DEFAULT_LIMIT = 4

interface FindingsContext {
  readonly columns: number
  readonly tookMs: number
  /** How many findings are shown of each check. */
  readonly limit?: number | undefined
}

/** Formats the findings for people: a table of the checks with findings, the first findings of each, and what was not checked. */
export const findingLines = (
  verification: Verification,
  { columns, tookMs, limit = DEFAULT_LIMIT }: FindingsContext,
): readonly TextLine[] => {
  const checks = (Object.entries(verification.counts) as [CheckName, SeverityCounts][]).filter(([, counts]) => sumSeverities(counts) > 0)
  return [
    ...formatFindingsHead(verification, { columns, tookMs }),
    ...(checks.length === 0 ? [] : [[], ...createChecksTable(checks, columns)]),
    ...checks.flatMap(([check]) => formatCheckFindings(check, verification.findings, { columns, limit })),
    ...formatBaseline(verification, { columns, limit }),
    ...createCoverageTable(verification.coverage, columns),
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
  { folder, stocks, files, candles, sessions, history, findings, accepted, notes, asOf }: Verification,
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
  const what = `${formatQuantity(stocks, 'stock')}, ${formatQuantity(files, 'file')}, ${formatQuantity(candles, 'candle')}${until}, ${formatQuantity(history.days, 'recorded day')}`
  const run = asOf === undefined ? '' : `, as of ${formatMinute(Date.parse(asOf))}`
  const isNew = accepted.length > 0 ? 'new ' : ''
  const count = findings.length === 0 ? `no ${isNew}findings` : formatQuantity(findings.length, `${isNew}finding`)
  const found = accepted.length > 0 ? `${count} (${formatCount(accepted.length)} accepted)` : count
  return wrapTitled([word, style], `: ${found} in ${clean(folder)}${run} (${what}; ${formatDuration(tookMs)}).`, columns)
}

const createChecksTable = (checks: readonly (readonly [CheckName, SeverityCounts])[], columns: number): readonly TextLine[] => {
  const number = (value: number): string => (value === 0 ? '-' : formatCount(value))
  return renderFittingTable(
    [
      { title: 'check', align: 'left', cell: ([name]) => name },
      { title: 'errors', align: 'right', cell: ([, { error }]) => number(error), style: ([, { error }]) => (error > 0 ? 'red' : 'dim') },
      {
        title: 'warnings',
        align: 'right',
        cell: ([, { warning }]) => number(warning),
        style: ([, { warning }]) => (warning > 0 ? 'yellow' : 'dim'),
      },
      {
        title: 'info',
        drop: 1,
        align: 'right',
        cell: ([, { info }]) => number(info),
        style: ([, { info }]) => (info > 0 ? undefined : 'dim'),
      },
    ],
    checks,
    columns,
  )
}

const MAX_YEARS_SHOWN = 5

const createCoverageTable = (coverage: readonly YearCoverage[], columns: number): readonly TextLine[] =>
  coverage.length === 0
    ? []
    : [
        [],
        ...renderFittingTable(
          [
            { title: 'year', align: 'left', cell: ({ year }) => String(year) },
            { title: 'sessions', align: 'right', cell: ({ sessions }) => formatCount(sessions) },
            { title: 'stocks', drop: 2, align: 'right', cell: ({ stocks }) => formatCount(stocks) },
            { title: 'candles', drop: 1, align: 'right', cell: ({ candles }) => formatCount(candles) },
            { title: 'coverage', align: 'right', cell: ({ share }) => `${(share * 100).toFixed(1)} %` },
          ],
          coverage.slice(0, MAX_YEARS_SHOWN),
          columns,
        ),
      ]

const REPAIR = '  To repair: restore the files, or delete them and run "scripstream run --fresh".'

const formatCheckFindings = (
  check: CheckName,
  findings: readonly Finding[],
  { columns, limit }: { readonly columns: number; readonly limit: number },
): readonly TextLine[] => {
  const own = findings.filter((finding) => finding.check === check)
  const isRepairable = check === 'files' && own.some(({ severity, file = '' }) => severity === 'error' && !file.startsWith('.scripstream'))
  const lines = [...listFindings(own, limit), ...(isRepairable ? [REPAIR] : [])]
  return [[], ...wrapTitled([check, 'bold'], `: ${CHECKS[check]}`, columns), ...lines.flatMap((line) => wrapLines(line, columns))]
}

/** The most important findings, and how many more there are. */
const listFindings = (findings: readonly Finding[], limit: number): readonly string[] => {
  const rest = findings.length - limit
  return [
    ...findings.slice(0, limit).map((finding) => `  ${describeSubject(finding)}: ${clean(finding.detail)}`),
    ...(rest > 0 ? [`  and ${formatCount(rest)} more (--json shows all)`] : []),
  ]
}

/** What was accepted now, and what was accepted earlier but is no longer found. */
const formatBaseline = (
  { changed, stale }: Verification,
  { columns, limit }: { readonly columns: number; readonly limit: number },
): readonly TextLine[] => {
  const now = changed && [
    `  ${formatQuantity(changed.added, 'finding')} accepted, ${formatCount(changed.removed)} no longer found and removed: .scripstream/accepted-findings.json`,
  ]
  return [
    ...formatTexts('Accepted', now ?? [], columns),
    ...formatTexts('Accepted earlier, no longer found (--accept removes them)', listStale(stale, limit), columns),
  ]
}

const listStale = (stale: Verification['stale'], limit: number): readonly string[] =>
  listFindings(
    stale.map((entry) => ({ ...entry, detail: `${entry.check}, accepted ${entry.accepted}${entry.reason ? `: ${entry.reason}` : ''}` })),
    limit,
  )

/** The subject of a finding: the stock and its day, the file, or the day alone. */
const describeSubject = ({ check, symbol, day, file }: Finding): string =>
  clean([check === 'files' ? (file ?? symbol) : (symbol ?? file), day].filter((part) => part !== undefined).join(' ') || 'folder')

const formatTexts = (title: string, texts: readonly string[], columns: number): readonly TextLine[] =>
  texts.length === 0 ? [] : [[], [[title, 'bold']], ...texts.flatMap((text) => wrapLines(`  ${clean(text)}`, columns))]
