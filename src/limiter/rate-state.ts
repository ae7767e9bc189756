/** An adaptive limit of the rate (requests a second) or of the concurrency (requests in flight). It grows until the host refuses again. */
interface AdaptiveLimit {
  readonly level: number
  /** When it was set. */
  readonly since: number
  /** Whether the host's limit is known. Until then the limit doubles each second (slow start). */
  readonly isKnown: boolean
}

export const unlimited: AdaptiveLimit = { level: Number.POSITIVE_INFINITY, since: 0, isKnown: false }

/**
 * The limit at an instant. A known limit grows by a cubic curve, like CUBIC (RFC 9438): it starts at 0.8 of its level, stays near it for
 * about 10 s, then grows ever faster. Refusals stay rare, and a raised limit of the host is used fully within half a minute.
 */
export const computeLimit = ({ level, since, isKnown }: AdaptiveLimit, now: number): number => {
  const seconds = (now - since) / 1_000
  return level * (isKnown ? 1 + 0.2 * (seconds / 10 - 1) ** 3 : 2 ** seconds)
}

/** The limit after a refusal, given an estimate of the host's own. The first refusal may be an accident, so it only starts the search. */
export const lowerLimit = ({ level }: AdaptiveLimit, estimate: number, now: number): AdaptiveLimit => {
  const isKnown = level !== Number.POSITIVE_INFINITY
  return { level: isKnown ? 0.95 * estimate : estimate, since: now, isKnown }
}

/** The adaptive rate and concurrency limits of a host, with their measurements. Instants are milliseconds of the limiter's stopwatch. */
export interface RateState {
  readonly perSecond: AdaptiveLimit
  readonly inFlight: AdaptiveLimit
  /** When the next request may be sent. */
  readonly nextAt: number
  /** When the host began to grant requests, at first or after a back-off. */
  readonly recoveredAt: number
  /** Grants in the one-second window that began at `at`, and in the window before. */
  readonly granted: { readonly at: number; readonly now: number; readonly before: number }
  /** The most grants in the second before a refusal, over the last ten minutes. */
  readonly peak: { readonly at: number; readonly inSecond: number }
  readonly refusal?: Refusal
  /** When concurrency was last halved because of slow replies. */
  readonly slowedAt: number
}

/** The first refusal: requests in flight at that moment, and how many of them were granted or refused. */
interface Refusal {
  readonly at: number
  readonly inFlight: number
  readonly granted: number
  readonly refused: number
}

export const initialRateState: RateState = {
  perSecond: unlimited,
  inFlight: unlimited,
  nextAt: 0,
  recoveredAt: 0,
  granted: { at: 0, now: 0, before: 0 },
  peak: { at: 0, inSecond: 0 },
  slowedAt: 0,
}

/** Timers fire up to this late. Requests due within it are sent together, so that the rate is kept. */
const MAX_TIMER_LAG_MS = 10
/** Requests a second, the lowest start of the search for the host's limit. */
const MIN_INITIAL_RATE = 5
const MIN_RATE = 0.2
/** Never go below this share of the peak while most requests are granted: refusals then do not depend on the rate. */
const MIN_SHARE_OF_PEAK = 1 / 4
const PEAK_TTL_MS = 600_000
/** Pseudo-count of grants (additive smoothing): few samples follow a refusal. */
const SMOOTHING = 2

/** Milliseconds until the next request may be sent; infinite while concurrency is exhausted. */
export const computeDelay = (rate: RateState, inFlight: number, now: number): number =>
  inFlight >= Math.max(1, Math.floor(computeLimit(rate.inFlight, now))) ? Number.POSITIVE_INFINITY : Math.max(0, rate.nextAt - now)

export const onSend = (rate: RateState, now: number): RateState => {
  const perSecond = computeLimit(rate.perSecond, now)
  return perSecond === Number.POSITIVE_INFINITY
    ? rate
    : { ...rate, nextAt: Math.max(rate.nextAt, now - MAX_TIMER_LAG_MS) + 1_000 / perSecond }
}

export const onGrant = (rate: RateState, now: number): RateState => {
  const granted = rollWindow(rate.granted, now)
  return { ...rate, granted: { ...granted, now: granted.now + 1 } }
}

/** Records the first refusal. */
export const onRefusal = (rate: RateState, inFlight: number, now: number): RateState => ({
  ...rate,
  granted: rollWindow(rate.granted, now),
  refusal: { at: now, inFlight, granted: 0, refused: 0 },
})

/** Records a reply to a request that was in flight when the host began to refuse. */
export const onLateReply = (rate: RateState, isGranted: boolean): RateState => {
  const { refusal } = rate
  if (refusal === undefined) return rate
  const { granted, refused } = refusal
  return { ...rate, refusal: { ...refusal, granted: granted + (isGranted ? 1 : 0), refused: refused + (isGranted ? 0 : 1) } }
}

/** Sets the limits after a back-off: lower than before if the host had refused. */
export const onRecovery = (rate: RateState, now: number): RateState => {
  const { refusal, ...rest } = rate
  if (refusal === undefined) return { ...rest, nextAt: now, recoveredAt: now }
  const recovered = { ...rest, nextAt: now, recoveredAt: now, peak: updatePeak(rate, refusal) }
  const share = (refusal.granted + SMOOTHING) / (refusal.granted + refusal.refused + SMOOTHING)
  const isFull = refusal.inFlight >= Math.floor(computeLimit(rate.inFlight, refusal.at)) || rate.inFlight === unlimited
  return {
    ...recovered,
    perSecond: lowerLimit(rate.perSecond, estimateRate({ ...rate, peak: recovered.peak }, refusal, share), now),
    inFlight: isFull ? lowerLimit(rate.inFlight, refusal.inFlight * share, now) : rate.inFlight,
  }
}

/** Concurrency after an outage; it doubles each second (slow start). */
const IN_FLIGHT_AFTER_OUTAGE = 8

/** Starts slowly after an outage. */
export const onOutageEnd = (rate: RateState, now: number): RateState => {
  const inFlight: AdaptiveLimit = { level: IN_FLIGHT_AFTER_OUTAGE, since: now, isKnown: false }
  const isLower = computeLimit(rate.inFlight, now) < IN_FLIGHT_AFTER_OUTAGE
  return { ...onRecovery(rate, now), inFlight: isLower ? rate.inFlight : inFlight }
}

/** Halves concurrency after a slow reply; once for all requests that were sent before, since the same load slowed them. */
export const onSlowReply = (rate: RateState, { inFlight, sentAt, now }: { inFlight: number; sentAt: number; now: number }): RateState => {
  if (sentAt < rate.slowedAt) return rate
  const level = Math.max(1, Math.min(inFlight, computeLimit(rate.inFlight, now)) / 2)
  return { ...rate, inFlight: { level, since: now, isKnown: true }, slowedAt: now }
}

/** Estimates the grants in the second before a refusal, from two windows. */
const countLastSecond = ({ granted: { at, now, before } }: RateState, refusal: Refusal): number =>
  now + before * Math.max(0, 1 - (refusal.at - at) / 1_000)

const updatePeak = (rate: RateState, refusal: Refusal): RateState['peak'] => {
  const inSecond = countLastSecond(rate, refusal)
  const isOld = refusal.at - rate.peak.at > PEAK_TTL_MS
  return isOld || inSecond > rate.peak.inSecond ? { at: refusal.at, inSecond } : rate.peak
}

const estimateRate = (rate: RateState, refusal: Refusal, share: number): number => {
  const inLastSecond = countLastSecond(rate, refusal)
  if (rate.perSecond === unlimited) return Math.max(MIN_INITIAL_RATE, inLastSecond + refusal.granted)
  const measured = inLastSecond / Math.min(1, Math.max(0.1, (refusal.at - rate.recoveredAt) / 1_000))
  const slowest = share > 0.5 ? rate.peak.inSecond * MIN_SHARE_OF_PEAK : 0
  return Math.max(MIN_RATE, slowest, Math.min(measured, computeLimit(rate.perSecond, refusal.at) * share))
}

const rollWindow = (granted: RateState['granted'], now: number): RateState['granted'] => {
  const seconds = Math.floor((now - granted.at) / 1_000)
  if (seconds < 1) return granted
  return { at: granted.at + seconds * 1_000, now: 0, before: seconds === 1 ? granted.now : 0 }
}
