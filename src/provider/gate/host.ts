import type { HostClosed } from '../../model/errors.js'
import { closedBy, downHold, type Hold, type Rules, refusedHold } from './hold.js'
import { afterGrant, afterRefusal, afterReopening, afterSending, afterStraggler, newPace, type Pace, pauseBefore } from './pace.js'
import type { Signal } from './signal.js'

/** What is known of a host. Instants are milliseconds of the gate's stopwatch. */
export interface Host {
  readonly inFlight: number
  /** Counts the holds: an answer to a request of an earlier era belongs to what was known already. */
  readonly era: number
  readonly hold?: Hold | undefined
  readonly isProbing: boolean
  readonly pace: Pace
  /** Pages and empty bodies in a row. */
  readonly blanks: number
  /** Requests in a row that the host was not reached with. */
  readonly failures: number
  readonly failingSince: number
}

export const newHost: Host = { inFlight: 0, era: 0, isProbing: false, pace: newPace, blanks: 0, failures: 0, failingSince: 0 }

/** A single page in place of an answer can be one stock's own trouble; so many in a row are the host's way to refuse. */
const BLANKS_OF_A_REFUSAL = 3
const FAILURES_OF_AN_OUTAGE = 5

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

/** An attempt that was sent in the given era and has ended. */
export interface End {
  readonly era: number
  readonly signal: Signal
  readonly now: number
}

export const ended = (before: Host, end: End, rules: Rules): Host => {
  const isOfNow = end.era === before.era
  const host = { ...before, inFlight: before.inFlight - 1, isProbing: before.isProbing && !isOfNow }
  switch (end.signal.kind) {
    case 'nothing':
      return host
    case 'answered':
      return answering({ ...host, blanks: 0, failures: 0 }, end)
    case 'blank':
      if (!isOfNow) return host
      return host.blanks + 1 < BLANKS_OF_A_REFUSAL
        ? { ...host, blanks: host.blanks + 1, failures: 0 }
        : refusing(host, { ...end, retryAfterMs: undefined }, rules)
    case 'refused':
      return refusing(host, { ...end, retryAfterMs: end.signal.retryAfterMs }, rules)
    case 'unreachable':
      return isOfNow ? failing(host, { now: end.now, reason: end.signal.reason }, rules) : host
  }
}

const answering = (host: Host, { era, now }: End): Host => {
  const { hold, pace } = host
  if (hold === undefined) return { ...host, pace: afterGrant(pace, now) }
  if (era !== host.era) return { ...host, pace: afterStraggler(pace, true) }
  return now < hold.until ? host : { ...host, hold: undefined, pace: afterReopening(pace, now) }
}

const refusing = (
  before: Host,
  { era, now, retryAfterMs }: Omit<End, 'signal'> & { retryAfterMs: number | undefined },
  rules: Rules,
): Host => {
  const host = { ...before, blanks: 0, failures: 0 }
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

const failing = (host: Host, { now, reason }: { now: number; reason: string }, rules: Rules): Host => {
  const failures = host.failures + 1
  const since = host.failures === 0 ? now : host.failingSince
  const failed = { ...host, failures, failingSince: since }
  if (host.hold === undefined && failures < FAILURES_OF_AN_OUTAGE) return failed
  return { ...failed, era: host.era + 1, hold: downHold(host.hold, { since, last: reason }, now, rules) }
}
