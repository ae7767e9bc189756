import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { isRow, type Row } from '../../model/row.js'
import type { Day } from '../../model/trading-day.js'
import { appendLine, createFolder, listNames, readTextFile } from '../../storage/file-system.js'
import { formatWithDigest } from '../../storage/history/record.js'
import { statePaths } from '../../storage/run-state.js'
import {
  applyCooldown,
  indexRows,
  type RowChanges,
  type RuleFacts,
  type Signal,
  toSignals,
} from './compare-rows.js'
import type { ResolvedRule } from './rules.js'

/** What a rule found on a session: a line of its record, which is only ever appended to. */
export interface Evaluation extends RowChanges {
  readonly rule: RuleFacts
  /** The digest of its statement, key and selection: after another one the rule begins anew. */
  readonly version: string
  readonly day: Day
  /** ISO 8601. */
  readonly knownAt: string
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

/** The rows of a rule after its evaluations. */
export const replayRows = (evaluations: readonly Evaluation[]): ReadonlyMap<string, Row> => {
  const rows = new Map<string, Row>()
  for (const { rule, entered, left, changed } of evaluations) {
    for (const key of indexRows(left, rule).keys()) rows.delete(key)
    for (const [key, row] of indexRows([...entered, ...changed.map(([, to]) => to)], rule)) rows.set(key, row)
  }
  return rows
}

/** Which signals: from a day, or of the newest session that any rule was asked about, until another one. */
export interface SignalDays {
  readonly since?: Day | 'newest' | undefined
  readonly until?: Day | undefined
}

/** The recorded signals of a folder, by day and rule, also of rules that were removed. Reads no table. */
export const readSignals = async (
  root: string,
  { since = '', until = '9999' }: SignalDays = {},
): Promise<readonly Signal[]> => {
  const names = (await listNames(statePaths(root).watch)).filter((name) => name.endsWith(LINES)).sort()
  const all: Signal[] = []
  const days: Day[] = []
  for (const name of names) {
    const evaluations = (await readEvaluations(root, name.slice(0, -LINES.length))).filter(
      ({ error, day }) => !error && day <= until,
    )
    const own = [...new Set(evaluations.map(({ day }) => day))]
    const signals = evaluations.flatMap((one) =>
      one.isFirst ? [] : toSignals(one.rule, one, { day: one.day, knownAt: one.knownAt }),
    )
    all.push(...applyCooldown(signals, evaluations.at(-1)?.rule ?? {}, own))
    days.push(...own)
  }
  const first = since === 'newest' ? (days.sort().at(-1) ?? '') : since
  return all
    .filter(({ day }) => day >= first)
    .sort((one, other) => (one.day < other.day ? -1 : one.day > other.day ? 1 : 0))
}
