import { asyncScheduler, Observable, type Subscriber, timer } from 'rxjs'
import { formatError, type HostClosedError, HostDownError } from '../model/errors.js'
import { computeRefusalPause, type LimiterSettings } from './backoff.js'
import { answered, classifyError, type HealthSignal, inconclusive } from './health-signal.js'
import type { Limiter, Permit } from './limiter.js'
import { isDown, isRefusing } from './limiter-state.js'
import { type NetworkLink, reclassifyTimeout, recordReply } from './network-link.js'

/** The permits of one attempt. */
type Permits = readonly [endpoint: Permit, host: Permit]

/** Waits for a permit of the endpoint, then for one of the host, and works with both. Unsubscribing leaves the queues, or ends the work. */
export const acquireBoth = <T>(
  endpoint: Limiter,
  host: Limiter,
  { item, failFast = false }: Pick<ScheduleOptions, 'item' | 'failFast'>,
  work: (permits: Permits, subscriber: Subscriber<T>) => void,
): Observable<T> =>
  new Observable((subscriber) => {
    const reject = (error: HostClosedError): void => subscriber.error(error)
    const acquireEndpoint = (): void => subscriber.add(endpoint.acquire({ failFast, start: acquireHost, reject }))
    const acquireHost = (endpointPermit: Permit): void => {
      let isWaiting = true
      const releaseUnsent = (): void => {
        if (isWaiting) endpoint.release(endpointPermit, { signal: inconclusive, item, isOneItemEnough: false })
        isWaiting = false
      }
      const start = (hostPermit: Permit): void => {
        isWaiting = false
        work([endpointPermit, hostPermit], subscriber)
      }
      // The endpoint may have refused another request while this one waited for the host.
      const mayStart = (): boolean => {
        const { generation, backoff } = endpoint.state()
        if (backoff === undefined || generation === endpointPermit.generation) return true
        releaseUnsent()
        acquireEndpoint()
        return false
      }
      subscriber.add(host.acquire({ failFast, start, mayStart, reject }))
      if (isWaiting) subscriber.add(releaseUnsent)
    }
    acquireEndpoint()
  })

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
  /** The request was refused and waits by itself: its worker can do other work. */
  readonly onOwnPause?: () => void
}

export interface EndpointLimiter extends Limiter {
  readonly name: string
}

/** What the endpoints of a host share. */
export interface HostContext {
  readonly limiter: Limiter
  readonly endpoints: EndpointLimiter[]
  readonly itemFailures: ReturnType<typeof createItemFailures>
  readonly link: NetworkLink
  readonly now: () => number
  readonly settings: LimiterSettings
}

/** A back-off that began with this very refusal may end some milliseconds before its pause. */
const MAX_EARLY_MS = 100

interface Admission {
  readonly endpoint: EndpointLimiter
  readonly permits: Permits
}

/**
 * Subscribes to an admitted attempt: its result releases the permits, and both limiters learn from it. Not by `tap`, `catchError` and
 * `finalize`: what they keep of each waiting request reaches the old generation (0.40 instead of 0.33 of the bytes answered).
 */
export const observeAttempt = <T>(
  attempt$: Observable<T>,
  { host, admission, options }: { readonly host: HostContext; readonly admission: Admission; readonly options: ScheduleOptions },
  subscriber: Subscriber<T>,
): void => {
  const startedAt = asyncScheduler.now()
  let isOpen = true
  const finish = (signal: HealthSignal): void => {
    if (!isOpen) return
    isOpen = false
    release(signal, host, admission, options)
  }
  const subscription = attempt$.subscribe({
    next: (value) => {
      recordReply(host.link, asyncScheduler.now() - startedAt)
      finish(answered)
      subscriber.next(value)
    },
    error: (error: unknown) => {
      const reclassified = reclassifyTimeout(error, host.link, options.idleMs)
      const signal = classifyError(reclassified)
      finish(judgeSignal(signal, host, admission.endpoint, options))
      const isDownNow = isDown(host.limiter.state()) || isDown(admission.endpoint.state())
      const isOutage = signal.kind === 'trouble' && !options.failFast && isDownNow
      const failure = isOutage ? new HostDownError(formatError(error), { cause: error }) : reclassified
      if (signal.kind !== 'refused') return subscriber.error(failure)
      const pauseMs = computeRefusalPause(signal.retryAfterMs, host.settings)
      // A back-off that ends clearly before the pause that this reply asked for does not hold this request for long enough.
      const dueAt = host.now() + Math.max(0, pauseMs - MAX_EARLY_MS)
      const isHeld = [host.limiter, admission.endpoint].some((limiter) => isRefusing(limiter.state(), dueAt))
      if (isHeld) return subscriber.error(failure)
      options.onOwnPause?.()
      subscriber.add(timer(pauseMs).subscribe(() => subscriber.error(failure)))
    },
    complete: () => subscriber.complete(),
  })
  subscriber.add(() => {
    subscription.unsubscribe()
    finish(inconclusive)
  })
}

/** No item is to blame for a host that cannot be reached. */
const judgeSignal = (
  signal: HealthSignal,
  { limiter, itemFailures }: HostContext,
  { name }: EndpointLimiter,
  { item, isList = false }: ScheduleOptions,
): HealthSignal => {
  if (signal.kind !== 'trouble' || signal.sign === 'unreachable') return signal
  const isOwn = itemFailures.isOwn(`${name} ${item}`, isList)
  if (!isOwn || limiter.state().backoff !== undefined) return signal
  return signal.sign === 'slow' ? { kind: 'slow' } : inconclusive
}

const release = (
  signal: HealthSignal,
  host: HostContext,
  { endpoint, permits }: Admission,
  { item, isList = false }: ScheduleOptions,
): void => {
  const { limiter, itemFailures, link } = host
  if (signal.kind === 'answered') itemFailures.onAnswer(`${endpoint.name} ${item}`)
  const isRefusal = signal.kind === 'refused' || signal.kind === 'non-answer'
  const isHostFailure = signal.kind === 'trouble' && signal.sign !== 'item'
  const isOneItemEnough = link.served === 0 || (isHostFailure && (itemFailures.answers() === 0 || isList))
  if (isRefusal) {
    endpoint.release(permits[0], { signal, item, isOneItemEnough: false })
    // One refusing endpoint backs off alone; a second one makes the whole host back off.
    const isForAll = isRefusing(endpoint.state(), host.now()) && isOtherRefusing(host, endpoint)
    const hostSignal = signal.kind === 'refused' ? { ...signal, isCertain: true } : signal
    limiter.release(permits[1], { signal: isForAll ? hostSignal : inconclusive, item, isOneItemEnough })
    return
  }
  limiter.release(permits[1], { signal, item, isOneItemEnough, isList })
  const isForHost = signal.kind === 'slow' || (signal.kind === 'trouble' && isDown(limiter.state()))
  endpoint.release(permits[0], { signal: isForHost ? inconclusive : signal, item, isOneItemEnough: isHostFailure && isList, isList })
}

const isOtherRefusing = ({ endpoints, now }: HostContext, endpoint: EndpointLimiter): boolean =>
  endpoints.some((other) => other !== endpoint && isRefusing(other.state(), now()))

/** Tells the failures of single items from those of their host. */
export const createItemFailures = () => {
  /** The number of answers when an item last failed; -1 for items that fail by themselves. */
  const answersAtFailure = new Map<string, number>()
  let answers = 0
  return {
    /** Answers of the host so far. */
    answers: (): number => answers,
    onAnswer: (key: string): void => {
      answers += 1
      answersAtFailure.delete(key)
    },
    /**
     * Whether a failure is the item's own: it has failed before, and the host has answered others since. Such an item stays the cause of its
     * failures until it is answered; a list is judged anew each time, because few others show whether the host works.
     */
    isOwn: (key: string, isList: boolean): boolean => {
      const isOwn = (answersAtFailure.get(key) ?? answers) < answers
      answersAtFailure.set(key, isOwn && !isList ? -1 : answers)
      return isOwn
    },
  }
}
