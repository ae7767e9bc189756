import { asyncScheduler, catchError, defer, finalize, Observable, tap, throwError } from 'rxjs'
import { formatError, type HostClosedError, HostDownError } from '../model/errors.js'
import type { BackoffReason } from '../model/event.js'
import type { LimiterSettings } from './backoff.js'
import { answered, classifyError, type HealthSignal, inconclusive } from './health-signal.js'
import { hasTrouble, isDown, isRefusing, toBackoffStatus } from './host-state.js'
import { createHostSummary } from './host-summary.js'
import { createItemFailures } from './item-failures.js'
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
  const itemFailures = createItemFailures()

  const createLimiterOf = (endpoint?: string): Limiter => {
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
  const host = createLimiterOf()
  const findEndpoint = (endpoint: string): EndpointLimiter => {
    const limiter = endpoints.get(endpoint) ?? { ...createLimiterOf(endpoint), name: endpoint }
    endpoints.set(endpoint, limiter)
    return limiter
  }
  const isOtherRefusing = (endpoint: EndpointLimiter): boolean =>
    [...endpoints.values()].some((other) => other !== endpoint && isRefusing(other.state(), now()))

  /** No item is to blame for a host that cannot be reached. */
  const judgeSignal = (signal: HealthSignal, endpoint: EndpointLimiter, { item, isList = false }: ScheduleOptions): HealthSignal => {
    if (signal.kind !== 'trouble' || signal.sign === 'unreachable') return signal
    const isOwn = itemFailures.isOwn(`${endpoint.name} ${item}`, isList)
    return isOwn && host.state().backoff === undefined ? inconclusive : signal
  }
  const release = (signal: HealthSignal, { endpoint, permits }: Admission, { item, isList = false }: ScheduleOptions): void => {
    if (signal.kind === 'answered') itemFailures.onAnswer(`${endpoint.name} ${item}`)
    const isRefusal = signal.kind === 'refused' || signal.kind === 'non-answer'
    const isHostFailure = signal.kind === 'trouble' && signal.sign !== 'item'
    const isOneItemEnough = link.served === 0 || (isHostFailure && (itemFailures.answers() === 0 || isList))
    // One refusing endpoint backs off alone; a second one makes the whole host back off.
    host.release(permits[1], { signal: isRefusal && !isOtherRefusing(endpoint) ? inconclusive : signal, item, isOneItemEnough })
    const isForHost = signal.kind === 'slow' || (signal.kind === 'trouble' && isDown(host.state()))
    endpoint.release(permits[0], { signal: isForHost ? inconclusive : signal, item, isOneItemEnough: isHostFailure && isList })
  }
  const observe = <T>(attempt$: Observable<T>, admission: Admission, options: ScheduleOptions): Observable<T> =>
    defer(() => {
      const startedAt = asyncScheduler.now()
      let isOpen = true
      const finish = (signal: HealthSignal): void => {
        if (isOpen) release(signal, admission, options)
        isOpen = false
      }
      return attempt$.pipe(
        tap(() => {
          recordReply(link, asyncScheduler.now() - startedAt)
          finish(answered)
        }),
        catchError((error: unknown) => {
          const reclassified = reclassifyTimeout(error, link, options.idleMs)
          const signal = classifyError(reclassified)
          finish(judgeSignal(signal, admission.endpoint, options))
          const isOutage = signal.kind === 'trouble' && !options.failFast && [host, admission.endpoint].some((one) => isDown(one.state()))
          return throwError(() => (isOutage ? new HostDownError(formatError(error), { cause: error }) : reclassified))
        }),
        finalize(() => finish(inconclusive)),
      )
    })
  const createHostLimiter = (endpoint: EndpointLimiter): HostLimiter => ({
    schedule: (attempt$, options) =>
      acquireBoth({ endpoint, host, options }, (permits) => observe(attempt$, { endpoint, permits }, options)),
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

interface Acquiring {
  readonly endpoint: Limiter
  readonly host: Limiter
  readonly options: ScheduleOptions
}

/** Waits for a permit of the endpoint, then for one of the host, and works with both. Unsubscribing leaves the queues, or ends the work. */
const acquireBoth = <T>(
  { endpoint, host, options: { item, failFast = false } }: Acquiring,
  work: (permits: Admission['permits']) => Observable<T>,
): Observable<T> =>
  new Observable((subscriber) => {
    const acquireHost = (endpointPermit: Permit): void => {
      let isSent = false
      const releaseUnsent = (): void => {
        if (!isSent) endpoint.release(endpointPermit, { signal: inconclusive, item, isOneItemEnough: false })
        isSent = true
      }
      const start = (hostPermit: Permit): void => {
        isSent = true
        subscriber.add(work([endpointPermit, hostPermit]).subscribe(subscriber))
      }
      const reject = (error: HostClosedError): void => {
        releaseUnsent()
        subscriber.error(error)
      }
      subscriber.add(host.acquire({ failFast, start, reject }))
      if (!isSent) subscriber.add(releaseUnsent)
    }
    subscriber.add(endpoint.acquire({ failFast, start: acquireHost, reject: (error) => subscriber.error(error) }))
  })
