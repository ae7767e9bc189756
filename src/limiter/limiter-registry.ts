import { getOrAdd } from '../model/map.js'
import { findAddress, type Host, listHosts, type Settings } from '../model/settings.js'
import { createStopwatch, type HostContext, type HostLimiter, ItemFailures, Limiter, NetworkLink } from './limiter.js'
import { computeLimit, computeRate } from './rate.js'
import { type BackoffStatus, isDown, isRefusing, type LimiterState, toBackoffStatus } from './state.js'

/** The state of a limiter at one instant: of a host, or of one endpoint of it. */
export interface LimiterStatus {
  /** The services that share it, because they have the same base address. */
  readonly hosts: readonly Host[]
  /** Absent for the host as a whole. */
  readonly endpoint?: string
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

export type LimiterRegistry = ReturnType<typeof createLimiters>

/** The identity of a host: its base address, or the service name if none is set. */
export const toHostAddress = (settings: Pick<Settings, 'urls' | 'hosts'>, host: Host): string =>
  findAddress(settings, host)?.replace(/\/+$/, '') ?? host

/** A host, its limiter, and those of its endpoints. */
interface KnownHost {
  readonly host: Host
  readonly hosts: readonly Host[]
  readonly context: HostContext
  readonly byEndpoint: Map<string, HostLimiter>
  readonly members: { readonly limiter: Limiter; readonly endpoint?: string; readonly summary: ReturnType<typeof createHostSummary> }[]
}

/**
 * The limiters of one run. Services with the same base address share them. `onBackoff` is called when services, or one endpoint of them,
 * start to back off, and with `undefined` when they accept requests again.
 */
export const createLimiters = (
  settings: Settings,
  onBackoff: (hosts: readonly Host[], status: BackoffStatus | undefined, endpoint: string | undefined) => void = () => undefined,
) => {
  const all = new Map<string, KnownHost>()
  const link = new NetworkLink()
  const openLimiter = ({ host, hosts, members }: Omit<KnownHost, 'context'>, now: () => number, endpoint?: string): Limiter => {
    const summary = createHostSummary(endpoint === undefined || endpoint === host ? host : `${host} ${endpoint}`)
    const maxRates = endpoint === undefined ? hosts.flatMap((name) => settings.hosts[name]?.maxRate ?? []) : []
    const onChange = (before: LimiterState, after: LimiterState, at: number): void => {
      summary.onChange(before, after, at)
      onBackoff(hosts, toBackoffStatus(after, at), endpoint)
    }
    const limiter = new Limiter({ name: endpoint ?? host, settings, now, maxRate: Math.min(...maxRates), onChange })
    members.push({ limiter, summary, ...(endpoint === undefined ? {} : { endpoint }) })
    return limiter
  }
  const openHost = (host: Host, address: string): KnownHost => {
    const hosts = listHosts(settings).filter((other) => toHostAddress(settings, other) === address)
    const known = { host, hosts, byEndpoint: new Map(), members: [] }
    const now = createStopwatch()
    const context = { limiter: openLimiter(known, now), endpoints: [], itemFailures: new ItemFailures(), link, now, settings }
    return { ...known, context }
  }
  const openEndpoint = (known: KnownHost, name: string): HostLimiter => {
    const { context } = known
    const endpoint = openLimiter(known, context.now, name)
    context.endpoints.push(endpoint)
    return { endpoint, host: context }
  }
  return {
    forEndpoint: ({ host, name }: { readonly host: Host; readonly name: string }): HostLimiter => {
      const address = toHostAddress(settings, host)
      const known = getOrAdd(all, address, () => openHost(host, address))
      return getOrAdd(known.byEndpoint, name, () => openEndpoint(known, name))
    },
    /** Measurements of the network link, shared by all hosts; updated as bytes arrive. */
    link,
    /** Lines for the report, of each host that delayed requests. */
    warnings: () =>
      [...all.values()].flatMap(({ host, members, context }) =>
        members.flatMap(({ limiter, summary }) => summary.toWarnings(limiter.state, context.now()).map((text) => ({ host, text }))),
      ),
    /** Reads all limiters now. Nothing is counted for it: whoever wants to know pays. */
    status: (): readonly LimiterStatus[] =>
      [...all.values()].flatMap(({ hosts, members, context }) =>
        members.map(({ limiter, summary: _, ...endpoint }) => ({ hosts, ...endpoint, ...readLimiter(limiter, context.now()) })),
      ),
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

const readLimiter = ({ state, waiting }: Limiter, now: number): Omit<LimiterStatus, 'hosts' | 'endpoint'> => ({
  inFlight: state.inFlight,
  waiting,
  maxInFlight: computeLimit(state.rate.inFlight, now),
  maxPerSecond: computeRate(state.rate, now),
  isHeld: isDown(state) || isRefusing(state, now),
  circuit: !isDown(state) ? 'closed' : state.isProbing ? 'half-open' : 'open',
})
