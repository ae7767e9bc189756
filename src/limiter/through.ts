import {
  asyncScheduler,
  catchError,
  identity,
  type MonoTypeOperatorFunction,
  mergeMap,
  Observable,
  tap,
  timer,
} from 'rxjs'
import { CollectError, formatError, HostDownError, ThrottledError } from '../model/errors.js'
import type { Pause } from '../operators/merge-map-with-pauses.js'
import { computeRefusalPause } from './backoff.js'
import { answered, classifyError, type HealthSignal, inconclusive } from './health-signal.js'
import type { HostContext, HostLimiter, Limiter, Permit, QueuedRequest } from './limiter.js'
import { isDown, isHeldBack, isRefusing, type LimiterState, toRefusal } from './state.js'

export type { Pause } from '../operators/merge-map-with-pauses.js'

/** What the limiters know of a request beside its end. */
export interface LimitedRequest {
  /** The stock, index or list that it is for: the same failing item is no evidence against its host. */
  readonly item: string
  /** It is one of a few lists: no other items can show whether a failure is the host's or the item's. */
  readonly isList?: boolean | undefined
  /**
   * The idle timeout, milliseconds. A timeout may be the fault of a saturated network link, where it is
   * measured; 0 where it is not.
   */
  readonly idleMs?: number | undefined
  /** The caller has another source: fail at once while the circuit is open. */
  readonly failFast?: boolean | undefined
  /** What a failure is, as the limiters and what is behind them see it. Default: as it is. */
  readonly classify?: ((error: unknown) => unknown) | undefined
  /** Called before each attempt is sent; it may cancel the request. */
  readonly onSend?: (() => void) | undefined
  /** Told the end of each attempt that was sent: its failure, `undefined` after an answer, or `cancelled`. */
  readonly onEnd?: ((failure: unknown) => void) | undefined
  /** How a refused request waits if no back-off holds it. Default: `identity`. */
  readonly pause?: Pause | undefined
}

/**
 * Subscribes to one attempt of a request as soon as it has a permit of its endpoint and one of its host, each
 * first in, first out. Both learn from its end. A refused attempt that nothing else holds fails after its own
 * pause; in a back-off it fails at once, and waits here when it is sent again. The operators after this one,
 * such as `retryFailures`, need not wait. During an outage an attempt fails with a
 * `HostDownError`, and waits here when it is sent again. A host that is given up fails it with a
 * `HostClosedError`.
 */
export const through =
  <T>(limiter: HostLimiter, request: LimitedRequest): MonoTypeOperatorFunction<T> =>
  (attempt$) => {
    const { pause = identity, classify = identity } = request
    const admitted$ = new Observable<T>((subscriber) => {
      const send = (): void => {
        try {
          request.onSend?.()
        } catch (error) {
          subscriber.error(error)
        }
        if (!subscriber.closed) sent$.subscribe(subscriber)
      }
      const permits = createPermits(limiter, request.item, {
        failFast: request.failFast ?? false,
        send,
        reject: (error) => subscriber.error(error),
      })
      const end = createAttemptEnd(limiter, request, permits)
      const sent$ = attempt$.pipe(
        tap({ next: end.onValue, complete: end.leave }),
        catchError((error: unknown) => {
          const { failure, pauseMs } = end.onFailure(classify(error))
          if (pauseMs === undefined) throw failure
          return pause(timer(pauseMs)).pipe(
            mergeMap(() => {
              throw failure
            }),
          )
        }),
      )
      subscriber.add(end.leave)
      permits.acquire()
    })
    return limiter.around?.(admitted$) ?? admitted$
  }

interface BothPermits {
  readonly ofEndpoint: Permit
  readonly ofHost: Permit
  /** Epoch milliseconds. */
  readonly sentAt: number
}

/** The permits of one attempt: `send` is called once it has both. */
const createPermits = (
  { endpoint, host }: HostLimiter,
  item: string,
  { failFast, send, reject }: Pick<QueuedRequest, 'failFast' | 'reject'> & { readonly send: () => void },
) => {
  let ofEndpoint: Permit | undefined
  let ofHost: Permit | undefined
  let sentAt = 0
  const acquire = (): void => endpoint.acquire(queued)
  const releaseUnsent = (permit: Permit): void => {
    ofEndpoint = undefined
    endpoint.release(permit, { signal: inconclusive, item, isOneItemEnough: false })
  }
  const queued: QueuedRequest = {
    failFast,
    reject,
    start: (permit) => {
      if (ofEndpoint === undefined) {
        ofEndpoint = permit
        host.limiter.acquire(queued)
      } else {
        ofHost = permit
        sentAt = asyncScheduler.now()
        send()
      }
    },
    // The endpoint may have refused another request while this one waited for the host.
    mayStart: () => {
      const { generation, backoff } = endpoint.state
      if (ofEndpoint === undefined || backoff === undefined || generation === ofEndpoint.generation)
        return true
      releaseUnsent(ofEndpoint)
      acquire()
      return false
    },
  }
  return {
    acquire,
    /** Both permits of an attempt that was sent, once: they are to be returned. */
    take: (): BothPermits | undefined => {
      const both = ofEndpoint && ofHost && { ofEndpoint, ofHost, sentAt }
      if (both) ofEndpoint = ofHost = undefined
      return both
    },
    leaveQueues: (): void => {
      endpoint.cancel(queued)
      host.limiter.cancel(queued)
      if (ofEndpoint && !ofHost) releaseUnsent(ofEndpoint)
    },
  }
}

/** The end of an attempt that nobody waits for any more. */
export const cancelled = Symbol('cancelled')

/** What the limiters learn from the end of an attempt. */
const createAttemptEnd = (
  limiter: HostLimiter,
  request: LimitedRequest,
  permits: ReturnType<typeof createPermits>,
) => {
  const { endpoint, host } = limiter
  const { idleMs = 0, failFast = false, onEnd } = request
  let hasAnswered = false
  const finish = (signal: HealthSignal, failure: unknown): void => {
    const both = permits.take()
    if (both === undefined) return
    if (signal.kind === 'answered') host.link.onReply(asyncScheduler.now() - both.sentAt)
    returnPermits(limiter, request, both, signal)
    onEnd?.(failure)
  }
  /** A consumer that has taken what it needs has got an answer; without a value there was none. */
  const leave = (): void => {
    permits.leaveQueues()
    if (hasAnswered) finish(answered, undefined)
    else finish(inconclusive, cancelled)
  }
  return {
    onValue: (): void => {
      hasAnswered = true
    },
    leave,
    onFailure: (error: unknown) => {
      const failure = idleMs > 0 ? host.link.reclassify(error, idleMs) : error
      const seen = classifyError(failure)
      const signal = toRefusal(findCause(seen, limiter, request), endpoint.state, host.now())
      finish(signal, error)
      const isDownNow = isDown(host.limiter.state) || isDown(endpoint.state)
      const isOutage = seen.kind === 'trouble' && !failFast && isDownNow
      return {
        failure: isOutage
          ? new HostDownError(formatError(error), { cause: error })
          : toThrottled(failure, signal, endpoint.state),
        pauseMs: signal.kind === 'refused' ? findOwnPause(signal.retryAfterMs, limiter) : undefined,
      }
    },
  }
}

const toExchange = ({ request, response }: CollectError) => ({ request, response })

/** A failure that is a refusal, as the error of one, so that it is not counted as a retry. */
const toThrottled = (failure: unknown, signal: HealthSignal, endpoint: LimiterState): unknown =>
  signal.kind === 'refused' &&
  failure instanceof CollectError &&
  failure.verdict !== 'wait' &&
  isHeldBack(endpoint)
    ? new ThrottledError(signal.retryAfterMs, toExchange(failure), failure.message)
    : failure

/**
 * The signal of a failure for the limiters: none if the item fails by itself. No item is to blame for a host
 * that cannot be reached.
 */
const findCause = (
  signal: HealthSignal,
  { endpoint, host }: HostLimiter,
  { item, isList = false }: LimitedRequest,
): HealthSignal => {
  if (signal.kind !== 'trouble' || signal.sign === 'unreachable') return signal
  const isOwn = host.itemFailures.isOwn(`${endpoint.name} ${item}`, isList)
  if (!isOwn || host.limiter.state.backoff !== undefined) return signal
  return signal.sign === 'slow' ? { kind: 'slow' } : inconclusive
}

/** A back-off that began with this very refusal may end some milliseconds before its pause. */
const MAX_EARLY_MS = 100

/**
 * The pause of a refused request that nothing else holds; undefined if the back-off of its endpoint or host
 * holds it for long enough.
 */
const findOwnPause = (
  retryAfterMs: number | undefined,
  { endpoint, host }: HostLimiter,
): number | undefined => {
  const pauseMs = computeRefusalPause(retryAfterMs, host.settings)
  const dueAt = host.now() + Math.max(0, pauseMs - MAX_EARLY_MS)
  return isRefusing(host.limiter.state, dueAt) || isRefusing(endpoint.state, dueAt) ? undefined : pauseMs
}

const ANSWERED = { signal: answered, item: '', isOneItemEnough: false } as const

/** Returns the permits of an attempt that was sent: both limiters learn from the signal. */
const returnPermits = (
  { endpoint, host }: HostLimiter,
  { item, isList = false }: LimitedRequest,
  permits: BothPermits,
  signal: HealthSignal,
): void => {
  const { limiter, itemFailures, link } = host
  if (signal.kind === 'answered') {
    itemFailures.onAnswer(endpoint.name, item)
    limiter.release(permits.ofHost, ANSWERED)
    endpoint.release(permits.ofEndpoint, ANSWERED)
    return
  }
  const isHostFailure = signal.kind === 'trouble' && signal.sign !== 'item'
  const isOneItemEnough = link.served === 0 || (isHostFailure && (itemFailures.answers === 0 || isList))
  if (signal.kind === 'refused' || signal.kind === 'non-answer') {
    endpoint.release(permits.ofEndpoint, { signal, item, isOneItemEnough: false })
    // One refusing endpoint backs off alone; a second one makes the whole host back off.
    const isForAll = isRefusing(endpoint.state, host.now()) && isOtherRefusing(host, endpoint)
    const hostSignal = signal.kind === 'refused' ? { ...signal, isCertain: true } : signal
    limiter.release(permits.ofHost, { signal: isForAll ? hostSignal : inconclusive, item, isOneItemEnough })
    return
  }
  // Whether failures are refusals is the endpoint's to judge: another one may answer while this one is down.
  const ofHost = signal.kind === 'trouble' ? { ...signal, mayBeLimit: false } : signal
  limiter.release(permits.ofHost, { signal: ofHost, item, isOneItemEnough, isList })
  const isForHost = signal.kind === 'slow' || (signal.kind === 'trouble' && isDown(limiter.state))
  endpoint.release(permits.ofEndpoint, {
    signal: isForHost ? inconclusive : signal,
    item,
    isOneItemEnough: isHostFailure && isList,
    isList,
  })
}

const isOtherRefusing = ({ endpoints, now }: HostContext, endpoint: Limiter): boolean =>
  endpoints.some((other) => other !== endpoint && isRefusing(other.state, now()))
