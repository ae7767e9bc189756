import { CHECKS, type CheckName, checkNames, type Finding, type Severity } from './finding.js'

/** How many findings the settings allow, by check, `errors` or `warnings`. */
export type Limits = Readonly<Record<string, number>>

/** A limit that was passed. */
export interface Passed {
  readonly limit: string
  readonly allowed: number
  readonly found: number
}

/** What a folder was found to be like. */
export interface Verification {
  readonly folder: string
  /** The run that the folder's report is of, and the instant as of which it was made. */
  readonly run?: string
  readonly asOf?: string
  readonly stocks: number
  readonly files: number
  readonly candles: number
  /** The market's sessions as its own candles show them: how many, and the newest. */
  readonly sessions: { readonly count: number; readonly last?: string }
  /** What could not be judged, and why. */
  readonly notes: readonly string[]
  readonly counts: Readonly<Partial<Record<CheckName, Readonly<Record<Severity, number>>>>>
  readonly findings: readonly Finding[]
  /** The limits that were passed; the command ends with 4 if there is one. */
  readonly passed: readonly Passed[]
}

/** Findings in the order of checks, then of severity, symbols and days. */
export const inOrder = (findings: readonly Finding[]): readonly Finding[] => {
  const rank = ({ check, severity }: Finding): number => checkNames.indexOf(check) * 3 + ['error', 'warning', 'info'].indexOf(severity)
  const key = ({ symbol = '', day = '', file = '' }: Finding): string => `${symbol}\n${day}\n${file}`
  return [...findings].sort((one, other) => rank(one) - rank(other) || (key(one) < key(other) ? -1 : key(one) > key(other) ? 1 : 0))
}

export const countsOf = (findings: readonly Finding[], checks: readonly CheckName[]): Verification['counts'] =>
  Object.fromEntries(
    checks.map((check) => {
      const own = findings.filter((finding) => finding.check === check)
      const count = (severity: Severity): number => own.filter((finding) => finding.severity === severity).length
      return [check, { error: count('error'), warning: count('warning'), info: count('info') }]
    }),
  )

/** The limits that findings pass. */
export const passedLimits = (findings: readonly Finding[], limits: Limits): readonly Passed[] =>
  Object.entries(limits).flatMap(([limit, allowed]) => {
    const counts = limit === 'errors' ? isOf('error') : limit === 'warnings' ? isOf('warning') : ({ check }: Finding) => check === limit
    const found = findings.filter(counts).length
    return found > allowed ? [{ limit, allowed, found }] : []
  })

const isOf =
  (severity: Severity) =>
  (finding: Finding): boolean =>
    finding.severity === severity

/** What a limit may be set for. */
export const limitNames: readonly string[] = ['errors', 'warnings', ...Object.keys(CHECKS)]
