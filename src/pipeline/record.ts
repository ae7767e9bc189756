import { createHash } from 'node:crypto'
import type { Settings } from '../model/settings.js'
import { dayAt, instantOf, SESSION_IS_OVER } from '../model/trading-day.js'
import type { Planned } from './plan.js'
import type { Chosen, CompleteRun, RunRecord } from './session.js'

export interface Wanted {
  readonly settings: Settings
  readonly plan: readonly Planned[]
  readonly symbols?: readonly string[] | undefined
  readonly pairs?: Chosen['pairs'] | undefined
  readonly variant?: string | undefined
}

/** What tells runs apart: those with the same `configuration`, as of one trading day, store the same bytes and are the same run. */
export const identityOf = ({
  settings,
  plan,
  symbols,
  pairs,
  variant,
}: Wanted): Required<Pick<RunRecord, 'configuration' | 'settings' | 'streams'>> => {
  const { exchange, urls, sheetId, asmTabId, gsmTabId, forceUpdate, newsLimit } = settings
  const addresses = Object.entries(urls)
    .map(([host, url]) => `${host} ${variant === undefined ? url : withoutLocalPort(url)}`)
    .sort()
  const streams = plan.filter(({ state }) => state === 'waiting').map(({ stream }) => stream.name)
  const stocks = symbols && [...new Set(symbols.map((symbol) => symbol.toUpperCase()))].sort()
  const basis = { exchange, addresses, sheetId, asmTabId, gsmTabId, forceUpdate, newsLimit }
  return { configuration: digestOf({ ...basis, streams, stocks, pairs, variant }), settings: digestOf({ ...basis, variant }), streams }
}

const digestOf = (facts: object): string => createHash('sha256').update(JSON.stringify(facts)).digest('hex')

/** An embedded provider comes back at another port. */
const withoutLocalPort = (url: string): string => {
  const { hostname, pathname, protocol, host } = new URL(url)
  return `${protocol}//${/^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname) ? hostname : host}${pathname}`
}

/** Whether an unfinished run is the one that is wanted now: of the same configuration, as of the same trading day or, if given, instant. */
export const isContinued = (unfinished: RunRecord, wanted: RunRecord, isInstantGiven: boolean): boolean =>
  unfinished.configuration === wanted.configuration &&
  (isInstantGiven ? unfinished.asOf === wanted.asOf : dayAt(unfinished.asOf) === dayAt(wanted.asOf))

/**
 * Whether a run asks for a part only of what an earlier one did: fewer streams, or some stocks, of the same trading day, not before it, and
 * with the same settings.
 */
export const isPartOf = (wanted: RunRecord, other: RunRecord): boolean =>
  wanted.configuration !== other.configuration &&
  wanted.settings !== undefined &&
  wanted.settings === other.settings &&
  wanted.asOf >= other.asOf &&
  dayAt(wanted.asOf) === dayAt(other.asOf) &&
  other.chosen?.symbols === undefined &&
  other.chosen?.pairs === undefined &&
  (wanted.streams ?? []).every((name) => other.streams?.includes(name))

/** How long a complete run of an evening stands for the next one: news and filings go on coming. */
const STANDS_MS = 3_600_000

/**
 * Whether a complete run leaves nothing to do for the one that is wanted now: of the same configuration and as of the same instant or,
 * if none is given, of the same trading day after its session, and over for less than an hour.
 */
export const suffices = ({ report, ...complete }: CompleteRun, wanted: RunRecord, isInstantGiven: boolean): boolean => {
  const { asOf } = complete
  // One that was as of a later instant than its own could not know what would come until then.
  if (!isContinued(complete, wanted, isInstantGiven) || Date.parse(report.startedAt) < asOf) return false
  const sinceMs = wanted.asOf - Date.parse(report.finishedAt)
  return isInstantGiven || (asOf >= instantOf(dayAt(asOf), SESSION_IS_OVER) && sinceMs >= 0 && sinceMs < STANDS_MS)
}
