import type { HostClosedError } from '../model/errors.js'
import {
  type Backoff,
  computeRefusalBackoff,
  createHostClosedError,
  type LimiterSettings,
  openCircuit,
} from './backoff.js'
import type { HealthSignal, RefusalSignal, TroubleSignal } from './health-signal.js'
import { countGrant, judgeRefusal, seeRefusal } from './judge.js'
import {
  computeDelay,
  countSend,
  createRateState,
  onLateReply,
  onOutageEnd,
  onRecovery,
  onRefusal,
  onSlowReply,
  type RateState,
  unlimited,
} from './rate.js'

/**
 * The limiter's state of a host, or of one endpoint: in-flight count, circuit breaker, adaptive rate.
 * `applyAttemptEnd` returns the next one; only counters of each request and answer are changed in place.
 * Instants are milliseconds of the limiter's stopwatch.
 */
export interface LimiterState {
  inFlight: number
  /**
   * Counts the back-offs, the failures that begin or continue one, and the lowered rates. A reply to a
   * request of an earlier generation is late: it is no further refusal, and can only make a back-off longer.
   */
  readonly generation: number
  readonly backoff?: Backoff | undefined
  /** The circuit is half-open: one probe request is in flight. */
  isProbing: boolean
  readonly rate: RateState
  /** Consecutive HTML pages and empty bodies. */
  readonly nonAnswers: number
  /** Consecutive requests that failed by the host's fault. */
  readonly failures: number
  readonly failingSince: number
  /** Those of them that may be a limit, and when the first was sent. */
  readonly doubtful: number
  readonly doubtfulFrom: number
  /** Until then the host counts as one that answers while it refuses: such a failure is a refusal. */
  readonly refusesSomeUntil: number
  /** The distinct items of those requests, at most as many as open the circuit. */
  readonly failedItems: readonly string[]
  /** Time spent waiting in past outages; all outages of a run share `downMs`. */
  readonly waitedMs: number
}

export const createLimiterState = (maxRate: number, maxInFlight?: number): LimiterState => ({
  inFlight: 0,
  generation: 0,
  isProbing: false,
  rate: createRateState(maxRate, maxInFlight),
  nonAnswers: 0,
  failures: 0,
  failingSince: 0,
  doubtful: 0,
  doubtfulFrom: 0,
  refusesSomeUntil: 0,
  failedItems: [],
  waitedMs: 0,
})

/**
 * The state for work that begins after all other has ended: what was learnt of the host's limits stays, and
 * all patience is there again.
 */
export const renewPatience = ({ backoff, ...state }: LimiterState, now: number): LimiterState => ({
  ...state,
  waitedMs: 0,
  failures: 0,
  doubtful: 0,
  failedItems: [],
  nonAnswers: 0,
  backoff:
    backoff?.why === 'refuses'
      ? { ...backoff, since: now, attempts: 0, giveUpAt: Number.POSITIVE_INFINITY }
      : undefined,
})

/**
 * The state for a run that begins beside others: all patience is there again, and what the others have found
 * stays.
 */
export const extendPatience = (state: LimiterState, now: number, downMs: number): LimiterState => {
  const { backoff } = state
  if (backoff?.why !== 'down')
    return {
      ...state,
      waitedMs: 0,
      backoff: backoff && { ...backoff, since: now, giveUpAt: Number.POSITIVE_INFINITY },
    }
  // What the outage has taken so far does not count.
  return { ...state, waitedMs: backoff.since - now, backoff: { ...backoff, giveUpAt: now + downMs } }
}

/**
 * The state for a second pass: a host that was given up because it refused everything is probed once more,
 * when its pause is over.
 */
export const allowProbe = (state: LimiterState): LimiterState => {
  const { backoff } = state
  const isGivenUp = backoff?.why === 'refuses' && backoff.giveUpAt < backoff.until
  return isGivenUp ? { ...state, backoff: { ...backoff, giveUpAt: backoff.until } } : state
}

/** One HTML page can be the fault of one stock; this many in a row count as a refusal by the host. */
const MIN_NON_ANSWERS_FOR_REFUSAL = 3
/** Consecutive failures of this many distinct items open the circuit. */
const MIN_ITEMS_FOR_OUTAGE = 5
/** Consecutive failures that open the circuit where fewer items are enough. */
const MIN_FAILURES_FOR_OUTAGE = 3

/** Whether a host is probed whose pause ended after it was given up. */
export const isProbedLate = ({ backoff, isProbing }: LimiterState): boolean =>
  backoff !== undefined && isProbing && backoff.until >= backoff.giveUpAt

/** Decides on the next request: the delay in milliseconds (0: send it now), or the error to fail with. */
export const decideAdmission = (host: LimiterState, now: number): number | HostClosedError => {
  const { backoff, isProbing, inFlight, rate } = host
  if (backoff === undefined) return computeDelay(rate, inFlight, now)
  const { until, giveUpAt } = backoff
  if (now >= until && !isProbing) return 0
  // The requests that came since it was sent are sent, too, if it is answered.
  if (isProbedLate(host)) return Number.POSITIVE_INFINITY
  if (now >= giveUpAt) return createHostClosedError(backoff)
  return (isProbing ? giveUpAt : Math.min(until, giveUpAt)) - now
}

export const countSent = (host: LimiterState, now: number): void => {
  host.inFlight += 1
  if (host.backoff === undefined) countSend(host.rate, now)
  else host.isProbing = true
}

/** Counts the answer of a host without trouble; `false` if there is some, which the answer may end. */
export const countAnswer = (
  host: LimiterState,
  { generation, sentAt }: Pick<AttemptEnd, 'generation' | 'sentAt'>,
  now: number,
): boolean => {
  if (hasTrouble(host)) return false
  const isLate = generation !== host.generation
  host.inFlight -= 1
  host.isProbing &&= isLate
  countGrant(host.rate, now, isLate, sentAt)
  return true
}

export interface AttemptEnd {
  /** The generation in which it was sent. */
  readonly generation: number
  readonly sentAt: number
  readonly signal: HealthSignal
  readonly item: string
  /**
   * Failures of less than five items are enough to open the circuit: the host has answered nothing yet, or
   * the item is a list.
   */
  readonly isOneItemEnough: boolean
  readonly isList?: boolean | undefined
  readonly now: number
}

interface FailedAttempt extends AttemptEnd {
  readonly signal: TroubleSignal
}

export const applyAttemptEnd = (
  before: LimiterState,
  end: AttemptEnd,
  settings: LimiterSettings,
): LimiterState => {
  const { signal } = end
  const isCurrent = end.generation === before.generation
  const host = { ...before, inFlight: before.inFlight - 1, isProbing: before.isProbing && !isCurrent }
  switch (signal.kind) {
    case 'inconclusive':
      return host
    case 'slow':
      return { ...host, rate: onSlowReply(host.rate, { ...end, inFlight: before.inFlight }) }
    case 'answered': {
      const working = { ...host, nonAnswers: 0, failures: 0, failedItems: [] }
      const isBeside = end.sentAt >= before.doubtfulFrom - SAME_BURST_MS
      if (before.doubtful === 0 || !isBeside) return applyAnswer(working, end)
      const answering = { ...working, doubtful: 0 }
      return settings.throttleMs > 0
        ? refuseEarlier(answering, before.doubtful, end, settings)
        : applyAnswer(answering, end)
    }
    case 'non-answer': {
      if (!isCurrent) return host
      const nonAnswers = host.nonAnswers + 1
      if (nonAnswers < MIN_NON_ANSWERS_FOR_REFUSAL)
        return { ...host, nonAnswers, failures: 0, doubtful: 0, failedItems: [] }
      const next = applyRefusal(host, { ...end, retryAfterMs: undefined, isCertain: true }, settings)
      return next.backoff ? { ...next, backoff: { ...next.backoff, isByPages: true } } : next
    }
    case 'refused': {
      // No limit refuses a probe that is alone after a pause: the host is down.
      const { trouble } = signal
      if (trouble === undefined || !isCurrent || host.backoff?.why !== 'refuses')
        return applyRefusal(host, { ...end, ...signal }, settings)
      const down = { ...host, backoff: undefined, failingSince: end.now, refusesSomeUntil: 0 }
      return {
        ...down,
        generation: host.generation + 1,
        backoff: openCircuit(down, trouble, end.now, settings),
      }
    }
    case 'trouble': {
      const isSlow = signal.sign === 'slow'
      const next = isSlow
        ? { ...host, rate: onSlowReply(host.rate, { ...end, inFlight: before.inFlight }) }
        : host
      return isCurrent ? applyFailure(next, { ...end, signal }, settings) : next
    }
  }
}

const applyAnswer = (host: LimiterState, { generation, now, sentAt }: AttemptEnd): LimiterState => {
  const { backoff, rate } = host
  if (backoff === undefined) {
    countGrant(rate, now, generation !== host.generation, sentAt)
    return host
  }
  if (backoff.why === 'down') {
    // Any answer closes the circuit, whenever its request was sent. Without a failed probe there may have
    // been no outage.
    const closed = { ...host, backoff: undefined, isProbing: false }
    return backoff.attempts === 0
      ? closed
      : { ...closed, rate: onOutageEnd(rate, now), waitedMs: host.waitedMs + now - backoff.since }
  }
  if (generation !== host.generation) return { ...host, rate: onLateReply(rate, true) }
  return now < backoff.until ? host : { ...host, backoff: undefined, rate: onRecovery(rate, now) }
}

/** How long a host that has refused some requests while it answered others counts as one that does. */
const REFUSES_SOME_MS = 10_000

/** Requests are sent together if no more lies between them. */
export const SAME_BURST_MS = 100

/** The state of a host whose failures are refusals for now. */
export const refuseSome = (host: LimiterState, now: number): LimiterState => ({
  ...host,
  refusesSomeUntil: now + REFUSES_SOME_MS,
})

/**
 * An answer to a request that was sent with or after some that failed: the host was not down when they did,
 * so they are refusals.
 */
const refuseEarlier = (
  host: LimiterState,
  doubtful: number,
  end: AttemptEnd,
  settings: LimiterSettings,
): LimiterState => {
  countGrant(host.rate, end.now, end.generation !== host.generation, end.sentAt)
  const alive = { ...host, backoff: undefined, isProbing: false, refusesSomeUntil: end.now + REFUSES_SOME_MS }
  let state: LimiterState = alive
  for (let left = doubtful; left > 0 && state.generation === alive.generation; left -= 1)
    state = applyRefusal(
      state,
      { ...end, generation: state.generation, retryAfterMs: undefined, isDoubtful: true },
      settings,
    )
  return state
}

const applyRefusal = (
  before: LimiterState,
  {
    generation,
    now,
    sentAt,
    retryAfterMs,
    isCertain = false,
    isDoubtful = false,
  }: Omit<AttemptEnd, 'signal'> & Omit<RefusalSignal, 'kind'>,
  settings: LimiterSettings,
): LimiterState => {
  const { backoff, rate } = before
  seeRefusal(rate, { inFlight: before.inFlight + 1, sentAt }, now)
  const waitedMs = before.waitedMs + (backoff?.why === 'down' ? now - backoff.since : 0)
  const host = { ...before, nonAnswers: 0, failures: 0, doubtful: 0, failedItems: [], waitedMs }
  if (generation === host.generation) {
    const isNew = backoff === undefined && settings.throttleMs > 0
    const judged =
      isNew && !isCertain
        ? judgeRefusal(rate, now, { asksToWait: retryAfterMs !== undefined, isDoubtful })
        : { verdict: 'hold', rate }
    if (judged.verdict === 'isolated') return { ...host, rate: judged.rate }
    if (judged.verdict === 'slower') return { ...host, generation: generation + 1, rate: judged.rate }
    const next = computeRefusalBackoff(backoff, retryAfterMs, now, settings)
    return {
      ...host,
      generation: generation + 1,
      backoff: next,
      rate: isNew ? onRefusal(judged.rate, host.inFlight + 1, now) : rate,
    }
  }
  // A late reply can extend the back-off, but does not count as a refusal of the reduced rate.
  if (backoff === undefined) return host
  const late = computeRefusalBackoff(undefined, retryAfterMs, now, settings)
  return {
    ...host,
    backoff: { ...backoff, until: Math.max(backoff.until, late.until) },
    rate: onLateReply(rate, false),
  }
}

const applyFailure = (host: LimiterState, end: FailedAttempt, settings: LimiterSettings): LimiterState => {
  const { now, item } = end
  const failures = host.failures + 1
  const failedItems = host.failedItems.includes(item)
    ? host.failedItems
    : [...host.failedItems, item].slice(0, MIN_ITEMS_FOR_OUTAGE)
  const next = {
    ...host,
    failures,
    failedItems,
    failingSince: host.failures === 0 ? now : host.failingSince,
    doubtful: host.doubtful + (end.signal.mayBeLimit ? 1 : 0),
    doubtfulFrom: host.doubtful === 0 ? end.sentAt : Math.min(host.doubtfulFrom, end.sentAt),
  }
  if (host.backoff?.why !== 'down' && !isOutage(next, end, settings)) return next
  return { ...next, generation: host.generation + 1, backoff: openCircuit(next, end.signal, now, settings) }
}

const isOutage = (
  { failures, failedItems, inFlight }: LimiterState,
  { signal, isOneItemEnough, isList }: FailedAttempt,
  { downMs, retries }: LimiterSettings,
): boolean => {
  const isPatient = downMs > 0
  // One stock that fails may fail by itself; a list has no others that would show it.
  if (failedItems.length < 2 && !isList && signal.sign !== 'unreachable') return false
  // Without patience an open circuit only loses items earlier, so it takes clear evidence.
  if (failedItems.length >= MIN_ITEMS_FOR_OUTAGE) return isPatient || signal.sign !== 'item'
  if (isPatient && isOneItemEnough && failures > retries) return true
  if (failures < MIN_FAILURES_FOR_OUTAGE) return false
  // Near the end of a phase fewer than five items are left, and all of them may fail.
  const areAllFailing =
    isPatient && signal.sign !== 'item' && failedItems.length + inFlight < MIN_ITEMS_FOR_OUTAGE
  return isOneItemEnough || areAllFailing || signal.sign === 'unreachable'
}

/** The circuit is open: the host does not answer. */
export const isDown = ({ backoff }: LimiterState): boolean => backoff?.why === 'down'

/** A back-off after refusals lasts. That of an endpoint which no stream uses any more ends by itself. */
export const isRefusing = ({ backoff, isProbing }: LimiterState, now: number): boolean =>
  backoff?.why === 'refuses' && (isProbing || now < backoff.until)

/** A failure that may be a limit is a refusal while the host answers others. */
export const toRefusal = (signal: HealthSignal, state: LimiterState, now: number): HealthSignal =>
  signal.kind === 'trouble' && signal.mayBeLimit && now < state.refusesSomeUntil
    ? { kind: 'refused', retryAfterMs: signal.retryAfterMs, isDoubtful: true, trouble: signal }
    : signal

/** The host is held, or its limit was found: a refused request need not count as failed. */
export const isHeldBack = ({
  backoff,
  rate: { perSecond, connections, isRate, signs },
}: LimiterState): boolean =>
  backoff?.why === 'refuses' ||
  connections !== undefined ||
  signs.test?.cause === 'connections' ||
  (perSecond !== unlimited && (isRate || signs.test === undefined))

export const hasTrouble = ({ backoff, failures, doubtful, nonAnswers }: LimiterState): boolean =>
  backoff !== undefined || failures > 0 || doubtful > 0 || nonAnswers > 0

/** A back-off or open circuit of a host, or of one endpoint; times count from now. */
export type BackoffStatus = NonNullable<ReturnType<typeof toBackoffStatus>>

/** The status of a back-off for events; times count from `now`. */
export const toBackoffStatus = ({ backoff }: LimiterState, now: number) =>
  backoff && {
    why: backoff.isByPages ? ('pages' as const) : backoff.why,
    /** Until the next probe. */
    ms: backoff.until - now,
    sinceMs: now - backoff.since,
    /** Until waiting requests fail; absent while unknown. */
    ...(backoff.giveUpAt === Number.POSITIVE_INFINITY
      ? {}
      : { giveUpMs: Math.max(0, backoff.giveUpAt - now) }),
  }
