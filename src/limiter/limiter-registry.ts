import { getOrAdd } from '../model/map.js'
import { findAddress, type Host, listHosts, parseDuration, type Settings } from '../model/settings.js'
import { RETRY_DEFAULTS, type RetryPolicy } from '../operators/retry-failures.js'
import type { LimiterSettings } from './backoff.js'
import { combineReadings, type LimiterReading, readLimiter } from './create-limiter.js'
import {
  createStopwatch,
  type HostContext,
  type HostLimiter,
  ItemFailures,
  Limiter,
  NetworkLink,
  Origin,
} from './limiter.js'
import { computeRate } from './rate.js'
import { describeFoundLimit, knowsLimit } from './shared-limit.js'
import {
  allowProbe,
  type BackoffStatus,
  extendPatience,
  isDown,
  isRefusing,
  type LimiterState,
  renewPatience,
  toBackoffStatus,
} from './state.js'

/** The state of a limiter at one instant: of a host, or of one endpoint of it. */
export interface LimiterStatus extends LimiterReading {
  /** The services that share it, because they have the same base address. */
  readonly hosts: readonly Host[]
  /** Absent for the host as a whole. */
  readonly endpoint?: string
}

/** The identity of a host: its base address, or the service name if none is set. */
export const toHostAddress = (settings: Pick<Settings, 'urls' | 'hosts'>, host: Host): string =>
  findAddress(settings, host)?.replace(/\/+$/, '') ?? host

/** Scheme, host name and port of an address. */
const toOrigin = (address: string): string => (URL.canParse(address) ? new URL(address).origin : address)

/** A limiter of an origin, a host, or one of its endpoints. */
interface KnownLimiter {
  readonly limiter: Limiter
  readonly hosts: readonly Host[]
  readonly host: Host
  readonly endpoint: string | undefined
  readonly now: () => number
  /** That of the host. */
  readonly origin: Limiter | undefined
}

interface KnownHost {
  readonly host: Host
  readonly hosts: readonly Host[]
  readonly context: HostContext
  readonly byEndpoint: Map<string, HostLimiter>
}

/** How the requests of a run are repeated, and how long their hosts are waited for. */
export interface LimitPolicy extends LimiterSettings, Pick<RetryPolicy, 'throttleRetries'> {}

/** The policy of a run: two settings, and the defaults of the operators, which say why. */
export const createLimitPolicy = ({
  retries,
  patience,
}: Pick<Settings, 'retries' | 'patience'>): LimitPolicy => {
  const { backoffMs, throttleRetries, throttleMs, throttleMaxMs } = RETRY_DEFAULTS
  const [throttleGiveUpMs, downMs] = [parseDuration(patience), parseDuration(patience)]
  return { retries, backoffMs, throttleRetries, throttleMs, throttleMaxMs, throttleGiveUpMs, downMs }
}

/** The limiters as one run uses them. */
export type LimiterRegistry = Omit<ReturnType<SharedLimiters['open']>, 'close'>

/**
 * Called when services, or one endpoint of them, start to back off, and with `undefined` when they accept
 * requests again.
 */
type OnBackoff = (
  hosts: readonly Host[],
  status: BackoffStatus | undefined,
  endpoint: string | undefined,
) => void

type PlannedEndpoint = { readonly host: Host; readonly name: string }

/**
 * A stream whose runs share its workers: together they have as many requests of an endpoint in flight as one
 * run.
 */
interface SharedStream {
  readonly name: string
  readonly workers: number
  readonly endpoints: readonly PlannedEndpoint[]
}

/**
 * The limiters of one run. Services with the same base address share them. `changes`: what of the policy is
 * not as the settings say.
 */
export const createLimiters = (
  settings: Settings,
  onBackoff: OnBackoff = () => undefined,
  changes: Partial<LimitPolicy> = {},
): LimiterRegistry => new SharedLimiters(settings, [], changes).open(onBackoff)

/** The limiters of all runs of a collector: they know what a host allows, also between runs. */
export class SharedLimiters {
  private readonly all = new Map<string, KnownHost>()
  private readonly origins = new Map<string, Origin>()
  private readonly members: KnownLimiter[] = []
  private readonly link = new NetworkLink()
  private readonly runs = new Set<ReturnType<typeof followLimiters>>()

  private readonly policy: LimitPolicy

  constructor(
    private readonly settings: Settings,
    private readonly streams: readonly SharedStream[] = [],
    changes: Partial<LimitPolicy> = {},
  ) {
    this.policy = { ...createLimitPolicy(settings), ...changes }
  }

  /**
   * Those of one run, until it closes. It has all patience for outages, which those that run beside it then
   * have, too.
   */
  open(onBackoff: OnBackoff, planned?: readonly PlannedEndpoint[]) {
    this.renew()
    const run = followLimiters(onBackoff, planned)
    for (const member of this.members) run.onOpen(member)
    this.runs.add(run)
    return {
      forEndpoint: (endpoint: PlannedEndpoint): HostLimiter => this.forEndpoint(endpoint),
      /** How often requests are repeated, and after which pauses. */
      policy: this.policy,
      /** Measurements of the network link, shared by all hosts; updated as bytes arrive. */
      link: this.link,
      /** Before a second pass: hosts that refused everything are probed once more. */
      allowProbes: (): void => {
        for (const { limiter } of this.members) limiter.state = allowProbe(limiter.state)
      },
      /** Lines for the report, of each host that delayed requests. */
      warnings: () => [...run.warnings(), ...run.findLimits(this.members)],
      status: () => this.status(),
      close: (): void => void this.runs.delete(run),
    }
  }

  /** Reads all limiters now. Nothing is counted for it: whoever wants to know pays. */
  status(): readonly LimiterStatus[] {
    return this.members.flatMap(({ limiter, hosts, endpoint, now, origin }) => {
      if (endpoint !== undefined) return { hosts, endpoint, ...readLimiter(limiter, now()) }
      if (origin === undefined) return []
      return { hosts, ...combineReadings(readLimiter(origin, now()), readLimiter(limiter, now())) }
    })
  }

  private renew(): void {
    if (this.runs.size > 0) {
      for (const { limiter, now } of this.members)
        limiter.state = extendPatience(limiter.state, now(), this.policy.downMs)
      return
    }
    this.link.reset()
    for (const { context } of this.all.values()) context.itemFailures = new ItemFailures()
    for (const { limiter, now } of this.members) limiter.state = renewPatience(limiter.state, now())
  }

  private forEndpoint({ host, name }: PlannedEndpoint): HostLimiter {
    const address = toHostAddress(this.settings, host)
    const known = getOrAdd(this.all, address, () => this.openHost(host, address))
    return getOrAdd(known.byEndpoint, name, () => {
      const { context } = known
      const endpoint = this.openLimiter(known, context.now, name)
      context.endpoints.push(endpoint)
      const { limiter, origin } = context
      return { endpoint, host: context, levels: [endpoint, limiter, ...(origin ? [origin.limiter] : [])] }
    })
  }

  private openHost(host: Host, address: string): KnownHost {
    const { settings, policy, link } = this
    const hosts = listHosts(settings).filter((other) => toHostAddress(settings, other) === address)
    const origin = getOrAdd(this.origins, toOrigin(address), () => this.openOrigin(host, toOrigin(address)))
    const { now } = origin
    const limiter = this.openLimiter({ host, hosts, origin: origin.limiter }, now)
    const itemFailures = new ItemFailures()
    const context = { limiter, origin, endpoints: [], itemFailures, link, now, settings: policy }
    return { host, hosts, byEndpoint: new Map(), context }
  }

  private openOrigin(host: Host, address: string): Origin {
    const { settings } = this
    const hosts = listHosts(settings).filter((other) => toOrigin(toHostAddress(settings, other)) === address)
    const now = createStopwatch()
    return new Origin(this.openLimiter({ host, hosts }, now), now)
  }

  /** The workers of all streams that request an endpoint; none if no stream is known. */
  private countWorkers({ host, name }: PlannedEndpoint): number | undefined {
    const { settings } = this
    const address = toHostAddress(settings, host)
    const users = this.streams.filter(({ endpoints }) =>
      endpoints.some((one) => one.name === name && toHostAddress(settings, one.host) === address),
    )
    return users.length === 0
      ? undefined
      : users.reduce((sum, stream) => sum + (this.settings.workers[stream.name] ?? stream.workers), 0)
  }

  private openLimiter(
    { host, hosts, origin }: Pick<KnownHost, 'host' | 'hosts'> & { readonly origin?: Limiter },
    now: () => number,
    endpoint?: string,
  ): Limiter {
    const { settings } = this
    const maxRates =
      origin && endpoint === undefined ? hosts.flatMap((name) => settings.hosts[name]?.maxRate ?? []) : []
    const onChange = (before: LimiterState, after: LimiterState, at: number): void => {
      for (const run of this.runs) run.onChange(member, before, after, at)
    }
    const maxInFlight = endpoint === undefined ? undefined : this.countWorkers({ host, name: endpoint })
    const limiter = new Limiter({
      name: endpoint ?? host,
      settings: this.policy,
      now,
      maxRate: Math.min(...maxRates),
      maxInFlight,
      onChange,
    })
    const member: KnownLimiter = { limiter, host, hosts, endpoint, now, origin }
    this.members.push(member)
    return limiter
  }
}

/**
 * What one run sees of the limiters of its plan, or of all: their back-offs as they happen, and a summary for
 * its report.
 */
const followLimiters = (onBackoff: OnBackoff, planned?: readonly PlannedEndpoint[]) => {
  const isPlanned = ({ hosts, endpoint }: KnownLimiter): boolean =>
    planned === undefined ||
    planned.some(({ host, name }) => hosts.includes(host) && (endpoint === undefined || endpoint === name))
  const summaries = new Map<KnownLimiter, ReturnType<typeof createHostSummary>>()
  const summaryOf = (member: KnownLimiter) => getOrAdd(summaries, member, () => createHostSummary(member))
  const paused = new Set<KnownLimiter>()
  const report = (member: KnownLimiter, state: LimiterState, at: number): void => {
    const status = toBackoffStatus(state, at)
    if (status) paused.add(member)
    else if (!paused.delete(member)) return
    onBackoff(member.hosts, status, member.endpoint)
  }
  return {
    /** A back-off that another run began is one of this run, too, while it lasts. */
    onOpen: (member: KnownLimiter): void => {
      const [{ state }, now] = [member.limiter, member.now()]
      if (isPlanned(member) && (isDown(state) || isRefusing(state, now))) report(member, state, now)
    },
    onChange: (member: KnownLimiter, before: LimiterState, after: LimiterState, at: number): void => {
      if (!isPlanned(member)) return
      summaryOf(member).onChange(before, after, at)
      report(member, after, at)
    },
    warnings: () =>
      [...summaries].flatMap(([{ host }, summary]) => summary.toWarnings().map((text) => ({ host, text }))),
    /** What was found of the limits; that of an endpoint only if no wider one is known. */
    findLimits: (members: readonly KnownLimiter[]) => {
      const found = members.filter((member) => isPlanned(member) && knowsLimit(member.limiter.state))
      const isWide = ({ endpoint }: KnownLimiter): boolean => endpoint === undefined
      return found
        .filter(
          (one) => isWide(one) || !found.some((other) => isWide(other) && other.hosts.includes(one.host)),
        )
        .map((one) => ({ host: one.host, text: `${toName(one)} ${describeFoundLimit(one.limiter.state)}` }))
    },
  }
}

const toName = ({ host, endpoint }: KnownLimiter): string =>
  endpoint === undefined || endpoint === host ? host : `${host} ${endpoint}`

/** Summarises back-offs and outages of a host for the report. */
const createHostSummary = (member: KnownLimiter) => {
  const { limiter, now: readClock } = member
  const name = toName(member)
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
    toWarnings(): readonly string[] {
      const [host, now] = [limiter.state, readClock()]
      const ongoing = host.backoff?.why === 'down' && host.backoff.attempts > 0 ? now - host.backoff.since : 0
      const rate =
        lowestRate === Number.POSITIVE_INFINITY
          ? ''
          : `; the lowest rate was ${Number(lowestRate.toPrecision(2))} requests/s`
      const suffix = ongoing > 0 ? ', and has not recovered' : ''
      return [
        ...(backoffs > 0
          ? [
              `${name} refused requests (429, pages, or failures beside answers); backed off ${formatTimes(backoffs)}${rate}`,
            ]
          : []),
        ...(outages > 0
          ? [
              `${name} was down ${formatTimes(outages)}, ${Math.round((downMs + ongoing) / 1_000)} s in total${suffix}`,
            ]
          : []),
      ]
    },
  }
}

const formatTimes = (count: number): string => (count === 1 ? 'once' : `${count} times`)
