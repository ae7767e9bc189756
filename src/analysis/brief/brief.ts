import type { RunReport, ScriptOutcome } from '../../model/report.js'
import type { RunLogEntry } from '../../model/run-log.js'
import { toDay } from '../../model/trading-day.js'
import type { StreamDefinition } from '../../pipeline/define-stream.js'
import type { Change, Section } from '../diff/change.js'
import { diff } from '../diff/diff.js'
import type { Finding } from '../verify/finding.js'

/** A stream in the brief. */
export interface Freshness {
  readonly stream: string
  /** How the stream ended in the last run; `not run` if that run did not include it. */
  readonly outcome: ScriptOutcome | 'not run'
  /** The day in India of the last run that fetched all of it; absent if no run is known that did. */
  readonly completeOn?: string
  /** How many items it lacks. */
  readonly missing?: number | 'all'
}

/** The changes of one stock. */
export interface StockChanges {
  readonly symbol: string
  readonly isWatched: boolean
  readonly changes: readonly Change[]
}

/** What one wants to know in the morning. */
export interface Brief {
  readonly folder: string
  readonly run: string
  readonly asOf: string
  readonly outcome: RunReport['outcome']
  readonly error?: string
  readonly durationMs: number
  readonly stocks: number
  /** The newest session of the stored candles; absent without candles. */
  readonly newestSession?: string
  readonly outputs: readonly Freshness[]
  /** Watched stocks first, then those with the most kinds of changes. */
  readonly changes: readonly StockChanges[]
  readonly counts: Readonly<Partial<Record<Section, number>>>
  /** The run that it is compared with; null if there is none. */
  readonly since: { readonly run?: string; readonly asOf?: string } | null
  /** Findings of `verify` that are not accepted; absent if it did not run. */
  readonly findings?: readonly Finding[]
  /** What could not be told, and why. */
  readonly notes: readonly string[]
}

export interface BriefOptions {
  readonly report: RunReport
  /** The runs of the folder, oldest first. */
  readonly runs: readonly RunLogEntry[]
  readonly streams: readonly StreamDefinition[]
  readonly exchange: string
  readonly watchlist: readonly string[]
  readonly findings: readonly Finding[] | undefined
  readonly newestSession: string | undefined
}

/** What the last run of a folder did, what it changed, and what deserves a look. */
export const createBrief = async (root: string, options: BriefOptions): Promise<Brief> => {
  const { report, runs, streams, exchange, watchlist, findings, newestSession } = options
  const difference = await diff(root, { exchange })
  const watched = new Set(watchlist.map((symbol) => symbol.toUpperCase()))
  return {
    folder: root,
    run: report.run,
    asOf: report.asOf,
    outcome: report.outcome,
    ...(report.error === undefined ? {} : { error: report.error }),
    durationMs: report.durationMs,
    stocks: report.stocks,
    ...(newestSession === undefined ? {} : { newestSession }),
    outputs: streams.map(({ name }) => describeFreshness(name, report, runs)),
    changes: groupByStock(difference.changes, watched),
    counts: difference.counts,
    since: difference.since,
    ...(findings === undefined ? {} : { findings }),
    notes: difference.notes,
  }
}

const describeFreshness = (stream: string, { scripts, missing = {} }: RunReport, runs: readonly RunLogEntry[]): Freshness => {
  const complete = runs.findLast((run) => run.scripts[stream]?.outcome === 'success')
  return {
    stream,
    outcome: scripts[stream]?.outcome ?? 'not run',
    ...(complete === undefined ? {} : { completeOn: toDay(Date.parse(complete.startedAt)) }),
    ...(missing[stream] === undefined ? {} : { missing: missing[stream] }),
  }
}

/** Changes by stock: watched stocks first, then by the number of kinds, then by symbol. */
export const groupByStock = (changes: readonly Change[], watched: ReadonlySet<string>): readonly StockChanges[] => {
  const groups = new Map<string, Change[]>()
  for (const change of changes) {
    const group = groups.get(change.symbol)
    if (group) group.push(change)
    else groups.set(change.symbol, [change])
  }
  const kinds = (all: readonly Change[]): number => new Set(all.map(({ section }) => section)).size
  return [...groups]
    .map(([symbol, all]) => ({ symbol, isWatched: watched.has(symbol.toUpperCase()), changes: all }))
    .sort(
      (one, other) =>
        Number(other.isWatched) - Number(one.isWatched) ||
        kinds(other.changes) - kinds(one.changes) ||
        (one.symbol < other.symbol ? -1 : 1),
    )
}
