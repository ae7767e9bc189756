import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { isRow, type Row } from '../../model/row.js'
import type { Day } from '../../model/trading-day.js'
import { appendLine, createFolder, listNames, readTextFile } from '../../storage/file-system.js'
import { byDay, formatWithDigest } from '../../storage/history/record.js'
import { statePaths } from '../../storage/run-state.js'
import {
  applyCooldown,
  indexRows,
  type RowChanges,
  type RuleFacts,
  type Signal,
  toSignals,
} from './signals.js'
import type { ResolvedRule } from './watch-rules.js'

/** What a rule found on a session: a line of its record, which is only ever appended to. */
export interface Evaluation extends RowChanges {
  readonly rule: RuleFacts
  /** The digest of its statement, key and selection: after another one the rule begins anew. */
  readonly version: string
  readonly day: Day
  /** ISO 8601; absent in a replay. */
  readonly knownAt?: string
  /** Whether the rows are the first ones, which are no signals. */
  readonly isFirst?: true
  /** Why the rule has no rows of this session; it is asked again. */
  readonly error?: string
}

export const versionOf = ({ sql, key, only }: ResolvedRule): string =>
  createHash('sha256')
    .update(JSON.stringify([sql, key, only]))
    .digest('hex')
    .slice(0, 16)

const LINES = '.ndjson'
const recordPath = (root: string, rule: string): string => join(statePaths(root).watch, `${rule}${LINES}`)

export const appendEvaluation = async (root: string, evaluation: Evaluation): Promise<void> => {
  await createFolder(statePaths(root).watch)
  await appendLine(
    recordPath(root, evaluation.rule.name),
    formatWithDigest('evaluation', evaluation).trimEnd(),
  )
}

/** The evaluations of a rule, oldest first. A line that a kill has cut, or that is damaged, is left out. */
export const readEvaluations = async (root: string, rule: string): Promise<readonly Evaluation[]> => {
  const text = (await readTextFile(recordPath(root, rule))) ?? ''
  return text.split('\n').flatMap((line): readonly Evaluation[] => {
    try {
      const { evaluation } = JSON.parse(line) as { readonly evaluation: Evaluation }
      return isRow(evaluation) && formatWithDigest('evaluation', evaluation).trimEnd() === line
        ? [evaluation]
        : []
    } catch {
      return []
    }
  })
}

/** Brings the rows of a rule from one evaluation to the next. */
export const applyEvaluation = (
  rows: Map<string, Row>,
  { rule, entered, left, changed }: Evaluation,
): Map<string, Row> => {
  for (const key of indexRows(left, rule).keys()) rows.delete(key)
  for (const [key, row] of indexRows([...entered, ...changed.map(([, to]) => to)], rule)) rows.set(key, row)
  return rows
}

/** Which signals: from a day, or of the newest session that any rule was asked about, until another one. */
interface SignalDays {
  readonly since?: Day | 'newest' | undefined
  readonly until?: Day | undefined
}

/** The recorded signals of a folder, by day and rule, also of rules that were removed. Reads no table. */
export const readSignals = async (
  root: string,
  { since = '', until = '9999' }: SignalDays = {},
): Promise<readonly Signal[]> => {
  const names = (await listNames(statePaths(root).watch)).filter((name) => name.endsWith(LINES)).sort()
  const rules: (readonly Evaluation[])[] = []
  for (const name of names) {
    const evaluations = await readEvaluations(root, name.slice(0, -LINES.length))
    rules.push(evaluations.filter(({ day }) => day <= until))
  }
  const days = rules.flat().flatMap(({ error, day }) => (error === undefined ? [day] : []))
  const first = since === 'newest' ? (days.sort().at(-1) ?? '') : since
  return listSignals(rules).filter(({ day }) => day >= first)
}

/** The signals of the evaluations of some rules, by day and rule. */
export const listSignals = (rules: readonly (readonly Evaluation[])[]): readonly Signal[] =>
  rules
    .flatMap((all) => {
      const evaluations = all.filter(({ error }) => error === undefined)
      const signals = evaluations.flatMap((one) => (one.isFirst ? [] : toSignals(one.rule, one, one)))
      const days = [...new Set(evaluations.map(({ day }) => day))]
      return applyCooldown(signals, evaluations.at(-1)?.rule ?? {}, days)
    })
    .sort(byDay)
