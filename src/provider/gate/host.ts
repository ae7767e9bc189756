import type { HostClosed } from '../../model/errors.js'
import { closedBy, downHold, type Hold, type Rules, refusedHold } from './hold.js'
import {
  afterGrant,
  afterOutage,
  afterRefusal,
  afterReopening,
  afterSending,
  afterSlowness,
  afterStraggler,
  newPace,
  type Pace,
  pauseBefore,
} from './pace.js'
import type { Signal, Troubled } from './signal.js'

/** What is known of a host, or of one endpoint of it. Instants are milliseconds of the gate's stopwatch. */
export interface Host {
  readonly inFlight: number
  /** Counts the holds: an answer to a request of an earlier era belongs to what was known already. */
  readonly era: number
  readonly hold?: Hold | undefined
  readonly isProbing: boolean
  readonly pace: Pace
  /** Pages and empty bodies in a row. */
  readonly blanks: number
  /** Requests in a row that met trouble. */
  readonly failures: number
  readonly failingSince: number
  /** The different items of those requests; no more of them than an outage needs. */
  readonly failedItems: readonly string[]
  /** How long the host was waited for in outages that are over. */
  readonly waitedMs: number
}

export const newHost: Host = {
  inFlight: 0,
  era: 0,
  isProbing: false,
  pace: newPace,
  blanks: 0,
  failures: 0,
  failingSince: 0,
  failedItems: [],
  waitedMs: 0,
}

/** A single page in place of an answer can be one stock's own trouble; so many in a row are the host's way to refuse. */
const BLANKS_OF_A_REFUSAL = 3
/** Different items that meet trouble in a row: one of them may have trouble of its own, so many have not. */
const ITEMS_OF_AN_OUTAGE = 5
/** Failures in a row that are enough where one item tells as much as five would. */
const FAILURES_OF_AN_OUTAGE = 3

/** What the next request has to do: wait for so long (0: go), or end. */
export const admission = ({ hold, isProbing, inFlight, pace }: Host, now: number): number | HostClosed => {
  if (hold === undefined) return pauseBefore(pace, inFlight, now)
  if (now >= hold.until && !isProbing) return 0
  if (now >= hold.finalAt) return closedBy(hold)
  return (isProbing ? hold.finalAt : Math.min(hold.until, hold.finalAt)) - now
}

export const sent = (host: Host, now: number): Host =>
  host.hold === undefined
    ? { ...host, inFlight: host.inFlight + 1, pace: afterSending(host.pace, now) }
    : { ...host, inFlight: host.inFlight + 1, isProbing: true }

/** An attempt has ended. */
export interface End {
  /** The era in which it was sent, and when. */
  readonly era: number
  readonly sentAt: number
  readonly signal: Signal
  /** Whose request it was. */
  readonly item: string
  /** Whether one item is enough to tell that the host is away: nobody else was served by it yet. */
  readonly isAlone: boolean
  readonly now: number
}

export const ended = (before: Host, end: End, rules: Rules): Host => {
  const { signal, now } = end
  const isOfNow = end.era === before.era
  const host = { ...before, inFlight: before.inFlight - 1, isProbing: before.isProbing && !isOfNow }
  switch (signal.kind) {
    case 'nothing':
      return host
    case 'slow':
      return { ...host, pace: afterSlowness(host.pace, { inFlight: before.inFlight, sentAt: end.sentAt, now }) }
    case 'answered':
      return answering(host.failures === 0 && host.blanks === 0 ? host : { ...host, blanks: 0, failures: 0, failedItems: [] }, end)
    case 'blank':
      if (!isOfNow) return host
      return host.blanks + 1 < BLANKS_OF_A_REFUSAL
        ? { ...host, blanks: host.blanks + 1, failures: 0, failedItems: [] }
        : byPages(refusing(host, { ...end, retryAfterMs: undefined }, rules))
    case 'refused':
      return refusing(host, { ...end, retryAfterMs: signal.retryAfterMs }, rules)
    case 'trouble':
      return isOfNow ? failing(host, { ...end, signal }, rules) : host
  }
}

const answering = (host: Host, { era, now }: End): Host => {
  const { hold, pace } = host
  if (hold === undefined) return { ...host, pace: afterGrant(pace, now) }
  if (hold.why === 'down') {
    // Whenever it was asked: a host that answers is not away. Until a second try failed, it may never have been.
    const open = { ...host, hold: undefined, isProbing: false }
    return hold.strikes === 0 ? open : { ...open, pace: afterOutage(pace, now), waitedMs: host.waitedMs + now - hold.since }
  }
  if (era !== host.era) return { ...host, pace: afterStraggler(pace, true) }
  return now < hold.until ? host : { ...host, hold: undefined, pace: afterReopening(pace, now) }
}

const refusing = (
  before: Host,
  { era, now, retryAfterMs }: Omit<End, 'signal'> & { retryAfterMs: number | undefined },
  rules: Rules,
): Host => {
  const host = { ...before, blanks: 0, failures: 0, failedItems: [] }
  const { hold, pace } = host
  if (era === host.era) {
    const isNew = hold === undefined && rules.throttleMs > 0
    const next = refusedHold(hold, retryAfterMs, now, rules)
    return { ...host, era: era + 1, hold: next, pace: isNew ? afterRefusal(pace, host.inFlight + 1, now) : pace }
  }
  // It was sent before the host was held: it can make the hold longer, but is no refusal of the pace that the hold led to.
  const asked = refusedHold(undefined, retryAfterMs, now, rules)
  if (hold === undefined) return retryAfterMs === undefined ? host : { ...host, era: host.era + 1, hold: asked }
  return { ...host, hold: { ...hold, until: Math.max(hold.until, asked.until) }, pace: afterStraggler(pace, false) }
}

const byPages = (host: Host): Host => (host.hold === undefined ? host : { ...host, hold: { ...host.hold, isByPages: true } })

const failing = (host: Host, { now, signal, item, isAlone }: End & { signal: Troubled }, rules: Rules): Host => {
  const failures = host.failures + 1
  const failedItems = host.failedItems.includes(item) ? host.failedItems : [...host.failedItems, item].slice(0, ITEMS_OF_AN_OUTAGE)
  const since = host.failures === 0 ? now : host.failingSince
  const failed = { ...host, failures, failedItems, failingSince: since }
  const isOutage = failedItems.length >= ITEMS_OF_AN_OUTAGE || (failures >= FAILURES_OF_AN_OUTAGE && (isAlone || signal.sign === 'away'))
  if (host.hold?.why !== 'down' && !isOutage) return failed
  const trouble = { since, last: signal.reason, retryAfterMs: signal.retryAfterMs, waitedMs: host.waitedMs }
  return { ...failed, era: host.era + 1, hold: downHold(host.hold, trouble, now, rules) }
}
