import { CHECKS, type CheckName, checkNames, type Finding, type Severity } from './finding.js'

/** How many findings the settings allow, by check, `errors` or `warnings`. */
export type FindingLimits = Readonly<Record<string, number>>

/** An exceeded limit. */
export interface ExceededLimit {
  readonly limit: string
  readonly allowed: number
  readonly found: number
}

/** The result of the verification of a folder. */
export interface Verification {
  readonly folder: string
  /** The run of the folder's report, and its "now". */
  readonly run?: string
  readonly asOf?: string
  readonly stocks: number
  readonly files: number
  readonly candles: number
  /** The market's sessions, derived from its candles. */
  readonly sessions: { readonly count: number; readonly last?: string }
  /** What could not be checked, and why. */
  readonly notes: readonly string[]
  readonly counts: Readonly<Partial<Record<CheckName, Readonly<Record<Severity, number>>>>>
  readonly findings: readonly Finding[]
  /** The exceeded limits; the command exits with 4 if there is one. */
  readonly passed: readonly ExceededLimit[]
}

/** Findings in the order of checks, then of severity, symbols and days. */
export const sortFindings = (findings: readonly Finding[]): readonly Finding[] => {
  const rank = ({ check, severity }: Finding): number => checkNames.indexOf(check) * 3 + ['error', 'warning', 'info'].indexOf(severity)
  const key = ({ symbol = '', day = '', file = '' }: Finding): string => `${symbol}\n${day}\n${file}`
  return [...findings].sort((one, other) => rank(one) - rank(other) || (key(one) < key(other) ? -1 : key(one) > key(other) ? 1 : 0))
}

export const countFindings = (findings: readonly Finding[], checks: readonly CheckName[]): Verification['counts'] =>
  Object.fromEntries(
    checks.map((check) => {
      const own = findings.filter((finding) => finding.check === check)
      const count = (severity: Severity): number => own.filter((finding) => finding.severity === severity).length
      return [check, { error: count('error'), warning: count('warning'), info: count('info') }]
    }),
  )

/** The limits that the findings exceed. */
export const findExceededLimits = (findings: readonly Finding[], limits: FindingLimits): readonly ExceededLimit[] =>
  Object.entries(limits).flatMap(([limit, allowed]) => {
    const counts =
      limit === 'errors' ? hasSeverity('error') : limit === 'warnings' ? hasSeverity('warning') : ({ check }: Finding) => check === limit
    const found = findings.filter(counts).length
    return found > allowed ? [{ limit, allowed, found }] : []
  })

const hasSeverity =
  (severity: Severity) =>
  (finding: Finding): boolean =>
    finding.severity === severity

/** The names that a limit may have. */
export const limitNames: readonly string[] = ['errors', 'warnings', ...Object.keys(CHECKS)]
