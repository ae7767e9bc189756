import { getOrAdd } from '../model/map.js'
import { findAddress, type Host, listHosts, type Settings } from '../model/settings.js'
import { createNetworkLink, type HostContext, type HostLimiter, ItemFailures, type NetworkLink } from './attempt.js'
import { createStopwatch, Limiter } from './limiter.js'
import { computeLimit, computeRate } from './rate.js'
import { type BackoffStatus, isDown, isRefusing, type LimiterSettings, type LimiterState, toBackoffStatus } from './state.js'

/** The state of a limiter: of a host, or of one endpoint of it. */
export interface LimiterStatus extends LimiterReading {
  /** The services that share it, because they have the same base address. */
  readonly hosts: readonly Host[]
  /** Absent for the host as a whole. */
  readonly endpoint?: string
}

export type LimiterRegistry = ReturnType<typeof createLimiters>

/** The identity of a host: its base address, or the service name if none is set. */
export const toHostAddress = (settings: Pick<Settings, 'urls' | 'hosts'>, host: Host): string =>
  findAddress(settings, host)?.replace(/\/+$/, '') ?? host

/**
 * The limiters of one run. Services with the same base address share them. `onBackoff` is called when services, or one endpoint of them,
 * start to back off, and with `undefined` when they accept requests again.
 */
export const createLimiters = (
  settings: Settings,
  onBackoff: (hosts: readonly Host[], status: BackoffStatus | undefined, endpoint: string | undefined) => void = () => undefined,
) => {
  const all = new Map<
    string,
    { readonly host: Host; readonly hosts: readonly Host[]; readonly limiters: ReturnType<typeof createHostLimiters> }
  >()
  const link = createNetworkLink()
  const findLimiters = (host: Host): ReturnType<typeof createHostLimiters> => {
    const address = toHostAddress(settings, host)
    return getOrAdd(all, address, () => {
      const hosts = listHosts(settings).filter((other) => toHostAddress(settings, other) === address)
      const maxRate = Math.min(...hosts.map((other) => settings.hosts[other]?.maxRate ?? Number.POSITIVE_INFINITY))
      const onHostBackoff = (status: BackoffStatus | undefined, endpoint?: string): void => onBackoff(hosts, status, endpoint)
      const limiters = createHostLimiters(host, settings, { link, maxRate, onBackoff: onHostBackoff })
      return { host, hosts, limiters }
    }).limiters
  }
  return {
    forEndpoint: ({ host, name }: { readonly host: Host; readonly name: string }) => findLimiters(host).forEndpoint(name),
    /** Measurements of the network link, shared by all hosts; updated as bytes arrive. */
    link,
    /** Lines for the report, of each host that delayed requests. */
    warnings: () => [...all.values()].flatMap(({ host, limiters }) => limiters.warnings().map((text) => ({ host, text }))),
    /** Reads all limiters now. Nothing is counted for it: whoever wants to know pays. */
    status: (): readonly LimiterStatus[] =>
      [...all.values()].flatMap(({ hosts, limiters }) => limiters.readings().map((reading) => ({ hosts, ...reading }))),
  }
}

/** The limiters of all endpoints of a host. The callback receives each back-off as it begins or grows, and `undefined` when it ends. */
export const createHostLimiters = (
  name: string,
  settings: LimiterSettings,
  {
    link = createNetworkLink(),
    onBackoff = () => undefined,
    maxRate,
  }: { link?: NetworkLink; onBackoff?: (status: BackoffStatus | undefined, endpoint?: string) => void; maxRate?: number } = {},
) => {
  const now = createStopwatch()
  const summaries: (() => readonly string[])[] = []
  const open = (endpoint?: string): Limiter => {
    const summary = createHostSummary(endpoint === undefined || endpoint === name ? name : `${name} ${endpoint}`)
    const limiter = new Limiter({
      ...{ name: endpoint ?? name, settings, now },
      maxRate: endpoint === undefined ? maxRate : undefined,
      onChange: (before, after, at) => {
        summary.onChange(before, after, at)
        onBackoff(toBackoffStatus(after, at), endpoint)
      },
    })
    summaries.push(() => summary.toWarnings(limiter.state, now()))
    return limiter
  }
  const host: HostContext = { limiter: open(), endpoints: [], itemFailures: new ItemFailures(), link, now, settings }
  const limiters = new Map<string, HostLimiter>()
  const createForEndpoint = (name: string): HostLimiter => {
    const endpoint = open(name)
    host.endpoints.push(endpoint)
    return { endpoint, host }
  }
  return {
    forEndpoint: (endpoint: string): HostLimiter => getOrAdd(limiters, endpoint, () => createForEndpoint(endpoint)),
    /** Lines for the report. */
    warnings: (): readonly string[] => summaries.flatMap((summarize) => summarize()),
    /** The limiter of the host, then those of its endpoints. */
    readings: (): readonly (LimiterReading & { readonly endpoint?: string })[] => [
      readLimiter(host.limiter, now()),
      ...host.endpoints.map((limiter) => ({ endpoint: limiter.name, ...readLimiter(limiter, now()) })),
    ],
  }
}

/** Summarises back-offs and outages of a host for the report. */
const createHostSummary = (name: string) => {
  let backoffs = 0
  let lowestRate = Number.POSITIVE_INFINITY
  let outages = 0
  let downMs = 0
  return {
    onChange(before: LimiterState, after: LimiterState, now: number): void {
      if (before.backoff === after.backoff) return
      if (after.backoff?.why === 'refuses' && before.generation !== after.generation) backoffs += 1
      // An outage counts once its first probe has failed; before that it may be a false alarm.
      if (after.backoff?.why === 'down' && after.backoff.attempts === 1) outages += 1
      if (before.backoff?.why === 'down' && before.backoff.attempts > 0 && after.backoff?.why !== 'down')
        downMs += now - before.backoff.since
      if (after.backoff === undefined) lowestRate = Math.min(lowestRate, computeRate(after.rate, now))
    },
    toWarnings(host: LimiterState, now: number): readonly string[] {
      const ongoing = host.backoff?.why === 'down' && host.backoff.attempts > 0 ? now - host.backoff.since : 0
      const rate = lowestRate === Number.POSITIVE_INFINITY ? '' : `; the lowest rate was ${Number(lowestRate.toPrecision(2))} requests/s`
      const suffix = ongoing > 0 ? ', and has not recovered' : ''
      return [
        ...(backoffs > 0 ? [`${name} refused requests (429, or pages instead of data); backed off ${formatTimes(backoffs)}${rate}`] : []),
        ...(outages > 0 ? [`${name} was down ${formatTimes(outages)}, ${Math.round((downMs + ongoing) / 1_000)} s in total${suffix}`] : []),
      ]
    },
  }
}

const formatTimes = (count: number): string => (count === 1 ? 'once' : `${count} times`)

/** The state of a limiter at one instant. */
export interface LimiterReading {
  /** Requests that were sent and have no complete reply yet. */
  readonly inFlight: number
  /** Requests in the queue. A request of an endpoint that waits for its host counts for both. */
  readonly waiting: number
  /** The most requests in flight; infinite if not limited. */
  readonly maxInFlight: number
  /** The most requests a second; infinite if not limited. */
  readonly maxPerSecond: number
  /** No request is sent for now: a back-off, or an open circuit. */
  readonly isHeld: boolean
  /** The circuit breaker; `half-open` while one request checks whether the host works again. */
  readonly circuit: 'closed' | 'half-open' | 'open'
}

/** Reads a limiter, for metrics. */
const readLimiter = (limiter: Limiter, now: number): LimiterReading => {
  const { state, waiting } = limiter
  return {
    inFlight: state.inFlight,
    waiting,
    maxInFlight: computeLimit(state.rate.inFlight, now),
    maxPerSecond: computeRate(state.rate, now),
    isHeld: isDown(state) || isRefusing(state, now),
    circuit: !isDown(state) ? 'closed' : state.isProbing ? 'half-open' : 'open',
  }
}
