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
import type { HostContext, HostLimiter, Limiter, Origin, Permit, QueuedRequest } from './limiter.js'
import { forgetRefusals, hasLimit, isPaced, mayHaveLimit, takeLimit } from './shared-limit.js'
import { isDown, isHeldBack, isRefusing, toRefusal } from './state.js'

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
  /** How a refused request waits that neither a back-off nor a queue holds. Default: `identity`. */
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

interface Permits {
  /** One of each level. */
  readonly ofLevels: readonly Permit[]
  /** Epoch milliseconds. */
  readonly sentAt: number
}

/** The permits of one attempt: `send` is called once it has all. */
const createPermits = (
  { endpoint, host, levels }: HostLimiter,
  item: string,
  { failFast, send, reject }: Pick<QueuedRequest, 'failFast' | 'reject'> & { readonly send: () => void },
) => {
  let held: Permit[] = []
  let sentAt = 0
  const acquire = (): void => {
    if (held.length === 0 && !endpoint.state.rate.signs.hasGranted) host.origin?.onFirst(endpoint)
    levels[held.length]?.acquire(queued)
  }
  const releaseUnsent = (): void => {
    const unsent = held
    held = []
    for (const [level, permit] of unsent.entries())
      levels[level]?.release(permit, { signal: inconclusive, item, isOneItemEnough: false })
  }
  const queued: QueuedRequest = {
    failFast,
    reject,
    start: (permit) => {
      held.push(permit)
      if (held.length < levels.length) return acquire()
      sentAt = asyncScheduler.now()
      send()
    },
    // An earlier level may have refused another request while this one waited for a later one.
    mayStart: () => {
      const isHeld = held.some(({ generation }, level) => {
        const state = levels[level]?.state
        return state?.backoff !== undefined && state.generation !== generation
      })
      if (!isHeld) return true
      releaseUnsent()
      acquire()
      return false
    },
  }
  return {
    acquire,
    /** The permits of an attempt that was sent, once: they are to be returned. */
    take: (): Permits | undefined => {
      if (held.length < levels.length) return undefined
      const all = { ofLevels: held, sentAt }
      held = []
      return all
    },
    leaveQueues: (): void => {
      for (const level of levels) level.cancel(queued)
      if (held.length < levels.length) releaseUnsent()
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
  const { host } = limiter
  const { idleMs = 0, failFast = false, onEnd } = request
  let hasAnswered = false
  const finish = (signal: HealthSignal, failure: unknown): void => {
    const all = permits.take()
    if (all === undefined) return
    if (signal.kind === 'answered') host.link.onReply(asyncScheduler.now() - all.sentAt)
    returnPermits(limiter, request, all.ofLevels, signal)
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
      const own = findCause(seen, limiter, request)
      const signal = limiter.levels.reduce((one, { state }) => toRefusal(one, state, host.now()), own)
      finish(signal, error)
      const isDownNow = limiter.levels.some(({ state }) => isDown(state))
      const isOutage = seen.kind === 'trouble' && !failFast && isDownNow
      return {
        failure: isOutage
          ? new HostDownError(formatError(error), { cause: error })
          : toThrottled(failure, signal, limiter),
        pauseMs: signal.kind === 'refused' ? findOwnPause(signal.retryAfterMs, limiter) : undefined,
      }
    },
  }
}

const toExchange = ({ request, response }: CollectError) => ({ request, response })

/** A failure that is a refusal, as the error of one, so that it is not counted as a retry. */
const toThrottled = (failure: unknown, signal: HealthSignal, { levels }: HostLimiter): unknown =>
  signal.kind === 'refused' &&
  failure instanceof CollectError &&
  failure.verdict !== 'wait' &&
  levels.some(({ state }) => isHeldBack(state))
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
 * holds it for long enough, or if it waits for its turn at a lowered pace.
 */
const findOwnPause = (
  retryAfterMs: number | undefined,
  { levels, host }: HostLimiter,
): number | undefined => {
  const hasQueue = levels.some(({ state, waiting }) => waiting > 0 && isPaced(state))
  if (retryAfterMs === undefined && hasQueue) return undefined
  const pauseMs = computeRefusalPause(retryAfterMs, host.settings)
  const dueAt = host.now() + Math.max(0, pauseMs - MAX_EARLY_MS)
  return levels.some(({ state }) => isRefusing(state, dueAt)) ? undefined : pauseMs
}

const [ENDPOINT, HOST, ORIGIN] = [0, 1, 2]
const ANSWERED = { signal: answered, item: '', isOneItemEnough: false } as const

/** Returns the permits of an attempt that was sent: the limiters learn from the signal. */
const returnPermits = (
  limiter: HostLimiter,
  { item, isList = false }: LimitedRequest,
  permits: readonly Permit[],
  signal: HealthSignal,
): void => {
  const { levels, host } = limiter
  const { itemFailures, link } = host
  const release = (level: number, result: Parameters<Limiter['release']>[1]): void => {
    const permit = permits[level]
    if (permit) levels[level]?.release(permit, result)
  }
  if (signal.kind === 'answered') {
    itemFailures.onAnswer(limiter.endpoint.name, item)
    const { endpoint } = limiter
    const { origin } = host
    const { rate, doubtful } = endpoint.state
    const isInDoubt = doubtful > 0 || rate.signs.refused > 0 || rate.signs.test !== undefined
    for (let level = levels.length - 1; level >= 0; level -= 1) release(level, ANSWERED)
    if (origin && isInDoubt && mayHaveLimit(endpoint.state)) {
      origin.suspect()
      if (hasLimit(endpoint.state))
        origin.limiter.state = takeLimit(origin.limiter.state, endpoint.state, origin.now())
    }
    if (permits[ORIGIN]) origin?.onAnswer(endpoint, permits[ORIGIN])
    return
  }
  if (signal.kind === 'refused' || signal.kind === 'non-answer') {
    returnRefused(limiter, item, signal, release)
    return
  }
  const isHostFailure = signal.kind === 'trouble' && signal.sign !== 'item'
  const isOneItemEnough = link.served === 0 || (isHostFailure && (itemFailures.answers === 0 || isList))
  // Whether failures are refusals is the endpoint's to judge: another one may answer while this one is down.
  const ofHost = signal.kind === 'trouble' ? { ...signal, mayBeLimit: false } : signal
  const { origin } = host
  if (origin && permits[ORIGIN] && signal.kind === 'trouble' && signal.mayBeLimit)
    origin.onDoubt(permits[ORIGIN])
  const ofOrigin = origin && isDown(origin.limiter.state) ? ofHost : inconclusive
  release(ORIGIN, { signal: ofOrigin, item, isOneItemEnough })
  release(HOST, { signal: ofHost, item, isOneItemEnough, isList })
  const isForHost = signal.kind === 'slow' || (signal.kind === 'trouble' && isDown(host.limiter.state))
  release(ENDPOINT, {
    signal: isForHost ? inconclusive : signal,
    item,
    isOneItemEnough: isHostFailure && isList,
    isList,
  })
}

/** A refusal is that of the endpoint, of its whole host, or of their origin. */
const returnRefused = (
  { endpoint, host }: HostLimiter,
  item: string,
  signal: HealthSignal,
  release: (level: number, result: Parameters<Limiter['release']>[1]) => void,
): void => {
  const { origin } = host
  const result = { signal, item, isOneItemEnough: false }
  const unknown = { ...result, signal: inconclusive }
  if (origin && signal.kind === 'refused' && isOfOrigin(origin, endpoint, host.now())) {
    release(ORIGIN, result)
    release(HOST, unknown)
    release(ENDPOINT, unknown)
    return
  }
  if (origin) release(ORIGIN, unknown)
  release(ENDPOINT, result)
  if (mayHaveLimit(endpoint.state)) origin?.suspect()
  // One refusing endpoint backs off alone; a second one makes the whole host back off.
  const isForAll = isRefusing(endpoint.state, host.now()) && isOtherRefusing(host, endpoint)
  const ofHost = signal.kind === 'refused' ? { ...signal, isCertain: true } : signal
  release(HOST, isForAll ? { ...result, signal: ofHost } : unknown)
}

/** Endpoints that are refused within so long of each other ran into one limit, */
const SAME_LIMIT_MS = 1_000
/** or within this, once it is known. */
const SAME_KNOWN_LIMIT_MS = 10_000

/**
 * Whether a refusal is one by the whole origin. What its endpoints have taken for limits of their own is not.
 * An endpoint that answers nothing is judged alone.
 */
const isOfOrigin = (origin: Origin, endpoint: Limiter, now: number): boolean => {
  const { limiter, refusedAt, answeredAt } = origin
  if (endpoint.state.backoff !== undefined) return false
  refusedAt.set(endpoint, now)
  const aliveAt = answeredAt.get(endpoint) ?? now
  answeredAt.set(endpoint, aliveAt)
  if (now - aliveAt > SAME_KNOWN_LIMIT_MS) return false
  const ms = origin.isSuspect || hasLimit(limiter.state) ? SAME_KNOWN_LIMIT_MS : SAME_LIMIT_MS
  const others = [...refusedAt].filter(([other, at]) => other !== endpoint && now - at < ms)
  if (others.length === 0) return false
  for (const one of [endpoint, ...others.map(([other]) => other)]) one.change(forgetRefusals(one.state))
  return true
}

const isOtherRefusing = ({ endpoints, now }: HostContext, endpoint: Limiter): boolean =>
  endpoints.some((other) => other !== endpoint && isRefusing(other.state, now()))
