import { join } from 'node:path'
import { z } from 'zod'
import { listTables, type StreamDefinition } from '../../engine/define-stream.js'
import { UsageError } from '../../model/errors.js'
import type { WatchRule } from '../../model/settings.js'
import { WatchRule as WatchRuleSchema } from '../../model/settings.js'
import { findClosest, suggest } from '../../model/text.js'
import { readStateDocument, writeFileAtomically } from '../../storage/file-system.js'
import { statePaths } from '../../storage/run-state.js'
import { resolveQuery } from '../saved-queries.js'
import { listViews } from '../views/index.js'
import { workedRules } from './worked-rules.js'

/** A rule whose statement is known. */
export interface ResolvedRule extends WatchRule {
  readonly sql: string
}

const StoredRules = z.array(WatchRuleSchema)

/** Where the rules that a command added are stored. */
const rulesPath = (root: string): string => join(statePaths(root).watch, 'rules.json')

/** The rules that were added to a folder. @throws UsageError if their file is damaged */
export const readAddedRules = async (root: string): Promise<readonly WatchRule[]> => {
  const document = await readStateDocument(rulesPath(root))
  const parsed = StoredRules.safeParse(document ?? [])
  if (parsed.success) return parsed.data
  throw new UsageError(`${rulesPath(root)} is damaged; restore or delete it`)
}

/** The rules of the settings and those of the folder; of two with one name that of the settings. */
export const listRules = async (root: string, settings: readonly WatchRule[]): Promise<readonly WatchRule[]> => {
  const names = new Set(settings.map(({ name }) => name))
  return [...settings, ...(await readAddedRules(root)).filter(({ name }) => !names.has(name))]
}

export const writeAddedRules = async (root: string, rules: readonly WatchRule[]): Promise<void> =>
  void (await writeFileAtomically(rulesPath(root), [`${JSON.stringify(rules, undefined, 2)}\n`]))

/** The worked rules whose columns the tables have. */
export const listWorkedRules = (streams: readonly StreamDefinition[]) => {
  const tables = listTables(streams)
  const known = new Set([...tables, ...listViews(tables)].flatMap(({ name, columns }) => columns.map((column) => `${name}.${column.name}`)))
  return workedRules.filter(({ needs = [] }) => needs.every((column) => known.has(column)))
}

/**
 * The statement of a rule: that of a worked rule, of a saved or of a worked query if it is a name, else the text itself. Key and selection of a
 * worked rule hold where the rule has none of its own.
 *
 * @throws UsageError for an unknown name
 */
export const resolveRule = async (rule: WatchRule, root: string): Promise<ResolvedRule> => {
  const worked = workedRules.find(({ name }) => name === rule.query.trim())
  if (worked === undefined) return { ...rule, sql: trimStatement(await resolveQuery(rule.query, root)) }
  return { ...rule, key: rule.key ?? worked.key, only: rule.only ?? worked.only, sql: worked.sql }
}

/** As a part of another statement it has no end of its own. */
const trimStatement = (sql: string): string => sql.replace(/[\s;]+$/, '')

/** The rule that a name and a statement mean; without a statement, a worked one. @throws UsageError for an unknown or unusable one */
export const findWorkedRule = (name: string, streams: readonly StreamDefinition[]): string => {
  const worked = workedRules.find((one) => one.name === name)
  if (worked === undefined) {
    const near = findClosest(
      name,
      workedRules.map((one) => one.name),
    )
    throw new UsageError(`unknown rule: ${name}${suggest(near)}; give a statement, or the name of a worked rule`)
  }
  if (listWorkedRules(streams).includes(worked)) return name
  throw new UsageError(`${name} needs the column ${worked.needs?.join(' and ')}, which no stream of this folder provides`)
}
