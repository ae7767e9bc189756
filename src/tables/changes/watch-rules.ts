import { join } from 'node:path'
import { z } from 'zod'
import { UsageError } from '../../model/errors.js'
import { type ROW_CHANGES, WatchRule } from '../../model/settings.js'
import { readStateDocument, writeFileAtomically } from '../../storage/file-system.js'
import { statePaths } from '../../storage/run-state.js'
import { resolveQuery } from '../saved-queries.js'
import { type NamedQuery, OF_NEWEST_SESSION } from '../worked-queries.js'

/** A statement that is worth to stand. */
interface WorkedRule extends NamedQuery {
  readonly key: string[]
  readonly only: (typeof ROW_CHANGES)[number][]
}

const rule = (
  name: string,
  about: string,
  sql: string,
  key = ['isin'],
  only: WorkedRule['only'] = ['entered'],
): WorkedRule => ({
  name,
  about,
  sql,
  key,
  only,
})

/** Worked rules: to add by name, and to start from. */
export const workedRules: readonly WorkedRule[] = [
  rule(
    'asm-stages',
    'stocks that enter additional surveillance (ASM), leave it, or change their stage',
    "SELECT isin, symbol, stage FROM surveillance WHERE list = 'ASM'",
    ['isin'],
    ['entered', 'left', 'changed'],
  ),
  rule(
    'high-52w-delivery',
    'a new high of 52 weeks with more delivery than the average of 20 sessions; needs the column delivery_x',
    `SELECT isin, symbol, price_day, close_inr, round(delivery_x, 2) AS delivery_x FROM screener WHERE new_high_52w = 1 AND delivery_x > 1 ${OF_NEWEST_SESSION}`,
  ),
  rule(
    'profit-up',
    'results of a new quarter with a net profit at least 25 % above the year before',
    'SELECT isin, symbol, quarter, basis, net_profit_cr, net_profit_yoy_pct FROM quarters WHERE place = 0 AND net_profit_yoy_pct >= 25',
    ['isin', 'quarter', 'basis'],
  ),
  rule(
    'promoter-buys',
    'the share of the promoters is higher than the quarter before',
    'SELECT isin, symbol, day, promoter_pct, promoter_change_1q_pct FROM shareholding WHERE place = 0 AND promoter_change_1q_pct > 0',
    ['isin', 'day'],
  ),
  rule(
    'circuit-3-days',
    'at the same circuit limit on three recorded days in a row',
    `SELECT symbol, side FROM history.circuits
WHERE day IN (SELECT DISTINCT day FROM history.indices ORDER BY day DESC LIMIT 3) GROUP BY symbol, side HAVING count(DISTINCT day) = 3`,
    ['symbol', 'side'],
  ),
  rule(
    'band-changes',
    'price bands that differ from those of the session before',
    'SELECT symbol, series, band FROM bands',
    ['symbol', 'series'],
    ['changed'],
  ),
  rule(
    'new-listings',
    'stocks that are new in the list of equities',
    'SELECT isin, symbol, name, listed_on FROM listing_dates WHERE listed_on > (SELECT max(listed_on) FROM listing_dates) - 30',
  ),
  rule(
    'bulk-buys',
    'a bulk purchase of more than 0.5 % of the company by one client',
    `SELECT m.symbol, d.day, client, round(sum(value_cr), 2) AS value_cr, round(100 * sum(value_cr) / any_value(market_cap), 2) AS share_pct
FROM deals_valued AS d JOIN master_data AS m USING (isin) WHERE kind = 'BULK' AND side = 'B' AND d.day > (SELECT max(day) FROM deals_valued) - 7
GROUP BY m.symbol, d.day, client HAVING sum(value_cr) > 0.005 * any_value(market_cap)`,
    ['symbol', 'day', 'client'],
  ),
  rule(
    'golden-cross',
    'the average close of 50 sessions rises above that of 200',
    `SELECT isin, symbol, price_day, round(sma_50_inr, 2) AS sma_50, round(sma_200_inr, 2) AS sma_200 FROM screener WHERE sma_50_inr > sma_200_inr ${OF_NEWEST_SESSION}`,
  ),
  rule(
    'volume-x5',
    'at least five times the usual volume',
    `SELECT isin, symbol, price_day, round(rvol, 1) AS volume_times, round(change_pct, 2) AS change_pct FROM screener WHERE rvol >= 5 ${OF_NEWEST_SESSION}`,
  ),
]

export interface ResolvedRule extends WatchRule {
  readonly sql: string
}

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
export const listRules = async (
  root: string,
  settings: readonly WatchRule[],
): Promise<readonly WatchRule[]> => [
  ...settings,
  ...(await readAddedRules(root)).filter(({ name }) => settings.every((one) => one.name !== name)),
]

/**
 * The statement of a rule: that of a worked rule, of a saved or of a worked query if it is a name, else the
 * text itself. Key and selection of a worked rule hold where the rule has none of its own.
 *
 * @throws UsageError for an unknown name
 */
export const resolveRule = async (rule: WatchRule, root: string): Promise<ResolvedRule> => {
  const worked = workedRules.find(({ name }) => name === rule.query.trim())
  if (worked) return { ...rule, key: rule.key ?? worked.key, only: rule.only ?? worked.only, sql: worked.sql }
  // As a part of another statement it has no end of its own.
  return { ...rule, sql: (await resolveQuery(rule.query, root, workedRules)).replace(/[\s;]+$/, '') }
}
