/**
 * An adaptive limit of the rate (requests a second) or of the concurrency (requests in flight). It grows
 * until the host refuses again.
 */
interface AdaptiveLimit {
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
  readonly inFlight: AdaptiveLimit
  nextAt: number
  /** When the host began to grant requests, at first or after a back-off. */
  recoveredAt: number
  /** Grants in the one-second window that began at `at`, and in the window before. */
  readonly granted: { at: number; now: number; before: number }
  readonly refusal?: Refusal
  /** When concurrency was last halved because of slow replies. */
  readonly slowedAt: number
  signs: RefusalSigns
}

/** What tells a limit of the host from accidents. */
interface RefusalSigns {
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
  /**
   * The rate is lowered to see whether that ends them: the rate after it, and the share that was refused
   * before.
   */
  readonly test?: { readonly level: number; readonly share: number } | undefined
  /** Requests are refused by accident, this share of them. */
  readonly accidents?: { readonly share: number; readonly until: number } | undefined
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
  granted: { at: 0, now: 0, before: 0 },
  slowedAt: 0,
  signs: { hasGranted: false, since: 0, refused: 0, granted: 0, holds: 0 },
})

/** Timers fire up to this late. Requests due within it are sent together, so that the rate is kept. */
const MAX_TIMER_LAG_MS = 10
/** Requests a second, the lowest start of the search for the host's limit. */
const MIN_INITIAL_RATE = 5
const MIN_RATE = 0.2
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
  if (perSecond < Number.POSITIVE_INFINITY)
    rate.nextAt = Math.max(rate.nextAt, now - MAX_TIMER_LAG_MS) + 1_000 / perSecond
}

/** `isLate`: the request was sent before the last back-off or change of the rate. */
export const countGrant = (rate: RateState, now: number, isLate: boolean): void => {
  rollWindow(rate.granted, now)
  rate.granted.now += 1
  const { signs } = rate
  const { test } = signs
  if (!signs.hasGranted) {
    rate.recoveredAt = now
    rate.signs = { ...signs, hasGranted: true }
  } else if (isLate || (signs.refused === 0 && test === undefined)) return
  else if (test && (signs.granted + 1 >= GRANTS_OF_TEST || now - rate.perSecond.since > MAX_TEST_MS)) {
    rate.signs = forget(signs)
    rate.perSecond = { level: test.level, since: now - 3_000, isKnown: true }
  } else rate.signs = { ...signs, granted: signs.granted + 1 }
}

const forget = ({ hasGranted }: RefusalSigns): RefusalSigns => ({
  hasGranted,
  since: 0,
  refused: 0,
  granted: 0,
  holds: 0,
})

/** So many refusals may be a limit. */
const MIN_REFUSALS = 4
/** The same of failures that may be those of items, or of single connections. */
const MIN_DOUBTFUL = 5
/**
 * Above this share of refusals the host backs off. At a lower one the rate is lowered, to see whether that
 * ends them.
 */
const MIN_SHARE_TO_HOLD = 1 / 2
/** The share that may be accidents, if back-offs did not end them. */
const MAX_SHARE_TO_TEST = 3 / 4
const MAX_HOLDS = 2
const TEST_RATE = 1 / 2
/** So many grants in a row at that rate show that the refusals depend on the rate. */
const GRANTS_OF_TEST = 100
/** Later the rate would no longer be low. */
const MAX_TEST_MS = 10_000
/** So many refusals at that rate show that they do not. */
const MIN_REFUSALS_IN_TEST = 2
const ACCIDENTS_TTL_MS = 120_000
/** One refusal in so many requests is accepted. */
const MAX_GRANTS_PER_REFUSAL = 40
/** Older refusals and grants fade. */
const MAX_REPLIES = 200
const MAX_REPLIES_AMONG_ACCIDENTS = 40
/** A known limit is clearly below its level for 5 s. */
const BELOW_LEVEL = 0.97

type Judgement = { readonly verdict: 'isolated' | 'slower' | 'hold'; readonly rate: RateState }

/**
 * Judges a refusal by an endpoint, or by a host without endpoints: `isolated`, it delays its own request
 * only; `slower`, the rate is lowered; `hold`, all requests wait. A host that limits the rate grants every
 * request far below it. If it refuses some there too, they are accidents, such as those of one bad server
 * behind a load balancer. `isDoubtful`: it was no 429.
 */
export const judgeRefusal = (before: RateState, now: number, isDoubtful = false): Judgement => {
  const { perSecond } = before
  const isBelow = computeLimit(perSecond, now) < BELOW_LEVEL * perSecond.level
  const signs = { ...countRefusal(before.signs, now), below: isBelow ? perSecond.since : before.signs.below }
  const { refused, granted, test, accidents } = signs
  const share = refused / (refused + granted)
  const isolated: Judgement = { verdict: 'isolated', rate: { ...before, signs } }
  const hold = (holds: number): Judgement => ({
    verdict: 'hold',
    rate: { ...before, signs: { ...forget(signs), holds } },
  })
  if (!signs.hasGranted) return hold(0)
  if (test)
    return refused < MIN_REFUSALS_IN_TEST
      ? isolated
      : { verdict: 'isolated', rate: acceptRefusals(before, signs, test.share, now) }
  if (accidents && now < accidents.until)
    return refused > MIN_REFUSALS && share > (1 + accidents.share) / 2 ? hold(0) : isolated
  if (perSecond.isKnown && signs.below !== perSecond.since) return hold(0)
  if (refused < (isDoubtful ? MIN_DOUBTFUL : MIN_REFUSALS)) return isolated
  const isTested = isDoubtful || signs.holds >= MAX_HOLDS
  const mayBeAccidents = share <= (isTested ? MAX_SHARE_TO_TEST : MIN_SHARE_TO_HOLD)
  return mayBeAccidents
    ? { verdict: 'slower', rate: beginTest(before, signs, share, now) }
    : hold(signs.holds + 1)
}

const countRefusal = (signs: RefusalSigns, now: number): RefusalSigns => {
  const { refused, granted, test, accidents } = signs
  if (test || granted >= MAX_GRANTS_PER_REFUSAL * refused)
    return { ...signs, since: now, refused: test ? refused + 1 : 1, granted: 0 }
  const factor =
    refused + granted > (accidents && now < accidents.until ? MAX_REPLIES_AMONG_ACCIDENTS : MAX_REPLIES)
      ? 1 / 2
      : 1
  return { ...signs, refused: refused * factor + 1, granted: granted * factor }
}

/** Lowers the rate for as many grants as would contain several refusals, if they were accidents. */
const beginTest = (rate: RateState, signs: RefusalSigns, share: number, now: number): RateState => {
  rollWindow(rate.granted, now)
  const measured = Math.min(measureGrantRate(rate, now), computeLimit(rate.perSecond, now))
  // Since the first refusal a bucket has had no tokens left: this does not count its burst.
  const recent = (signs.granted * 1_000) / Math.max(1, now - signs.since)
  const level = Math.max(MIN_RATE, 0.95 * measured)
  const slow = Math.max(MIN_RATE, TEST_RATE * Math.min(recent, measured))
  const perSecond = { level: slow, since: now, isKnown: true }
  return { ...rate, nextAt: now, perSecond, signs: { ...forget(signs), test: { level, share } } }
}

const acceptRefusals = (rate: RateState, signs: RefusalSigns, share: number, now: number): RateState => {
  const accidents = { share, until: now + ACCIDENTS_TTL_MS }
  return {
    ...rate,
    nextAt: now,
    perSecond: unlimited,
    inFlight: unlimited,
    signs: { ...forget(signs), accidents },
  }
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

/** Concurrency after an outage; it doubles each second (slow start). */
const IN_FLIGHT_AFTER_OUTAGE = 8

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
const countLastSecond = ({ granted: { at, now, before } }: RateState, until: number): number =>
  now + before * Math.max(0, 1 - (until - at) / 1_000)

/** Grants a second before an instant. */
const measureGrantRate = (rate: RateState, until: number): number =>
  countLastSecond(rate, until) / Math.min(1, Math.max(0.1, (until - rate.recoveredAt) / 1_000))

const estimateRate = (rate: RateState, refusal: Refusal, share: number): number => {
  const measured = measureGrantRate(rate, refusal.at)
  if (rate.perSecond === unlimited) return Math.max(MIN_INITIAL_RATE, measured + refusal.granted)
  const limit = computeLimit(rate.perSecond, refusal.at) * share
  // Without a grant in the last second nothing was measured: the first refusal after a back-off may be an
  // accident.
  return Math.max(MIN_RATE, measured === 0 ? limit / 2 : Math.min(measured, limit))
}

const rollWindow = (granted: RateState['granted'], now: number): void => {
  const seconds = Math.floor((now - granted.at) / 1_000)
  if (seconds < 1) return
  granted.at += seconds * 1_000
  granted.before = seconds === 1 ? granted.now : 0
  granted.now = 0
}
