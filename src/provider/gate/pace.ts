import { allowed, type Limit, lowered, unlimited } from './limit.js'

/** How fast a host is asked, and what it granted. Instants are milliseconds of the gate's stopwatch. */
export interface Pace {
  readonly perSecond: Limit
  readonly inFlight: Limit
  /** When the next request may go. */
  readonly nextAt: number
  /** When the host began to serve, or served again. */
  readonly openedAt: number
  /** Requests granted in the second that began at `at`, and in the one before. */
  readonly granted: { readonly at: number; readonly now: number; readonly before: number }
  /** The most that was granted within a second before a refusal, of late. */
  readonly best: { readonly at: number; readonly inSecond: number }
  readonly refusal?: Refusal
  /** When fewer requests in flight were last allowed because answers came too slowly. */
  readonly slowedAt: number
}

/** How things stood when the host began to refuse, and what became of the requests that were in flight then. */
interface Refusal {
  readonly at: number
  readonly inFlight: number
  readonly granted: number
  readonly refused: number
}

export const newPace: Pace = {
  perSecond: unlimited,
  inFlight: unlimited,
  nextAt: 0,
  openedAt: 0,
  granted: { at: 0, now: 0, before: 0 },
  best: { at: 0, inSecond: 0 },
  slowedAt: 0,
}

/** A timer fires up to this much late: requests that were due by then still go, so that the pace is kept. */
const LAG_MS = 10
/** Requests a second with which the search begins where next to nothing was granted. */
const FIRST_PACE = 5
const SLOWEST_PACE = 0.2
/** Where being this many times slower than the host could once do does not help, slowness is not what it asks for. */
const SLOWEST_SHARE = 1 / 4
const BEST_LASTS_MS = 600_000
/** Grants that are added to the few that a refusal can be judged by. */
const GOODWILL = 2

/** How long the next request has to wait; for ever, if one in flight has to end first. */
export const pauseBefore = (pace: Pace, inFlight: number, now: number): number =>
  inFlight >= Math.max(1, Math.floor(allowed(pace.inFlight, now))) ? Number.POSITIVE_INFINITY : Math.max(0, pace.nextAt - now)

export const afterSending = (pace: Pace, now: number): Pace => {
  const perSecond = allowed(pace.perSecond, now)
  return perSecond === Number.POSITIVE_INFINITY ? pace : { ...pace, nextAt: Math.max(pace.nextAt, now - LAG_MS) + 1_000 / perSecond }
}

export const afterGrant = (pace: Pace, now: number): Pace => {
  const granted = rolled(pace.granted, now)
  return { ...pace, granted: { ...granted, now: granted.now + 1 } }
}

/** The first refusal, of a request that was one of so many in flight. */
export const afterRefusal = (pace: Pace, inFlight: number, now: number): Pace => ({
  ...pace,
  granted: rolled(pace.granted, now),
  refusal: { at: now, inFlight, granted: 0, refused: 0 },
})

/** An answer to a request that was in flight when the host began to refuse. */
export const afterStraggler = (pace: Pace, isGranted: boolean): Pace => {
  const { refusal } = pace
  if (refusal === undefined) return pace
  const { granted, refused } = refusal
  return { ...pace, refusal: { ...refusal, granted: granted + (isGranted ? 1 : 0), refused: refused + (isGranted ? 0 : 1) } }
}

/** The pace with which a host is asked again that serves again: lower than before, if it had refused. */
export const afterReopening = (pace: Pace, now: number): Pace => {
  const { refusal, ...rest } = pace
  if (refusal === undefined) return { ...rest, nextAt: now, openedAt: now }
  const opened = { ...rest, nextAt: now, openedAt: now, best: bestOf(pace, refusal) }
  const share = (refusal.granted + GOODWILL) / (refusal.granted + refusal.refused + GOODWILL)
  const isFull = refusal.inFlight >= Math.floor(allowed(pace.inFlight, refusal.at)) || pace.inFlight === unlimited
  return {
    ...opened,
    perSecond: lowered(pace.perSecond, grantedPace({ ...pace, best: opened.best }, refusal, share), now),
    inFlight: isFull ? lowered(pace.inFlight, refusal.inFlight * share, now) : pace.inFlight,
  }
}

/** Requests in flight with which a host is asked again that was away; they double each second. */
const IN_FLIGHT_AFTER_OUTAGE = 8

/** A host that was away is asked again by few requests at first. */
export const afterOutage = (pace: Pace, now: number): Pace => {
  const inFlight: Limit = { level: IN_FLIGHT_AFTER_OUTAGE, since: now, isFound: false }
  const isLower = allowed(pace.inFlight, now) < IN_FLIGHT_AFTER_OUTAGE
  return { ...afterReopening(pace, now), inFlight: isLower ? pace.inFlight : inFlight }
}

/**
 * An answer came too slowly: half as many requests may be in flight. Once for all that were sent before: they were slowed down by
 * the same crowd.
 */
export const afterSlowness = (pace: Pace, { inFlight, sentAt, now }: { inFlight: number; sentAt: number; now: number }): Pace => {
  if (sentAt < pace.slowedAt) return pace
  const level = Math.max(1, Math.min(inFlight, allowed(pace.inFlight, now)) / 2)
  return { ...pace, inFlight: { level, since: now, isFound: true }, slowedAt: now }
}

/** What was granted in the second before a refusal. */
const inLastSecondOf = ({ granted: { at, now, before } }: Pace, refusal: Refusal): number =>
  now + before * Math.max(0, 1 - (refusal.at - at) / 1_000)

const bestOf = (pace: Pace, refusal: Refusal): Pace['best'] => {
  const inSecond = inLastSecondOf(pace, refusal)
  const isOld = refusal.at - pace.best.at > BEST_LASTS_MS
  return isOld || inSecond > pace.best.inSecond ? { at: refusal.at, inSecond } : pace.best
}

const grantedPace = (pace: Pace, refusal: Refusal, share: number): number => {
  const inLastSecond = inLastSecondOf(pace, refusal)
  if (pace.perSecond === unlimited) return Math.max(FIRST_PACE, inLastSecond + refusal.granted)
  const measured = inLastSecond / Math.min(1, Math.max(0.1, (refusal.at - pace.openedAt) / 1_000))
  const slowest = share > 0.5 ? pace.best.inSecond * SLOWEST_SHARE : 0
  return Math.max(SLOWEST_PACE, slowest, Math.min(measured, allowed(pace.perSecond, refusal.at) * share))
}

const rolled = (granted: Pace['granted'], now: number): Pace['granted'] => {
  const seconds = Math.floor((now - granted.at) / 1_000)
  if (seconds < 1) return granted
  return { at: granted.at + seconds * 1_000, now: 0, before: seconds === 1 ? granted.now : 0 }
}
