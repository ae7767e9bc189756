import { asyncScheduler, Observable, type Subscriber } from 'rxjs'
import { formatError, HostDownError } from '../model/errors.js'
import type { BackoffReason } from '../model/event.js'
import type { LimiterSettings } from './backoff.js'
import { answered, classifyError, type HealthSignal, inconclusive } from './health-signal.js'
import { hasTrouble, toBackoffStatus } from './host-state.js'
import { createHostSummary } from './host-summary.js'
import { createLimiter, type Limiter, type Permit } from './limiter.js'
import { createNetworkLink, type NetworkLink, reclassifyTimeout, recordReply } from './network-link.js'
import { createStopwatch } from './stopwatch.js'

/** What the limiter needs to know of a request. */
export interface ScheduleOptions {
  /** The stock, index or list that it is for. */
  readonly item: string
  /** It is one of a few lists: no other items can show whether the failure is the host's or the item's. */
  readonly isList?: boolean
  /** The idle timeout of the request. */
  readonly idleMs: number
  /** The caller has another source: fail at once while the circuit is open. */
  readonly failFast?: boolean
}

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

/** A back-off or open circuit of a host, or of one endpoint; times count from now. */
export interface BackoffStatus {
  readonly why: BackoffReason
  /** Until the next probe. */
  readonly ms: number
  /** Since the trouble began. */
  readonly sinceMs: number
  /** Until waiting requests fail; absent while unknown. */
  readonly giveUpMs?: number
}

export interface HostLimiters {
  readonly forEndpoint: (endpoint: string) => HostLimiter
  /** Lines for the report. */
  readonly warnings: () => readonly string[]
}

interface EndpointLimiter extends Limiter {
  readonly name: string
}

/** The limiters of all endpoints of a host. The callback receives each back-off as it begins or grows, and `undefined` when it ends. */
export const createHostLimiters = (
  name: string,
  settings: LimiterSettings,
  {
    link = createNetworkLink(),
    onBackoff = () => undefined,
  }: { link?: NetworkLink; onBackoff?: (status: BackoffStatus | undefined, endpoint?: string) => void } = {},
): HostLimiters => {
  const now = createStopwatch()
  const summaries: (() => readonly string[])[] = []
  const endpoints = new Map<string, EndpointLimiter>()
  /** The answer count of the host when an item last failed; -1 for items that are known to fail by themselves. */
  const servedAtFailure = new Map<string, number>()
  let served = 0

  const createEndpointLimiter = (endpoint?: string): Limiter => {
    const summary = createHostSummary(endpoint === undefined ? name : `${name} ${endpoint}`)
    const limiter = createLimiter({
      settings,
      now,
      onChange: (before, after, at) => {
        summary.onChange(before, after, at)
        onBackoff(toBackoffStatus(after, at), endpoint)
      },
    })
    summaries.push(() => summary.toWarnings(limiter.state(), now()))
    return limiter
  }
  const host = createEndpointLimiter()
  const findEndpoint = (endpoint: string): EndpointLimiter => {
    const limiter = endpoints.get(endpoint) ?? { ...createEndpointLimiter(endpoint), name: endpoint }
    endpoints.set(endpoint, limiter)
    return limiter
  }
  const isDown = (limiter: Limiter): boolean => limiter.state().backoff?.why === 'down'
  /** The back-off of an endpoint that no stream uses any more ends by itself. */
  const isRefusing = (limiter: Limiter): boolean => {
    const { backoff, isProbing } = limiter.state()
    return backoff?.why === 'refuses' && (isProbing || now() < backoff.until)
  }
  const isOtherRefusing = (endpoint: EndpointLimiter): boolean =>
    [...endpoints.values()].some((other) => other !== endpoint && isRefusing(other))

  /** An item that fails again while the host answers others fails by itself, from then on; a list only while the host answers others. */
  const isItemFailure = (key: string, isList: boolean): boolean => {
    const before = servedAtFailure.get(key) ?? served
    servedAtFailure.set(key, before < served && !isList ? -1 : served)
    return before < served && host.state().backoff === undefined
  }
  /** No item is to blame for a host that cannot be reached. */
  const judgeSignal = (signal: HealthSignal, endpoint: EndpointLimiter, { item, isList = false }: ScheduleOptions): HealthSignal => {
    if (signal.kind !== 'trouble' || signal.sign === 'unreachable') return signal
    return isItemFailure(`${endpoint.name} ${item}`, isList) ? inconclusive : signal
  }

  const release = (signal: HealthSignal, { endpoint, permits }: Admission, { item, isList = false }: ScheduleOptions): void => {
    if (signal.kind === 'answered') {
      served += 1
      servedAtFailure.delete(`${endpoint.name} ${item}`)
    }
    const isRefusal = signal.kind === 'refused' || signal.kind === 'non-answer'
    const isHostFailure = signal.kind === 'trouble' && signal.sign !== 'item'
    const isOneItemEnough = link.served === 0 || (isHostFailure && (served === 0 || isList))
    // One refusing endpoint backs off alone; a second one makes the whole host back off.
    host.release(permits[1], { signal: isRefusal && !isOtherRefusing(endpoint) ? inconclusive : signal, item, isOneItemEnough })
    const isForHost = signal.kind === 'slow' || (signal.kind === 'trouble' && isDown(host))
    endpoint.release(permits[0], { signal: isForHost ? inconclusive : signal, item, isOneItemEnough: isHostFailure && isList })
  }
  const attempt = <T>(attempt$: Observable<T>, options: ScheduleOptions, { subscriber, endpoint, permits }: ActiveAttempt<T>): void => {
    const startedAt = asyncScheduler.now()
    let isOpen = true
    const finish = (signal: HealthSignal): void => {
      if (!isOpen) return
      isOpen = false
      release(signal, { endpoint, permits }, options)
    }
    const subscription = attempt$.subscribe({
      next: (value) => {
        recordReply(link, asyncScheduler.now() - startedAt)
        finish(answered)
        subscriber.next(value)
      },
      error: (error: unknown) => {
        const reclassified = reclassifyTimeout(error, link, options.idleMs)
        const signal = classifyError(reclassified)
        finish(judgeSignal(signal, endpoint, options))
        const isOutage = signal.kind === 'trouble' && !options.failFast && (isDown(host) || isDown(endpoint))
        subscriber.error(isOutage ? new HostDownError(formatError(error), { cause: error }) : reclassified)
      },
      complete: () => subscriber.complete(),
    })
    subscriber.add(() => {
      subscription.unsubscribe()
      finish(inconclusive)
    })
  }
  const createHostLimiter = (endpoint: EndpointLimiter): HostLimiter => ({
    schedule: (attempt$, options) =>
      new Observable((subscriber) => {
        const { failFast = false } = options
        const start = (endpointPermit: Permit): void => {
          let isSent = false
          const releaseUnsent = (): void => {
            if (!isSent) endpoint.release(endpointPermit, { signal: inconclusive, item: options.item, isOneItemEnough: false })
            isSent = true
          }
          subscriber.add(
            host.acquire({
              failFast,
              start: (hostPermit) => {
                isSent = true
                attempt(attempt$, options, { subscriber, endpoint, permits: [endpointPermit, hostPermit] })
              },
              reject: (error) => {
                releaseUnsent()
                subscriber.error(error)
              },
            }),
          )
          if (!isSent) subscriber.add(releaseUnsent)
        }
        subscriber.add(endpoint.acquire({ failFast, start, reject: (error) => subscriber.error(error) }))
      }),
    isUnhealthy: () => hasTrouble(host.state()) || hasTrouble(endpoint.state()),
  })
  const limiters = new Map<string, HostLimiter>()
  return {
    forEndpoint: (endpoint) => {
      const limiter = limiters.get(endpoint) ?? createHostLimiter(findEndpoint(endpoint))
      limiters.set(endpoint, limiter)
      return limiter
    },
    warnings: () => summaries.flatMap((summarize) => summarize()),
  }
}

interface Admission {
  readonly endpoint: EndpointLimiter
  readonly permits: readonly [endpoint: Permit, host: Permit]
}

interface ActiveAttempt<T> extends Admission {
  readonly subscriber: Subscriber<T>
}
