import { CHECKS, checkNames, severities, type TrackedFinding } from '../../analysis/verify/finding.js'
import type { RecordedChecks } from '../../analysis/verify/recorded-checks.js'
import { omitUndefined } from '../../model/row.js'
import type { ChecksSummary, RunChecks } from '../api/runs.js'

const MAX_FINDINGS = 4

/** The findings in one sentence: how many, of how many kinds, how bad, and how many are new. */
export const summarizeChecks = ({ run, checkedAt, findings, accepted, stocks, files }: RecordedChecks): ChecksSummary => {
  const kinds = new Set(findings.map(({ check }) => check)).size
  const counts = severities.flatMap((severity) => {
    const own = findings.filter((finding) => finding.severity === severity).length
    return own === 0 ? [] : [severity === 'info' ? `${own} for information` : count(own, severity)]
  })
  const fresh = findings.filter(isNew).length
  const found =
    findings.length === 0
      ? `No findings in ${count(files, 'file')} of ${count(stocks, 'stock')}`
      : `${count(findings.length, 'finding')} of ${count(kinds, 'kind')}: ${counts.join(', ')}; ${fresh === 0 ? 'none' : fresh} new`
  const worst = severities.find((severity) => findings.some((finding) => finding.severity === severity))
  const tone = worst === 'error' ? 'failed' : worst === 'warning' ? 'waiting' : 'ok'
  return { run, tone, text: `${found}${accepted === 0 ? '' : ` (${accepted} accepted earlier)`}`, checkedAt }
}

const count = (value: number, noun: string): string => `${value.toLocaleString('en-IN')} ${noun}${value === 1 ? '' : 's'}`

const isNew = ({ state }: TrackedFinding): boolean => state === 'new'

/** The findings by check, the first few of each; `listed` are the stocks that have a page. */
export const describeChecks = (checks: RecordedChecks, listed: ReadonlySet<string>): Pick<RunChecks, 'kinds' | 'notes'> => {
  return {
    kinds: checkNames.flatMap((check) => {
      const own = checks.findings.filter((finding) => finding.check === check)
      const ordered = [...own].sort((one, other) => Number(isNew(other)) - Number(isNew(one)))
      const findings = ordered.slice(0, MAX_FINDINGS).map((finding) => {
        const { symbol, file, day, detail } = finding
        const hasPage = symbol !== undefined && listed.has(symbol)
        const where = check === 'files' && symbol !== undefined && file !== undefined ? `${file}: ` : ''
        const text = `${where}${day === undefined || detail.includes(day) ? '' : `${day}: `}${detail}`
        return omitUndefined({ subject: symbol ?? file, hasPage, isNew: isNew(finding), detail: text })
      })
      return own.length === 0 ? [] : [{ check, about: CHECKS[check], count: own.length, findings }]
    }),
    notes: checks.notes.map((note) => `not checked: ${note}`),
  }
}
