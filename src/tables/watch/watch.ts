import type { StreamDefinition } from '../../engine/define-stream.js'
import { formatError, UsageError } from '../../model/errors.js'
import { formatNumber, formatQuantity } from '../../model/format.js'
import { groupBy } from '../../model/map.js'
import type { Row } from '../../model/row.js'
import type { WatchRule } from '../../model/settings.js'
import type { Day } from '../../model/trading-day.js'
import { listListedDays } from '../../storage/history/choose.js'
import { openHistory } from '../../storage/history/record.js'
import { acquireLock } from '../../storage/lock.js'
import { statePaths } from '../../storage/run-state.js'
import { runLimitedQuery } from '../limited-query.js'
import {
  applyCooldown,
  compareRows,
  indexRows,
  type RowChanges,
  type Signal,
  toSignals,
  type WatchChanges,
} from './compare-rows.js'
import {
  appendEvaluation,
  type Evaluation,
  readEvaluations,
  readSignals,
  replayRows,
  versionOf,
} from './record.js'
import { type ResolvedRule, resolveRule } from './rules.js'

export interface WatchSource {
  readonly root: string
  readonly streams: readonly StreamDefinition[]
  readonly signal?: AbortSignal
}

/** The rows of a rule by their keys, or why it has none. */
export type RuleRows = ReadonlyMap<string, Row> | string

const LIMITS = { rows: 200_000, timeMs: 120_000, characters: 100_000_000 }

/** The rows of rules as of a recorded day, in their order. A rule that fails harms no other. */
export const readRuleRows = async (
  rules: readonly ResolvedRule[],
  asOf: Day,
  source: WatchSource,
): Promise<readonly RuleRows[]> => {
  const found = new Map<ResolvedRule, RuleRows>()
  const readGroup = async (group: readonly ResolvedRule[]): Promise<void> => {
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

/** What standing queries found, and which of them failed. */
export interface WatchResult {
  readonly signals: readonly Signal[]
  /** A sentence each. */
  readonly failures: readonly string[]
}

/** The recorded days of a folder, oldest first. */
export const listWatchDays = async (root: string): Promise<readonly Day[]> =>
  listListedDays(await openHistory(root))

type WatchedRule = Awaited<ReturnType<typeof openRule>>

type Failure = Readonly<Record<'rule' | 'day' | 'error', string>>

const describeRuleFailures = (failures: readonly Failure[]): readonly string[] =>
  [...groupBy(failures, ({ rule }) => rule)].map(([rule, all]) => {
    const { day, error } = all.at(-1) as Failure
    return `${rule} failed on ${all.length === 1 ? day : `${all.length} days, last on ${day}`}: ${error}`
  })

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

/**
 * Compares the rows of each rule as of the newest recorded day with those of the session before, and records
 * what differs. A new rule begins with the session before. Sessions that were missed are compared, too. A
 * rule that fails harms no other, and is asked again.
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
      days.length === 0 ? ['standing queries need a recorded day; the setting "history" is off'] : []
    const watched = await openEach(rules, failures, async (one) =>
      openRule(await resolveRule(one, root), root, days),
    )
    const failed: Failure[] = []
    const recorded = new Set<string>()
    for (const day of days) {
      const due = watched.filter((one) => one.days.includes(day))
      if (due.length === 0) continue
      const rows = await readRuleRows(
        due.map(({ rule }) => rule),
        day,
        source,
      )
      for (const [place, one] of due.entries()) {
        const evaluation = evaluate(one, {
          rows: rows[place] ?? '',
          day,
          knownAt: new Date(now()).toISOString(),
        })
        const { error } = evaluation ?? {}
        if (error !== undefined) failed.push({ rule: one.rule.name, day, error })
        if (error !== undefined && one.failed.has(day)) continue
        if (evaluation === undefined) continue
        await appendEvaluation(root, evaluation)
        one.evaluations.push(evaluation)
        recorded.add(`${one.rule.name} ${day} ${evaluation.knownAt}`)
      }
    }
    const signals = recorded.size === 0 ? [] : await readSignals(root)
    return {
      signals: signals.filter(({ rule, day, knownAt }) => recorded.has(`${rule} ${day} ${knownAt}`)),
      failures: [...failures, ...describeRuleFailures(failed)],
    }
  } finally {
    release()
  }
}

/**
 * The days that a rule is asked about: those since the last one with its answer, or the last two. `failed`:
 * days whose failure is recorded.
 */
const openRule = async (rule: ResolvedRule, root: string, days: readonly Day[]) => {
  const all = await readOwnEvaluations(rule, root)
  const evaluations = all.filter(({ error }) => error === undefined)
  const failed = new Set(listNewest(all).flatMap(({ day, error }) => (error === undefined ? [] : [day])))
  const last = evaluations.at(-1)?.day
  return {
    rule,
    evaluations,
    failed,
    days: last === undefined ? days.slice(-2) : days.filter((day) => day >= last).slice(-MAX_LATE_DAYS),
  }
}

/** The evaluations of a rule since it has its present statement. */
const readOwnEvaluations = async (rule: ResolvedRule, root: string): Promise<readonly Evaluation[]> => {
  const version = versionOf(rule)
  const all = await readEvaluations(root, rule.name)
  return all.slice(all.findLastIndex((one) => one.version !== version) + 1)
}

/** The newest evaluation of each day, by day. */
const listNewest = (evaluations: readonly Evaluation[]): readonly Evaluation[] =>
  [...new Map(evaluations.map((one) => [one.day, one])).values()].sort((one, other) =>
    one.day < other.day ? -1 : 1,
  )

const NO_CHANGES: RowChanges = { entered: [], left: [], changed: [] }

/** What is to be recorded of a rule and a day; undefined if that is known already. */
const evaluate = (
  { rule, evaluations, failed }: WatchedRule,
  { rows, day, knownAt }: Pick<Evaluation, 'day' | 'knownAt'> & { readonly rows: RuleRows },
): Evaluation | undefined => {
  const { name, key, only, notify, cooldown } = rule
  const facts = { rule: { name, key, only, notify, cooldown }, version: versionOf(rule), day, knownAt }
  if (typeof rows === 'string') return { ...facts, ...NO_CHANGES, error: rows }
  const known = evaluations.filter(({ error }) => error === undefined)
  const changes = compareRows(replayRows(known), rows)
  if (known.length === 0) return { ...facts, ...changes, isFirst: true }
  // A column that no signal depends on, such as a price, would fill the record.
  const changed = only?.includes('changed') === false ? [] : changes.changed
  const isKnown =
    known.at(-1)?.day === day &&
    !failed.has(day) &&
    changes.entered.length + changes.left.length + changed.length === 0
  return isKnown ? undefined : { ...facts, ...changes, changed }
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
  const resolved = await openEach(rules, failures, (rule) => resolveRule(rule, source.root))
  const last = new Map<string, Exclude<RuleRows, string>>()
  const signals = new Map(resolved.map((rule) => [rule, [] as Signal[]]))
  const failed: Failure[] = []
  for (const day of days) {
    const found = await readRuleRows(resolved, day, source)
    for (const [place, rule] of resolved.entries()) {
      const rows = found[place] ?? ''
      const earlier = last.get(rule.name)
      if (typeof rows === 'string') failed.push({ rule: rule.name, day, error: rows })
      else {
        last.set(rule.name, rows)
        if (earlier) signals.get(rule)?.push(...toSignals(rule, compareRows(earlier, rows), { day }))
      }
    }
  }
  const shown = [...signals].flatMap(([rule, own]) => applyCooldown(own, rule, recorded))
  return {
    signals: shown.sort((one, other) => days.indexOf(one.day) - days.indexOf(other.day)),
    failures: [...failures, ...describeRuleFailures(failed)],
  }
}

/**
 * The rows of a rule as of the newest recorded day, compared with the day before. @throws UsageError if it
 * fails, or no day is recorded
 */
export const readLastChanges = async (
  given: WatchRule,
  source: WatchSource,
): Promise<WatchChanges & { readonly rows: number }> => {
  const rule = await resolveRule(given, source.root)
  const [day, since] = (await listWatchDays(source.root)).toReversed()
  if (day === undefined)
    throw new UsageError(`no day is recorded in ${source.root} yet; the next complete run records its day`)
  const read = async (asOf: Day): Promise<Exclude<RuleRows, string>> => {
    const [rows = ''] = await readRuleRows([rule], asOf, source)
    if (typeof rows === 'string') throw new UsageError(`${rule.name}: ${rows}`)
    return rows
  }
  const [before, after] = [since === undefined ? new Map() : await read(since), await read(day)]
  return { day, ...(since === undefined ? {} : { since }), ...compareRows(before, after), rows: after.size }
}

/** What is known of each rule, in words. */
export const describeRules = (root: string, rules: readonly WatchRule[]) =>
  Promise.all(
    rules.map(async (rule) => {
      const { name } = rule
      try {
        const all = await readOwnEvaluations(await resolveRule(rule, root), root)
        const last = listNewest(all).at(-1)
        if (last === undefined) return { name, text: 'stands; no run has asked it yet', isBad: false }
        if (last.error !== undefined)
          return { name, text: `failed on ${last.day}: ${last.error}`, isBad: true }
        const { size } = replayRows(all.filter(({ error }) => error === undefined))
        return { name, text: `${formatQuantity(size, 'row')} on ${last.day}`, isBad: false }
      } catch (error) {
        return { name, text: formatError(error), isBad: true }
      }
    }),
  )
