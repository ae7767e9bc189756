import type { StreamDefinition } from '../../engine/define-stream.js'
import { formatError, UsageError } from '../../model/errors.js'
import { groupBy } from '../../model/map.js'
import type { Row } from '../../model/row.js'
import type { Day } from '../../model/trading-day.js'
import { runLimitedQuery } from '../limited-query.js'
import { indexRows } from './compare-rows.js'
import type { ResolvedRule } from './rules.js'

/** Where standing queries read. */
export interface WatchSource {
  /** The output folder. */
  readonly root: string
  readonly streams: readonly StreamDefinition[]
  readonly signal?: AbortSignal
}

/** The rows of a rule by their keys, or why it has none. */
export type RuleRows = ReadonlyMap<string, Row> | string

const LIMITS = { rows: 200_000, timeMs: 120_000, characters: 100_000_000 }

/** The rows of rules as of a recorded day, in their order. A rule that fails harms no other. */
export const readRuleRows = async (rules: readonly ResolvedRule[], asOf: Day, source: WatchSource): Promise<readonly RuleRows[]> => {
  const found = new Map<ResolvedRule, RuleRows>()
  const readGroup = async (group: readonly ResolvedRule[]): Promise<void> => {
    const rows = await readTogether(group, asOf, source).catch(formatError)
    if (typeof rows === 'string' && group.length > 1) for (const rule of group) await readGroup([rule])
    else for (const [place, rule] of group.entries()) found.set(rule, typeof rows === 'string' ? rows : (rows[place] ?? ''))
  }
  // Rules of one view are one statement, which computes the view once. Of rules of several views it would compute all their columns of each.
  for (const group of groupBy(rules, ({ sql }) => /\bfrom\s+([\w.]+)/i.exec(sql)?.[1] ?? '').values()) await readGroup(group)
  return rules.map((rule) => found.get(rule) ?? '')
}

const readTogether = async (rules: readonly ResolvedRule[], asOf: Day, { root, streams, signal }: WatchSource) => {
  const parts = rules.map(({ sql }, place) => `SELECT ${place} AS place, to_json(q) AS row FROM (\n${sql}\n) AS q`)
  const request = { sql: parts.join('\nUNION ALL '), root, streams, asOf }
  const found = await runLimitedQuery(request, LIMITS, signal ?? new AbortController().signal)
  if (found.isCut) throw new UsageError(`more than ${LIMITS.rows} rows; select less`)
  const rows = rules.map((): Row[] => [])
  for (const [place, row] of found.rows) rows[Number(place)]?.push(JSON.parse(row ?? '{}') as Row)
  return rules.map((rule, place) => indexRows(rows[place] ?? [], rule))
}
