import type { StreamDefinition } from '../../engine/define-stream.js'
import { formatError, UsageError } from '../../model/errors.js'
import { formatNumber, formatQuantity } from '../../model/format.js'
import { groupBy } from '../../model/map.js'
import { omitUndefined, type Row } from '../../model/row.js'
import type { WatchRule } from '../../model/settings.js'
import type { Day } from '../../model/trading-day.js'
import { listListedDays } from '../../storage/history/choose.js'
import { byDay, openHistory } from '../../storage/history/record.js'
import { acquireLock } from '../../storage/lock.js'
import { statePaths } from '../../storage/run-state.js'
import { runLimitedQuery } from '../limited-query.js'
import { compareSessions, indexRows, type RowChanges, type Signal, type WatchChanges } from './signals.js'
import {
  appendEvaluation,
  applyEvaluation,
  type Evaluation,
  listSignals,
  readEvaluations,
  readSignals,
  versionOf,
} from './watch-record.js'
import { type ResolvedRule, resolveRule } from './watch-rules.js'

export interface WatchSource {
  readonly root: string
  readonly streams: readonly StreamDefinition[]
  readonly signal?: AbortSignal
}

/** The rows of a rule by their keys, or why it has none. */
type RuleRows = ReadonlyMap<string, Row> | string

const LIMITS = { rows: 200_000, timeMs: 120_000, characters: 100_000_000 }

/** The rows of rules as of a recorded day, in their order. A rule that fails harms no other. */
const readRuleRows = async (
  rules: readonly ResolvedRule[],
  asOf: Day,
  source: WatchSource,
): Promise<readonly RuleRows[]> => {
  const found = new Map<ResolvedRule, RuleRows>()
  const readGroup = async (group: readonly ResolvedRule[]) => {
    const rows = await readTogether(group, asOf, source).catch(formatError)
    if (typeof rows === 'string' && group.length > 1) for (const rule of group) await readGroup([rule])
    else
      for (const [place, rule] of group.entries())
        found.set(rule, typeof rows === 'string' ? rows : (rows[place] ?? ''))
  }
  // Rules of one view are one statement, which computes the view once. Of rules of several views it would
  // compute all their columns of each.
  for (const group of groupBy(rules, ({ sql }) => /\bfrom\s+([\w.]+)/i.exec(sql)?.[1] ?? '').values())
    await readGroup(group)
  return rules.map((rule) => found.get(rule) ?? '')
}

const readTogether = async (
  rules: readonly ResolvedRule[],
  asOf: Day,
  { root, streams, signal }: WatchSource,
) => {
  const parts = rules.map(
    ({ sql }, place) => `SELECT ${place} AS place, to_json(q) AS row FROM (\n${sql}\n) AS q`,
  )
  const request = { sql: parts.join('\nUNION ALL '), root, streams, asOf }
  const found = await runLimitedQuery(request, LIMITS, signal ?? new AbortController().signal)
  if (found.isCut) throw new UsageError(`more than ${formatNumber(LIMITS.rows)} rows; select less`)
  const rows = rules.map((): Row[] => [])
  for (const [place, row] of found.rows) rows[Number(place)]?.push(JSON.parse(row ?? '{}') as Row)
  return rules.map((rule, place) => indexRows(rows[place] ?? [], rule))
}

/** Sessions that no run asked about are asked about later, the newest of them. */
const MAX_LATE_DAYS = 20

/** What rules found, and which of them failed. */
export interface WatchResult {
  readonly signals: readonly Signal[]
  /** A sentence each. */
  readonly failures: readonly string[]
}

/** The recorded days of a folder, oldest first. */
export const listWatchDays = async (root: string): Promise<readonly Day[]> =>
  listListedDays(await openHistory(root))

const describeRuleFailures = (evaluations: readonly Evaluation[]): readonly string[] => {
  const failed = evaluations.filter(({ error }) => error !== undefined)
  return [...groupBy(failed, ({ rule }) => rule.name)].map(([rule, all]) => {
    const { day, error } = all.at(-1) as Evaluation
    return `${rule} failed on ${all.length === 1 ? day : `${all.length} days, last on ${day}`}: ${error}`
  })
}

/** Opens each rule that can be opened; `failures` says why the others cannot. */
const openEach = async <T>(
  rules: readonly WatchRule[],
  failures: string[],
  open: (rule: WatchRule) => Promise<T>,
): Promise<T[]> => {
  const opened: T[] = []
  for (const rule of rules) {
    try {
      opened.push(await open(rule))
    } catch (error) {
      failures.push(`${rule.name}: ${(error as Error).message}`)
    }
  }
  return opened
}

/** A rule, its rows so far, and the days that it is asked about. */
interface WatchedRule {
  readonly rule: ResolvedRule
  readonly rows: Map<string, Row>
  /** The newest day of its rows. */
  last: Day | undefined
  /** Days whose failure is recorded. */
  readonly failed: ReadonlySet<Day>
  readonly days: readonly Day[]
}

/**
 * Compares the rows of each rule on each of its days with those of the day before. Returns what is new, and
 * each failure, which harms no other rule. `now`: records that, too.
 */
const evaluateDays = async (
  watched: readonly WatchedRule[],
  days: readonly Day[],
  source: WatchSource,
  now?: () => number,
): Promise<readonly Evaluation[]> => {
  const found: Evaluation[] = []
  for (const day of days) {
    const due = watched.filter((one) => one.days.includes(day))
    const rules = due.map(({ rule }) => rule)
    const rows = due.length === 0 ? [] : await readRuleRows(rules, day, source)
    for (const [place, one] of due.entries()) {
      const knownAt = now && new Date(now()).toISOString()
      const evaluation = evaluate(one, rows[place] ?? '', omitUndefined({ day, knownAt }))
      if (evaluation === undefined) continue
      found.push(evaluation)
      if (now && (evaluation.error === undefined || !one.failed.has(day)))
        await appendEvaluation(source.root, evaluation)
      if (evaluation.error !== undefined) continue
      applyEvaluation(one.rows, evaluation)
      one.last = day
    }
  }
  return found
}

const NO_CHANGES: RowChanges = { entered: [], left: [], changed: [] }

/** What is new about a rule on a day; undefined if that is known already. */
const evaluate = (
  { rule, rows: before, last, failed }: WatchedRule,
  rows: RuleRows,
  known: Pick<Evaluation, 'day' | 'knownAt'>,
): Evaluation | undefined => {
  const { name, key, only, notify, cooldown } = rule
  const facts = {
    rule: { name, key, only, notify, cooldown },
    version: versionOf(rule),
    ...known,
  }
  if (typeof rows === 'string') return { ...facts, ...NO_CHANGES, error: rows }
  const changes = compareSessions(before, rows)
  if (last === undefined) return { ...facts, ...changes, isFirst: true }
  // A column that no signal depends on, such as a price, would fill the record.
  const changed = only?.includes('changed') === false ? [] : changes.changed
  const isKnown =
    last === known.day &&
    !failed.has(known.day) &&
    changes.entered.length + changes.left.length + changed.length === 0
  return isKnown ? undefined : { ...facts, ...changes, changed }
}

/**
 * Compares the rows of each rule as of the newest recorded day with those of the session before, and records
 * what differs. A new rule begins with the session before. Sessions that were missed are compared, too. A
 * rule that fails is asked again.
 *
 * @throws StorageError if a run is using the folder
 */
export const evaluateRules = async (
  rules: readonly WatchRule[],
  source: WatchSource,
  now: () => number,
): Promise<WatchResult> => {
  const { root } = source
  const release = await acquireLock(statePaths(root).lock, now())
  try {
    const days = await listWatchDays(root)
    const failures: string[] =
      days.length === 0 ? ['rules need a recorded day; the setting "history" is off'] : []
    const watched = await openEach(rules, failures, async (one) =>
      openRule(await resolveRule(one, root), root, days),
    )
    const found = await evaluateDays(watched, days, source, now)
    const recorded = new Set(found.map(({ rule, day, knownAt }) => `${rule.name} ${day} ${knownAt}`))
    const signals = found.length === 0 ? [] : await readSignals(root)
    return {
      signals: signals.filter(({ rule, day, knownAt }) => recorded.has(`${rule} ${day} ${knownAt}`)),
      failures: [...failures, ...describeRuleFailures(found)],
    }
  } finally {
    release()
  }
}

/** A rule about which nothing is recorded. */
const startRule = (rule: ResolvedRule, days: readonly Day[]): WatchedRule => ({
  rule,
  rows: new Map(),
  last: undefined,
  failed: new Set(),
  days,
})

/**
 * What is recorded of a rule since it has its present statement, and the newest evaluation of each day, by
 * day. Its days are those since the last one with its answer, or the last two.
 */
const openRule = async (rule: ResolvedRule, root: string, days: readonly Day[]) => {
  const version = versionOf(rule)
  const all = await readEvaluations(root, rule.name)
  const own = all.slice(all.findLastIndex((one) => one.version !== version) + 1)
  const newest = [...new Map(own.map((one) => [one.day, one])).values()].sort(byDay)
  const answers = own.filter(({ error }) => error === undefined)
  const last = answers.at(-1)?.day
  return {
    rule,
    rows: answers.reduce(applyEvaluation, new Map<string, Row>()),
    last,
    newest,
    failed: new Set(newest.flatMap(({ day, error }) => (error === undefined ? [] : [day]))),
    days: last === undefined ? days.slice(-2) : days.filter((day) => day >= last).slice(-MAX_LATE_DAYS),
  }
}

/** The signals that rules would have given on the recorded days from one day to another. Records nothing. */
export const replayRules = async (
  rules: readonly WatchRule[],
  { from, to }: { readonly from: Day; readonly to: Day },
  source: WatchSource,
): Promise<WatchResult> => {
  const recorded = (await listWatchDays(source.root)).filter((day) => day <= to)
  const before = recorded.findLastIndex((day) => day < from)
  const days = recorded.slice(Math.max(0, before))
  const failures: string[] = []
  const watched = await openEach(rules, failures, async (rule) =>
    startRule(await resolveRule(rule, source.root), days),
  )
  const found = groupBy(await evaluateDays(watched, days, source), ({ rule }) => rule.name)
  return {
    signals: listSignals(watched.map(({ rule }) => found.get(rule.name) ?? [])),
    failures: [...failures, ...describeRuleFailures([...found.values()].flat())],
  }
}

/**
 * The rows of a rule as of the newest recorded day, compared with the day before. @throws UsageError if it
 * fails, or no day is recorded
 */
export const readLastChanges = async (
  rule: WatchRule,
  source: WatchSource,
): Promise<WatchChanges & { readonly rows: number }> => {
  const days = (await listWatchDays(source.root)).slice(-2)
  const watched = startRule(await resolveRule(rule, source.root), days)
  const found = await evaluateDays([watched], days, source)
  for (const { error } of found) if (error !== undefined) throw new UsageError(`${rule.name}: ${error}`)
  const last = found.at(-1)
  if (last === undefined)
    throw new UsageError(`no day is recorded in ${source.root} yet; the next complete run records its day`)
  const { day, entered, left, changed } = last
  const [since] = days.slice(0, -1)
  return omitUndefined({ day, since, entered, left, changed, rows: watched.rows.size })
}

/** What is known of each rule, in words. */
export const describeRules = (root: string, rules: readonly WatchRule[]) =>
  Promise.all(
    rules.map(async (rule) => {
      const { name } = rule
      try {
        const { rows, newest } = await openRule(await resolveRule(rule, root), root, [])
        const last = newest.at(-1)
        if (last === undefined) return { name, text: 'stands; no run has asked it yet', isBad: false }
        if (last.error !== undefined)
          return { name, text: `failed on ${last.day}: ${last.error}`, isBad: true }
        return { name, text: `${formatQuantity(rows.size, 'row')} on ${last.day}`, isBad: false }
      } catch (error) {
        return { name, text: formatError(error), isBad: true }
      }
    }),
  )
