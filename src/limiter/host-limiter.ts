import { asyncScheduler, type Observable } from 'rxjs'
import { getOrAdd } from '../model/map.js'
import type { LimiterSettings } from './backoff.js'
import { createLimiter, type Limiter } from './limiter.js'
import { type BackoffStatus, hasTrouble, isDown, isRefusing, type LimiterState, toBackoffStatus } from './limiter-state.js'
import { createNetworkLink, type NetworkLink } from './network-link.js'
import {
  acquireBoth,
  createItemFailures,
  type EndpointLimiter,
  type HostContext,
  observeAttempt,
  type ScheduleOptions,
} from './observe-attempt.js'
import { computeLimit, computeRate } from './rate-state.js'

export type { ScheduleOptions }

/** Limits the requests of all streams of a run to one endpoint: by the limits of the host and by those of the endpoint. */
export interface HostLimiter {
  /**
   * Subscribes to one attempt as soon as host and endpoint allow it, first in, first out, and learns from its result. Unsubscribing leaves
   * the queue, or aborts the attempt.
   *
   * @throws HostClosedError the host was given up
   * @throws HostDownError the attempt failed while the circuit is open; retry it without counting
   */
  readonly schedule: <T>(attempt$: Observable<T>, options: ScheduleOptions) => Observable<T>
  /** Whether host or endpoint are backing off, have an open circuit, or failed the last request. */
  readonly isUnhealthy: () => boolean
}

export type HostLimiters = ReturnType<typeof createHostLimiters>

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
  const createSummarizedLimiter = (endpoint?: string): Limiter => {
    const summary = createHostSummary(endpoint === undefined || endpoint === name ? name : `${name} ${endpoint}`)
    const limiter = createLimiter({
      settings,
      now,
      maxRate: endpoint === undefined ? maxRate : undefined,
      onChange: (before, after, at) => {
        summary.onChange(before, after, at)
        onBackoff(toBackoffStatus(after, at), endpoint)
      },
    })
    summaries.push(() => summary.toWarnings(limiter.state(), now()))
    return limiter
  }
  const host: HostContext = { limiter: createSummarizedLimiter(), endpoints: [], itemFailures: createItemFailures(), link, now, settings }
  const limiters = new Map<string, HostLimiter>()
  const createForEndpoint = (endpoint: string): HostLimiter => {
    const limiter = { ...createSummarizedLimiter(endpoint), name: endpoint }
    host.endpoints.push(limiter)
    return createHostLimiter(host, limiter)
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

const createHostLimiter = (host: HostContext, endpoint: EndpointLimiter): HostLimiter => ({
  schedule: (attempt$, options) =>
    acquireBoth(endpoint, host.limiter, options, (permits, subscriber) =>
      observeAttempt(attempt$, { host, admission: { endpoint, permits }, options }, subscriber),
    ),
  isUnhealthy: () => hasTrouble(host.limiter.state()) || hasTrouble(endpoint.state()),
})

/** A monotonic clock on RxJS' scheduler (virtual in tests), in milliseconds. It ignores backward steps of the system clock. */
const createStopwatch = (): (() => number) => {
  let last = asyncScheduler.now()
  let passed = 0
  return () => {
    const at = asyncScheduler.now()
    passed += Math.max(0, at - last)
    last = at
    return passed
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
  const state = limiter.state()
  return {
    inFlight: state.inFlight,
    waiting: limiter.waiting(),
    maxInFlight: computeLimit(state.rate.inFlight, now),
    maxPerSecond: computeRate(state.rate, now),
    isHeld: isDown(state) || isRefusing(state, now),
    circuit: !isDown(state) ? 'closed' : state.isProbing ? 'half-open' : 'open',
  }
}
