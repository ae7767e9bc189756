import { createHash } from 'node:crypto'
import { type Observable, of } from 'rxjs'
import { driftIn, isSignificant } from '../model/drift.js'
import type { GiveUpReason, RunEvent } from '../model/event.js'
import type { ItemCounts, RunReport, ScriptReport } from '../model/report.js'
import { findAddress, listHosts, type Settings } from '../model/settings.js'
import { SESSION_END, toDay, toInstant } from '../model/trading-day.js'
import { type KnownStocks, resolveSelection } from './known-stocks.js'
import type { PlannedStream } from './plan.js'
import type { EndedRun, RunRecord, RunSelection } from './session.js'

/** The version of the package without the patch. A run is resumed by the same one only, so that no file mixes rows of two versions. */
export const VERSION = '0.1'

export interface IdentityInput {
  readonly settings: Settings
  readonly plan: readonly PlannedStream[]
  readonly symbols?: readonly string[] | undefined
  readonly pairs?: RunSelection['pairs'] | undefined
  readonly variant?: string | undefined
}

/** The identity of a run: two runs of the same `version` with the same `configuration` as of the same trading day are the same run. */
export const createIdentity = ({
  settings,
  plan,
  symbols,
  pairs,
  variant,
}: IdentityInput): Required<Pick<RunRecord, 'version' | 'configuration' | 'settings' | 'streams'>> => {
  const { exchange, sheetId, asmTabId, gsmTabId, forceUpdate, newsLimit } = settings
  const addresses = listHosts(settings)
    .flatMap((host) => {
      const url = findAddress(settings, host)
      return url === undefined ? [] : `${host} ${variant === undefined ? url : withoutLocalPort(url)}`
    })
    .sort()
  const streams = plan.filter(({ state }) => state === 'waiting').map(({ stream }) => stream.name)
  const digest = hashFacts({ exchange, addresses, sheetId, asmTabId, gsmTabId, forceUpdate, newsLimit, variant })
  return { version: VERSION, configuration: hashConfiguration(digest, streams, { symbols, pairs }), settings: digest, streams }
}

const hashConfiguration = (settings: string, streams: readonly string[], { symbols, pairs }: Pick<IdentityInput, 'symbols' | 'pairs'>) =>
  hashFacts({ settings, streams, stocks: symbols && [...new Set(symbols.map((symbol) => symbol.toUpperCase()))].sort(), pairs })

/** The record of an earlier run with the symbols that its stocks have now. */
export const resolveRecord = <R extends RunRecord>(record: R, known: KnownStocks): R => {
  const { chosen, settings, streams } = record
  if (chosen?.symbols === undefined || settings === undefined || streams === undefined) return record
  const resolved = resolveSelection(chosen, known)
  return { ...record, chosen: resolved, configuration: hashConfiguration(settings, streams, resolved) }
}

const hashFacts = (facts: object): string => createHash('sha256').update(JSON.stringify(facts)).digest('hex')

/** The simulator listens on a different port after each start. */
const withoutLocalPort = (url: string): string => {
  const { hostname, pathname, protocol, host } = new URL(url)
  return `${protocol}//${/^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname) ? hostname : host}${pathname}`
}

/**
 * Why an unfinished run is not the requested one; `undefined` if it is: same version, same configuration, same trading day or, if `asOf` is
 * set, same instant.
 */
export const findDifference = (unfinished: RunRecord, wanted: RunRecord, isInstantGiven: boolean): GiveUpReason | undefined => {
  if (unfinished.version !== wanted.version) return 'version'
  if (isInstantGiven ? unfinished.asOf !== wanted.asOf : toDay(unfinished.asOf) !== toDay(wanted.asOf)) return 'instant'
  if (unfinished.configuration === wanted.configuration) return undefined
  return unfinished.settings === wanted.settings ? 'selection' : 'settings'
}

/**
 * Whether a run requests only a part of an earlier one: fewer streams or stocks, with the same settings, on the same trading day and not
 * before it.
 */
export const isPartOf = (wanted: RunRecord, other: RunRecord): boolean =>
  wanted.version === other.version &&
  wanted.configuration !== other.configuration &&
  wanted.settings !== undefined &&
  wanted.settings === other.settings &&
  wanted.asOf >= other.asOf &&
  toDay(wanted.asOf) === toDay(other.asOf) &&
  other.chosen?.symbols === undefined &&
  other.chosen?.pairs === undefined &&
  (wanted.streams ?? []).every((name) => other.streams?.includes(name))

/** Age limit for reusing a complete run: news and filings keep arriving after the session. */
const MAX_REUSE_MS = 3_600_000

/**
 * Whether a complete run can be reused for the requested one: same configuration, and the same instant or, without `asOf`, the same trading
 * day after its session and finished less than an hour ago.
 */
export const isReusable = ({ report, ...complete }: EndedRun, wanted: RunRecord, isInstantGiven: boolean): boolean => {
  const { asOf } = complete
  // Unaccepted drift must not be forgotten: the next run fetches everything again and finds it.
  if (driftIn(report.drift).some(isSignificant)) return false
  // A run whose `asOf` was in its future could not fetch what arrived until then.
  if (findDifference(complete, wanted, isInstantGiven) !== undefined || Date.parse(report.startedAt) < asOf) return false
  const sinceMs = wanted.asOf - Date.parse(report.finishedAt)
  return isInstantGiven || (asOf >= toInstant(toDay(asOf), SESSION_END) && sinceMs >= 0 && sinceMs < MAX_REUSE_MS)
}

/**
 * The last event of a run that has nothing to do: the report of the complete run, with zero requests and every item adopted. What a run of
 * everything lost and a later part of it fetched counts as a success.
 */
export const reuseReport = (
  { missing: _, isResumable: __, ...complete }: RunReport,
  { startedAt, finishedAt }: { readonly startedAt: number; readonly finishedAt: number },
): Observable<RunEvent> =>
  of({
    type: 'run-finished',
    report: {
      ...complete,
      outcome: 'complete',
      startedAt: new Date(startedAt).toISOString(),
      finishedAt: new Date(finishedAt).toISOString(),
      durationMs: finishedAt - startedAt,
      finishedBefore: complete.finishedAt,
      scripts: Object.fromEntries(Object.entries(complete.scripts).map(([name, script]) => [name, toReusedScript(script)])),
    },
  })

const toReusedScript = (report: ScriptReport): ScriptReport => {
  const script = report.outcome === 'partial' || report.outcome === 'failed' ? clearFailures(report) : report
  return { ...script, ...NOTHING_DONE, takenOver: totalOf(script.items) }
}

const NOTHING_DONE = { durationMs: 0, requests: 0, retries: 0, rateLimited: 0 }

/** The script as if it had succeeded: a later run has fetched what it lacked. */
const clearFailures = ({ error: _, causes: __, items, ...script }: ScriptReport): ScriptReport => {
  const { empty, skipped } = items
  const success = totalOf(items) - empty - skipped
  return { ...script, outcome: 'success', items: { success, empty, skipped, rate_limit: 0, error: 0 }, degraded: 0, problems: [] }
}

const totalOf = (items: ItemCounts): number => Object.values(items).reduce((total, number) => total + number, 0)
