import { HostClosed } from '../../model/errors.js'
import type { Settings } from '../../model/settings.js'

/** The settings that a gate goes by. */
export type Rules = Pick<Settings, 'throttleMs' | 'throttleMaxMs' | 'throttleGiveUpMs' | 'downMs'>

/** Why a host is not asked for a while. Instants are milliseconds of the gate's stopwatch. */
export interface Hold {
  readonly why: 'refuses' | 'down'
  /** When the trouble began. */
  readonly since: number
  /** When one request may go to see whether it is over. */
  readonly until: number
  /** How many such probes failed. */
  readonly strikes: number
  /** From when on nothing waits for the host any more. */
  readonly finalAt: number
  readonly reason: string
}

const FIRST_PROBE_MS = 1_000
const LONGEST_PROBE_MS = 30_000

/** The hold of a host that refused: as long as it asks for, or twice as long each time where it does not say. */
export const refusedHold = (before: Hold | undefined, retryAfterMs: number | undefined, now: number, rules: Rules): Hold => {
  const { throttleMs, throttleMaxMs, throttleGiveUpMs } = rules
  const { since, strikes } = before?.why === 'refuses' ? { since: before.since, strikes: before.strikes + 1 } : { since: now, strikes: 0 }
  const pauseMs = Math.min(Math.max(retryAfterMs ?? throttleMs * 2 ** strikes, throttleMs), Math.max(throttleMs, throttleMaxMs))
  const isFinal = strikes > 0 && now - since >= throttleGiveUpMs
  const reason = `429: the provider has refused everything for ${Math.round((now - since) / 1_000)} s`
  return { why: 'refuses', since, until: now + pauseMs, strikes, finalAt: isFinal ? now : Number.POSITIVE_INFINITY, reason }
}

/** The hold of a host that does not answer, since `since` if it is not held yet. */
export const downHold = (before: Hold | undefined, { since, last }: { since: number; last: string }, now: number, rules: Rules): Hold => {
  const strikes = before?.why === 'down' ? before.strikes + 1 : 0
  const began = before?.why === 'down' ? before.since : since
  const until = now + Math.min(FIRST_PROBE_MS * 2 ** strikes, LONGEST_PROBE_MS)
  const reason = `breaker: the host has been down for more than ${rules.downMs / 1_000} s; last: ${last}`
  return { why: 'down', since: began, until, strikes, finalAt: began + rules.downMs, reason }
}

export const closedBy = ({ why, reason }: Hold): HostClosed => new HostClosed(why === 'refuses' ? 'rate_limit' : 'error', reason)
