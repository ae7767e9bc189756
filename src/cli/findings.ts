import type { Verification } from '../analysis/verify/finding.js'
import { CHECKS, type CheckName, type Finding } from '../analysis/verify/finding.js'
import { formatMinute } from '../model/trading-day.js'
import { formatCount, formatDuration, formatQuantity } from './format.js'
import { renderTable } from './table.js'
import type { Style, TextLine } from './terminal.js'
import { clean, wrap } from './text.js'

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
  { folder, stocks, files, candles, sessions, findings, asOf }: Verification,
  { columns, tookMs }: FindingsContext,
): readonly TextLine[] => {
  const hasErrors = findings.some(({ severity }) => severity === 'error')
  const [word, style]: [string, Style] = hasErrors ? ['Errors', 'red'] : findings.length > 0 ? ['Review', 'yellow'] : ['OK', 'green']
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
