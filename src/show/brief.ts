import { listTables, type StreamDefinition } from '../engine/define-stream.js'
import { listWrongSymbols } from '../market/symbols.js'
import type { Change, Section } from '../model/change.js'
import { groupBy } from '../model/map.js'
import type { AsOfSession, RewrittenFile, RunReport, ScriptOutcome } from '../model/report.js'
import { omitUndefined } from '../model/row.js'
import type { RunLogEntry } from '../model/run-log.js'
import { describeStale, stripBrackets, wasStopped } from '../model/script-figures.js'
import { isWeekday, toDay } from '../model/trading-day.js'
import { type Difference, diff } from '../tables/changes/diff.js'
import type { Signal } from '../tables/changes/signals.js'
import { readSignals } from '../tables/changes/watch-record.js'
import { readStocksIfIntact, type SymbolOptions, selectFolderSymbols } from '../tables/output-folder.js'
import { toMarketDay } from '../tables/variables.js'
import { type Finding, groupByCause, isOfConcern } from '../verify/finding.js'

export interface Freshness {
  readonly stream: string
  /**
   * How the stream ended in the last run; `not run` if that run did not include it, `stopped` if the run
   * ended before it.
   */
  readonly outcome: ScriptOutcome | 'not run' | 'stopped'
  /** The day in India of the last run that fetched all of it; absent if no run is known that did. */
  readonly completeOn?: string
  readonly missing?: number | 'all'
  /** The first reason, without details. */
  readonly reason?: string
}

export interface StockChanges {
  readonly symbol: string
  readonly isWatched: boolean
  readonly changes: readonly Change[]
}

/** What one wants to know in the morning. */
export interface Brief {
  readonly folder: string
  readonly run: string
  /** Whether the data is made up by `run --simulate`; absent if it is real. */
  readonly simulated?: true
  readonly asOf: string
  /** Which outputs are of `asOf`, if the run was as of an earlier session. */
  readonly asOfSession?: AsOfSession
  readonly outcome: RunReport['outcome']
  readonly error?: string
  readonly durationMs: number
  readonly stocks: number
  /** The newest session of the stored candles; absent without candles. */
  readonly newestSession?: string
  readonly outputs: readonly Freshness[]
  /** What ends before a session that is due, a sentence each; absent if nothing does. */
  readonly stale?: readonly string[]
  /** Watched stocks first, then those with rare changes, then those with the most kinds of changes. */
  readonly changes: readonly StockChanges[]
  readonly counts: Readonly<Partial<Record<Section, number>>>
  /**
   * Candle histories that were fetched again instead of extended, for example because a split has adjusted
   * all prices, and files whose stored records were merged with a shorter answer.
   */
  readonly rewritten: readonly RewrittenFile[]
  /** The run that it is compared with; null without one. */
  readonly since: { readonly run?: string; readonly asOf?: string } | null
  /**
   * New findings of `verify` about the whole or watched stocks, and errors, grouped by cause, recent days
   * first; absent if it failed.
   */
  readonly findings?: readonly Finding[]
  /** What rules found in the newest session; absent without any. */
  readonly signals?: readonly Signal[]
  /** Which rules failed, and why, a sentence each; absent if none did. */
  readonly failedRules?: readonly string[]
  /**
   * Symbols of the run and of the watchlist that are not listed, or that have changed, and what they may
   * mean.
   */
  readonly wrongSymbols: readonly string[]
  /** Missing inputs, and what could not be compared. */
  readonly notes: readonly string[]
}

interface BriefOptions {
  readonly report: RunReport
  readonly runs: readonly RunLogEntry[]
  readonly streams: readonly StreamDefinition[]
  readonly failedRules: readonly string[]
  readonly exchange: string
  /** The stocks that come first. */
  readonly watchlist: SymbolOptions
  readonly findings: readonly Finding[] | undefined
  readonly newestSession: string | undefined
  readonly isSimulated: boolean
  readonly unchecked: readonly string[]
}

const WITHOUT_LIST: Omit<Difference, 'folder'> = {
  since: null,
  notes: ['changes: the master list is damaged'],
  counts: {},
  changes: [],
}

/** What the last run of a folder did, what it changed, and what deserves a look. */
export const createBrief = async (root: string, options: BriefOptions): Promise<Brief> => {
  const { report, runs, streams, failedRules, exchange, watchlist, findings, newestSession, unchecked } =
    options
  const list = await readStocksIfIntact(root)
  const difference = list === undefined ? WITHOUT_LIST : await diff(root, { streams, exchange })
  const signals = await readSignals(root, { since: 'newest' })
  const { wanted, wrong } = await selectFolderSymbols(root, list === undefined ? {} : watchlist, {
    stocks: list ?? [],
  })
  const {
    run,
    asOf,
    asOfSession,
    outcome,
    error,
    durationMs,
    stocks,
    stale,
    scripts,
    wrongSymbols = [],
  } = report
  return omitUndefined({
    folder: root,
    run,
    asOf,
    asOfSession,
    outcome,
    error,
    durationMs,
    stocks,
    newestSession: newestSession && (await readNewestSession(root, { ...options, newestSession })),
    simulated: options.isSimulated ? true : undefined,
    outputs: streams.map(({ name }) => describeFreshness(name, report, runs)),
    stale: stale && describeStale(report),
    changes: groupByStock(difference.changes, wanted ?? new Set()),
    counts: difference.counts,
    rewritten: Object.values(scripts).flatMap(({ rewritten = [] }) => rewritten),
    since: difference.since,
    findings: findings && orderFindings(findings.filter((one) => isOfConcern(one, wanted))),
    signals: signals.length === 0 ? undefined : signals,
    failedRules: failedRules.length === 0 ? undefined : failedRules,
    wrongSymbols: [...new Set([...listWrongSymbols(wrongSymbols), ...listWrongSymbols(wrong)])],
    notes: [...difference.notes, ...unchecked],
  })
}

/** The newest session: on a weekend, fewer stocks than `verify` judges can show one. */
const readNewestSession = async (
  root: string,
  { report, streams, newestSession }: Pick<BriefOptions, 'report' | 'streams'> & { newestSession: string },
): Promise<string> => {
  const day = await toMarketDay(root, listTables(streams), toDay(Date.parse(report.asOf)))
  return isWeekday(day) || day < newestSession ? newestSession : day
}

export const describeFreshness = (
  stream: string,
  { scripts, missing = {} }: RunReport,
  runs: readonly RunLogEntry[],
): Freshness => {
  const complete = runs.findLast((run) => run.scripts[stream]?.outcome === 'success')
  const completeOn = complete && toDay(Date.parse(complete.startedAt))
  const script = scripts[stream]
  const { error, problems = [] } = script ?? {}
  const outcome = script === undefined ? 'not run' : wasStopped(script) ? 'stopped' : script.outcome
  const reason =
    outcome === 'success' || outcome === 'skipped'
      ? undefined
      : (error ?? problems.find(({ status }) => status !== undefined)?.reason)
  return omitUndefined({
    stream,
    outcome,
    completeOn,
    missing: missing[stream],
    reason: reason && stripBrackets(reason),
  })
}

/** Errors first, then findings about a whole file, then recent days. */
const orderFindings = (findings: readonly Finding[]): readonly Finding[] => {
  const weigh = ({ severity, day = '9999' }: Finding): string => `${severity === 'error' ? 1 : 0} ${day}`
  return groupByCause(findings).toSorted((one, other) =>
    weigh(one) === weigh(other) ? 0 : weigh(one) < weigh(other) ? 1 : -1,
  )
}

/** Changes that only a few stocks have on a day, and that say more than a filing. */
const RARE_SECTIONS: ReadonlySet<Section> = new Set([
  'listings',
  'renames',
  'surveillance',
  'bands',
  'results',
])

/** Changes by stock: watched stocks first, then by the number of rare and of all kinds, then by symbol. */
export const groupByStock = (
  changes: readonly Change[],
  watched: ReadonlySet<string>,
): readonly StockChanges[] => {
  const groups = groupBy(changes, ({ symbol }) => symbol)
  const kinds = (all: readonly Change[]): number => new Set(all.map(({ section }) => section)).size
  const rare = (all: readonly Change[]): number =>
    kinds(all.filter(({ section }) => RARE_SECTIONS.has(section)))
  return [...groups]
    .map(([symbol, all]) => ({ symbol, isWatched: watched.has(symbol), changes: all }))
    .sort(
      (one, other) =>
        Number(other.isWatched) - Number(one.isWatched) ||
        rare(other.changes) - rare(one.changes) ||
        kinds(other.changes) - kinds(one.changes) ||
        (one.symbol < other.symbol ? -1 : 1),
    )
}
