import { CHECKS, type CheckName, type Finding } from '../checks/finding.js'
import type { Verification } from '../checks/verification.js'
import { minuteAt } from '../model/trading-day.js'
import { formatCount, formatDuration, formatQuantity } from './format.js'
import { tableOf } from './table.js'
import type { Line, Style } from './terminal.js'
import { clean, wrap } from './text.js'

/** Findings shown of each check; `--json` has all. */
const SHOWN = 4

interface Shown {
  readonly columns: number
  readonly tookMs: number
}

/** Formats the findings for people: a table of the checks with findings, the first findings of each, and what was not checked. */
export const findingLines = (verification: Verification, { columns, tookMs }: Shown): readonly Line[] => {
  const checks = (Object.entries(verification.counts) as [CheckName, Counts][]).filter(([, counts]) => sumOf(counts) > 0)
  return [
    ...headLines(verification, { columns, tookMs }),
    ...(checks.length === 0 ? [] : [[], ...tableOfChecks(checks)]),
    ...checks.flatMap(([check]) => checkLines(check, verification.findings, columns)),
    ...section('Not checked', verification.notes, columns),
    ...section(
      'Limits exceeded',
      verification.passed.map(({ limit, allowed, found }) => `${limit}: ${formatCount(found)} found, ${formatCount(allowed)} allowed`),
      columns,
    ),
  ]
}

interface Counts {
  readonly error: number
  readonly warning: number
  readonly info: number
}

const sumOf = ({ error, warning, info }: Counts): number => error + warning + info

const headLines = (
  { folder, stocks, files, candles, sessions, findings, asOf }: Verification,
  { columns, tookMs }: Shown,
): readonly Line[] => {
  const hasErrors = findings.some(({ severity }) => severity === 'error')
  const [word, style]: [string, Style] = hasErrors ? ['Errors', 'red'] : findings.length > 0 ? ['Review', 'yellow'] : ['OK', 'green']
  const until = sessions.last === undefined ? '' : ` of ${formatQuantity(sessions.count, 'session')} to ${sessions.last}`
  const what = `${formatQuantity(stocks, 'stock')}, ${formatQuantity(files, 'file')}, ${formatQuantity(candles, 'candle')}${until}`
  const run = asOf === undefined ? '' : `, as of ${minuteAt(Date.parse(asOf))}`
  const found = findings.length === 0 ? 'no findings' : formatQuantity(findings.length, 'finding')
  const text = `${word}: ${found} in ${clean(folder)}${run} (${what}; ${formatDuration(tookMs)}).`
  const [first = '', ...more] = wrap(text, columns)
  return [[[word, style], [first.slice(word.length)]], ...more.map((line): Line => [[line]])]
}

const tableOfChecks = (checks: readonly (readonly [CheckName, Counts])[]): readonly Line[] => {
  const number = (value: number): string => (value === 0 ? '-' : formatCount(value))
  return tableOf(
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

const checkLines = (check: CheckName, findings: readonly Finding[], columns: number): readonly Line[] => {
  const own = findings.filter((finding) => finding.check === check)
  const rest = own.length - SHOWN
  const lines = [
    ...own.slice(0, SHOWN).map((finding) => `  ${nameOf(finding)}: ${clean(finding.detail)}`),
    ...(rest > 0 ? [`  and ${formatCount(rest)} more (--json shows all)`] : []),
  ]
  const [title = '', ...more] = wrap(`${check}: ${CHECKS[check]}`, columns)
  return [
    [],
    [[check, 'bold'], [title.slice(check.length)]],
    ...[...more, ...lines.flatMap((line) => wrap(line, columns))].map((line): Line => [[line]]),
  ]
}

/** The subject of a finding: the stock and its day, the file, or the day alone. */
const nameOf = ({ check, symbol, day, file }: Finding): string =>
  clean([check === 'files' ? (file ?? symbol) : (symbol ?? file), day].filter((part) => part !== undefined).join(' ') || 'folder')

const section = (title: string, texts: readonly string[], columns: number): readonly Line[] =>
  texts.length === 0
    ? []
    : [[], [[title, 'bold']], ...texts.flatMap((text) => wrap(`  ${clean(text)}`, columns)).map((line): Line => [[line]])]
