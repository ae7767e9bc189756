import { toFindingKey } from '../../analysis/verify/baseline.js'
import { CHECKS, checkNames, type Finding, severities } from '../../analysis/verify/finding.js'
import type { RecordedChecks } from '../../analysis/verify/recorded-checks.js'
import { omitUndefined } from '../../model/row.js'
import type { ChecksSummary, RunChecks } from '../api/runs.js'

const MAX_FINDINGS = 4

/** Checks of an earlier day, with which those of a run are compared. */
export interface EarlierChecks {
  readonly day: string
  readonly checks: RecordedChecks
}

/** The findings in one sentence: how many, of how many kinds, how bad, and how many are new. */
export const summarizeChecks = (checks: RecordedChecks, earlier: EarlierChecks | undefined): ChecksSummary => {
  const { run, checkedAt, findings, accepted, stocks, files } = checks
  const kinds = new Set(findings.map(({ check }) => check)).size
  const counts = severities.flatMap((severity) => {
    const own = findings.filter((finding) => finding.severity === severity).length
    return own === 0 ? [] : [severity === 'info' ? `${own} for information` : count(own, severity)]
  })
  const fresh = earlier && findNew(findings, earlier.checks).size
  const isNew = fresh === undefined ? '' : `; ${fresh === 0 ? 'none' : fresh} new since ${earlier?.day}`
  const found =
    findings.length === 0
      ? `No findings in ${count(files, 'file')} of ${count(stocks, 'stock')}`
      : `${count(findings.length, 'finding')} of ${count(kinds, 'kind')}: ${counts.join(', ')}${isNew}`
  const worst = severities.find((severity) => findings.some((finding) => finding.severity === severity))
  const tone = worst === 'error' ? 'failed' : worst === 'warning' ? 'waiting' : 'ok'
  return { run, tone, text: `${found}${accepted === 0 ? '' : ` (${accepted} accepted earlier)`}`, checkedAt }
}

const count = (value: number, noun: string): string => `${value.toLocaleString('en-IN')} ${noun}${value === 1 ? '' : 's'}`

/** The findings that the earlier checks did not have. */
const findNew = (findings: readonly Finding[], earlier: RecordedChecks): ReadonlySet<Finding> => {
  const known = new Set(earlier.findings.map(toFindingKey))
  return new Set(findings.filter((finding) => !known.has(toFindingKey(finding))))
}

/** The findings by check, the first few of each; `listed` are the stocks that have a page. */
export const describeChecks = (
  checks: RecordedChecks,
  earlier: EarlierChecks | undefined,
  listed: ReadonlySet<string>,
): Pick<RunChecks, 'kinds' | 'notes'> => {
  const fresh = earlier === undefined ? new Set() : findNew(checks.findings, earlier.checks)
  return {
    kinds: checkNames.flatMap((check) => {
      const own = checks.findings.filter((finding) => finding.check === check)
      const ordered = [...own.filter((finding) => fresh.has(finding)), ...own.filter((finding) => !fresh.has(finding))]
      const findings = ordered.slice(0, MAX_FINDINGS).map((finding) => {
        const { symbol, file, day, detail } = finding
        const hasPage = symbol !== undefined && listed.has(symbol)
        const where = check === 'files' && symbol !== undefined && file !== undefined ? `${file}: ` : ''
        const text = `${where}${day === undefined || detail.includes(day) ? '' : `${day}: `}${detail}`
        return omitUndefined({ subject: symbol ?? file, hasPage, isNew: fresh.has(finding), detail: text })
      })
      return own.length === 0 ? [] : [{ check, about: CHECKS[check], count: own.length, findings }]
    }),
    notes: [
      ...(earlier === undefined && checks.findings.length > 0 ? ['which findings are new is unknown: no earlier day was checked'] : []),
      ...checks.notes.map((note) => `not checked: ${note}`),
    ],
  }
}
