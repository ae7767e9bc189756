import { join } from 'node:path'
import { z } from 'zod'
import { UsageError } from '../../model/errors.js'
import { WatchRule } from '../../model/settings.js'
import { readStateDocument, writeFileAtomically } from '../../storage/file-system.js'
import { statePaths } from '../../storage/run-state.js'
import { resolveQuery } from '../saved-queries.js'
import { workedRules } from './worked-rules.js'

/** A rule whose statement is known. */
export interface ResolvedRule extends WatchRule {
  readonly sql: string
}

/** The rules that a command added to a folder. */
const rulesPath = (root: string): string => join(statePaths(root).watch, 'rules.json')

/** @throws UsageError if the file is damaged */
export const readAddedRules = async (root: string): Promise<readonly WatchRule[]> => {
  const parsed = z.array(WatchRule).safeParse((await readStateDocument(rulesPath(root))) ?? [])
  if (parsed.success) return parsed.data
  throw new UsageError(`${rulesPath(root)} is damaged; restore or delete it`)
}

export const writeAddedRules = async (root: string, rules: readonly WatchRule[]): Promise<void> =>
  void (await writeFileAtomically(rulesPath(root), [`${JSON.stringify(rules, undefined, 2)}\n`]))

/** The rules of the settings and those of the folder; of two with one name that of the settings. */
export const listRules = async (root: string, settings: readonly WatchRule[]): Promise<readonly WatchRule[]> => [
  ...settings,
  ...(await readAddedRules(root)).filter(({ name }) => settings.every((one) => one.name !== name)),
]

/**
 * The statement of a rule: that of a worked rule, of a saved or of a worked query if it is a name, else the text itself. Key and selection of a
 * worked rule hold where the rule has none of its own.
 *
 * @throws UsageError for an unknown name
 */
export const resolveRule = async (rule: WatchRule, root: string): Promise<ResolvedRule> => {
  const worked = workedRules.find(({ name }) => name === rule.query.trim())
  if (worked) return { ...rule, key: rule.key ?? worked.key, only: rule.only ?? worked.only, sql: worked.sql }
  // As a part of another statement it has no end of its own.
  return { ...rule, sql: (await resolveQuery(rule.query, root, workedRules)).replace(/[\s;]+$/, '') }
}
