import { createHash } from 'node:crypto'
import { type Observable, of } from 'rxjs'
import { findDueSession, findNewestWeekday, PUBLISHED_AT } from '../market/calendar.js'
import { driftIn, isSignificant } from '../model/drift.js'
import type { GiveUpReason, RunEvent } from '../model/event.js'
import type { RunReport, ScriptReport } from '../model/report.js'
import { countItems, isIncomplete } from '../model/script-figures.js'
import { findAddress, listHosts, type Settings } from '../model/settings.js'
import { type Day, SESSION_END, toDay, toInstant } from '../model/trading-day.js'
import { listRunning, type PlannedStream } from './plan.js'
import { type KnownStocks, resolveSelection } from './select-items.js'
import type { EndedRun, RunRecord, RunSelection } from './storage.js'

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
  const streams = listRunning(plan).map(({ name }) => name)
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

/** The requested run, and what decides whether an earlier one is the same. */
export interface WantedRun {
  readonly record: RunRecord
  readonly isInstantGiven: boolean
  /** Weekdays without a session. */
  readonly holidays: ReadonlySet<Day> | undefined
}

type Holidays = WantedRun['holidays']

/** The session of an instant, and how far it is: under way, over, or with its data published. It lasts until the next opening. */
const findStage = (instant: number, holidays: Holidays): string => {
  const session = findDueSession(instant, holidays)
  return `${session} ${[SESSION_END, PUBLISHED_AT].filter((time) => instant >= toInstant(session, time)).length}`
}

const isSameSession = (one: number, other: number, holidays: Holidays): boolean =>
  toDay(one) === toDay(other) || findStage(one, holidays) === findStage(other, holidays)

/**
 * Why an unfinished run is not the requested one; `undefined` if it is: same version, same configuration, same trading day or session or, if
 * `asOf` is set, same instant.
 */
export const findDifference = (unfinished: RunRecord, run: WantedRun): GiveUpReason | undefined => {
  const { record: wanted, isInstantGiven, holidays } = run
  if (unfinished.version !== wanted.version) return 'version'
  if (isInstantGiven ? unfinished.asOf !== wanted.asOf : !isSameSession(unfinished.asOf, wanted.asOf, holidays)) return 'instant'
  if (unfinished.configuration === wanted.configuration) return undefined
  return unfinished.settings === wanted.settings ? 'selection' : 'settings'
}

/**
 * Whether a run requests only a part of an earlier one: fewer streams or stocks, with the same settings, on the same trading day and not
 * before it.
 */
export const isPartOf = (wanted: RunRecord, other: RunRecord, holidays: Holidays): boolean =>
  wanted.version === other.version &&
  wanted.configuration !== other.configuration &&
  wanted.settings !== undefined &&
  wanted.settings === other.settings &&
  wanted.asOf >= other.asOf &&
  isSameSession(wanted.asOf, other.asOf, holidays) &&
  other.chosen?.symbols === undefined &&
  other.chosen?.pairs === undefined &&
  (wanted.streams ?? []).every((name) => other.streams?.includes(name))

/**
 * Whether what an ended run fetched can be used for the requested one: same configuration, and the same instant or, without `asOf`, the same
 * session, of which both or neither were made after its data was published. A session under way changes all the time. News and filings that
 * arrive later belong to the next session.
 */
export const isReusable = ({ report, ...complete }: EndedRun, wanted: WantedRun): boolean => {
  const { asOf } = complete
  const { record, isInstantGiven, holidays } = wanted
  // Unaccepted drift must not be forgotten: the next run fetches everything again and finds it.
  if (driftIn(report.drift).some(isSignificant)) return false
  // A run whose `asOf` was in its future could not fetch what arrived until then.
  if (findDifference(complete, wanted) !== undefined || Date.parse(report.startedAt) < asOf) return false
  if (isInstantGiven) return true
  const isOver = asOf >= toInstant(findDueSession(asOf, holidays), SESSION_END)
  return isOver && findStage(asOf, holidays) === findStage(record.asOf, holidays) && record.asOf >= Date.parse(report.finishedAt)
}

/** The streams of a run that lack a session which is due, seen or by the calendar; as of a given instant, one that was seen. */
export const listDue = (plan: readonly PlannedStream[], { report }: EndedRun, { record, isInstantGiven, holidays }: WantedRun) =>
  listRunning(plan).flatMap(({ name, publishedAt = PUBLISHED_AT }): readonly string[] => {
    const end = report.newest?.[name]
    const isDue = !isInstantGiven && end !== undefined && end < findNewestWeekday(record.asOf, publishedAt, holidays)
    return isDue || report.stale?.some(({ stream }) => stream === name) ? [name] : []
  })

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
  const script = isIncomplete(report) ? clearFailures(report) : report
  return { ...script, ...NOTHING_DONE, takenOver: countItems(script) }
}

const NOTHING_DONE = { durationMs: 0, requests: 0, retries: 0, rateLimited: 0 }

/** The script as if it had succeeded: a later run has fetched what it lacked. */
const clearFailures = ({ error: _, causes: __, items, ...script }: ScriptReport): ScriptReport => {
  const { empty, skipped } = items
  const success = countItems({ items }) - empty - skipped
  return { ...script, outcome: 'success', items: { success, empty, skipped, rate_limit: 0, error: 0 }, degraded: 0, problems: [] }
}
