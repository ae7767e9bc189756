import type { CauseTest } from './verdict.js'

/**
 * An adaptive limit of the rate (requests a second) or of the concurrency (requests in flight). It grows
 * until the host refuses again.
 */
export interface AdaptiveLimit {
  readonly level: number
  readonly since: number
  /** Whether the host's limit is known. Until then the limit doubles each second (slow start). */
  readonly isKnown: boolean
}

export const unlimited: AdaptiveLimit = { level: Number.POSITIVE_INFINITY, since: 0, isKnown: false }

/**
 * The limit at an instant. A known limit grows by a cubic curve, like CUBIC (RFC 9438): it starts at 0.8 of
 * its level, stays near it for about 10 s, then grows ever faster. Refusals stay rare, and a raised limit of
 * the host is used fully within half a minute.
 */
export const computeLimit = ({ level, since, isKnown }: AdaptiveLimit, now: number): number => {
  const seconds = (now - since) / 1_000
  return level * (isKnown ? 1 + 0.2 * (seconds / 10 - 1) ** 3 : 2 ** seconds)
}

/**
 * The limit after a refusal, given an estimate of the host's own. The first refusal may be an accident, so it
 * only starts the search.
 */
export const lowerLimit = ({ level }: AdaptiveLimit, estimate: number, now: number): AdaptiveLimit => {
  const isKnown = level !== Number.POSITIVE_INFINITY
  return { level: isKnown ? 0.95 * estimate : estimate, since: now, isKnown }
}

/**
 * The adaptive rate and concurrency limits of a host, with their measurements. Instants are milliseconds of
 * the limiter's stopwatch. What each request of a healthy host changes is changed in place.
 */
export interface RateState {
  perSecond: AdaptiveLimit
  /** The rate in the settings; infinite if there is none. */
  readonly maxPerSecond: number
  /** The concurrency in the settings; infinite if there is none. */
  readonly maxInFlight: number
  inFlight: AdaptiveLimit
  /** Connections that the host grants at once, where that is what it limits. */
  connections?: number | undefined
  /** A test has shown that it limits the rate. */
  isRate?: boolean
  nextAt: number
  /** When the host began to grant requests, at first or after a back-off. */
  recoveredAt: number
  /** Grants in the one-second window that began at `at`, in the one before, and in the fullest of late. */
  readonly granted: { at: number; now: number; before: number; most: number }
  readonly refusal?: Refusal
  /** When concurrency was last halved because of slow replies. */
  readonly slowedAt: number
  signs: RefusalSigns
  /** While the host refuses some: when they were refused, and from when to when others were answered. */
  readonly seen: {
    readonly refused: number[]
    readonly granted: (readonly [from: number, to: number])[]
    /** Requests in flight with the last refused one, and when that was sent. */
    inFlight: number
    sentAt: number
  }
}

/** What tells a limit of the host from accidents. */
export interface RefusalSigns {
  /** Something was granted. */
  readonly hasGranted: boolean
  /** The first of the refusals below. */
  readonly since: number
  /** Refusals, and grants since the first of them. Older ones fade. */
  readonly refused: number
  readonly granted: number
  /** The limit (by its `since`) below which a request was refused. */
  readonly below?: number | undefined
  /** Back-offs in a row that did not end them. */
  readonly holds: number
  /** How often a known limit was lowered in a row. */
  readonly lowered: number
  /** A limit is lowered to see whether that ends them. */
  readonly test?: LimitTest | undefined
  /** Until then they do not depend on the requests in flight. */
  readonly notConnectionsUntil?: number
  /** Requests are refused by accident, this share of them. */
  readonly accidents?: { readonly share: number; readonly until: number } | undefined
}

export type AdaptiveLimits = Pick<RateState, 'perSecond' | 'inFlight'>

export interface LimitTest extends Omit<CauseTest, 'isOver'> {
  readonly since: number
  readonly before: AdaptiveLimits
  /** The limits after it, if it ends the refusals. */
  readonly after: AdaptiveLimits
}

/** The first refusal: requests in flight at that moment, and how many of them were granted or refused. */
interface Refusal {
  readonly at: number
  readonly inFlight: number
  readonly granted: number
  readonly refused: number
}

export const createRateState = (maxPerSecond: number, maxInFlight = Number.POSITIVE_INFINITY): RateState => ({
  perSecond: unlimited,
  maxPerSecond,
  maxInFlight,
  inFlight: unlimited,
  nextAt: 0,
  recoveredAt: 0,
  granted: { at: 0, now: 0, before: 0, most: 0 },
  slowedAt: 0,
  signs: { hasGranted: false, since: 0, refused: 0, granted: 0, holds: 0, lowered: 0 },
  seen: { refused: [], granted: [], inFlight: 0, sentAt: 0 },
})

/**
 * Timers fire up to this late. Requests due within it are sent together, so that a rate above one in
 * this time is kept.
 */
const MAX_TIMER_LAG_MS = 10
/** Requests a second, the lowest start of the search for the host's limit. */
export const MIN_INITIAL_RATE = 5
export const MIN_RATE = 0.2
/** Pseudo-count of grants (additive smoothing): few samples follow a refusal. */
const SMOOTHING = 2

/** Milliseconds until the next request may be sent; infinite while concurrency is exhausted. */
export const computeDelay = (rate: RateState, inFlight: number, now: number): number =>
  inFlight >= Math.max(1, Math.floor(computeMaxInFlight(rate, now)))
    ? Number.POSITIVE_INFINITY
    : Math.max(0, rate.nextAt - now)

/** Requests in flight now. */
export const computeMaxInFlight = ({ inFlight, maxInFlight }: RateState, now: number): number =>
  Math.min(maxInFlight, computeLimit(inFlight, now))

export const computeRate = ({ perSecond, maxPerSecond }: RateState, now: number): number =>
  Math.min(maxPerSecond, Math.max(MIN_RATE, computeLimit(perSecond, now)))

export const countSend = (rate: RateState, now: number): void => {
  const perSecond = computeRate(rate, now)
  if (perSecond === Number.POSITIVE_INFINITY) return
  const unusedMs = now - rate.nextAt
  // A limit that is not used is not found to be higher.
  if (rate.nextAt > 0 && unusedMs > MAX_TIMER_LAG_MS && rate.perSecond !== unlimited)
    rate.perSecond = { ...rate.perSecond, since: Math.min(now, rate.perSecond.since + unusedMs) }
  const lagMs = perSecond > 1_000 / MAX_TIMER_LAG_MS ? MAX_TIMER_LAG_MS : 0
  rate.nextAt = Math.max(rate.nextAt, now - lagMs) + 1_000 / perSecond
}

export const onRefusal = (rate: RateState, inFlight: number, now: number): RateState => {
  rollWindow(rate.granted, now)
  return { ...rate, refusal: { at: now, inFlight, granted: 0, refused: 0 } }
}

/** Records a reply to a request that was in flight when the host began to refuse. */
export const onLateReply = (rate: RateState, isGranted: boolean): RateState => {
  const { refusal } = rate
  if (refusal === undefined) return rate
  const { granted, refused } = refusal
  return {
    ...rate,
    refusal: { ...refusal, granted: granted + (isGranted ? 1 : 0), refused: refused + (isGranted ? 0 : 1) },
  }
}

/** Sets the limits after a back-off: lower than before if the host had refused. */
export const onRecovery = (rate: RateState, now: number): RateState => {
  const { refusal, ...rest } = rate
  const recovered = { ...rest, nextAt: now, recoveredAt: now, signs: { ...rate.signs, hasGranted: true } }
  if (refusal === undefined) return recovered
  const share = (refusal.granted + SMOOTHING) / (refusal.granted + refusal.refused + SMOOTHING)
  const isFull =
    refusal.inFlight >= Math.floor(computeLimit(rate.inFlight, refusal.at)) || rate.inFlight === unlimited
  return {
    ...recovered,
    perSecond: lowerLimit(rate.perSecond, estimateRate(rate, refusal, share), now),
    inFlight: isFull ? lowerLimit(rate.inFlight, refusal.inFlight * share, now) : rate.inFlight,
  }
}

/** Concurrency after an outage, or beside refusals; it doubles each second (slow start). */
const IN_FLIGHT_AFTER_OUTAGE = 8

/** Limits from which more and more requests are sent, until some are refused. */
export const slowStart = (
  rate: RateState,
  now: number,
): Pick<RateState, 'perSecond' | 'inFlight' | 'nextAt'> => ({
  perSecond: {
    level: Math.max(MIN_INITIAL_RATE, rate.granted.most, measureGrantRate(rate, now)),
    since: now,
    isKnown: false,
  },
  inFlight: { level: IN_FLIGHT_AFTER_OUTAGE, since: now, isKnown: false },
  nextAt: now,
})

/** Starts slowly after an outage. */
export const onOutageEnd = (rate: RateState, now: number): RateState => {
  const inFlight: AdaptiveLimit = { level: IN_FLIGHT_AFTER_OUTAGE, since: now, isKnown: false }
  const isLower = computeLimit(rate.inFlight, now) < IN_FLIGHT_AFTER_OUTAGE
  return { ...onRecovery(rate, now), inFlight: isLower ? rate.inFlight : inFlight }
}

/**
 * Halves concurrency after a slow reply; once for all requests that were sent before, since the same load
 * slowed them.
 */
export const onSlowReply = (
  rate: RateState,
  { inFlight, sentAt, now }: { inFlight: number; sentAt: number; now: number },
): RateState => {
  if (sentAt < rate.slowedAt) return rate
  const level = Math.max(1, Math.min(inFlight, computeLimit(rate.inFlight, now)) / 2)
  return { ...rate, inFlight: { level, since: now, isKnown: true }, slowedAt: now }
}

/** Estimates the grants in the second before a refusal, from two windows. */
export const countLastSecond = ({ granted: { at, now, before } }: RateState, until: number): number =>
  now + before * Math.max(0, 1 - (until - at) / 1_000)

/** Grants a second before an instant. */
export const measureGrantRate = (rate: RateState, until: number): number =>
  countLastSecond(rate, until) / Math.min(1, Math.max(0.1, (until - rate.recoveredAt) / 1_000))

export const estimateRate = (rate: RateState, refusal: Refusal, share: number): number => {
  const measured = measureGrantRate(rate, refusal.at)
  if (rate.perSecond === unlimited) return Math.max(MIN_INITIAL_RATE, measured + refusal.granted)
  const limit = computeLimit(rate.perSecond, refusal.at) * share
  // Without a grant in the last second nothing was measured: the first refusal after a back-off may be an
  // accident.
  return Math.max(MIN_RATE, measured === 0 ? limit / 2 : Math.min(measured, limit))
}

export const rollWindow = (granted: RateState['granted'], now: number): void => {
  const seconds = Math.floor((now - granted.at) / 1_000)
  if (seconds < 1) return
  granted.at += seconds * 1_000
  granted.before = seconds === 1 ? granted.now : 0
  if (granted.now > 0) granted.most = Math.max(granted.now, granted.most / 2)
  granted.now = 0
}
