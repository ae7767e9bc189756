import { HostClosed } from '../../model/errors.js'
import type { Settings } from '../../model/settings.js'

/** The settings that a gate goes by. */
export type Rules = Pick<Settings, 'backoffMs' | 'throttleMs' | 'throttleMaxMs' | 'throttleGiveUpMs' | 'downMs'>

/** Why a host is not asked for a while. Instants are milliseconds of the gate's stopwatch. */
export interface Hold {
  readonly why: 'refuses' | 'down'
  /** It refuses by pages in place of answers. */
  readonly isByPages?: boolean
  /** When the trouble began. */
  readonly since: number
  /** When one request may go to see whether it is over. */
  readonly until: number
  /** How many such probes failed. */
  readonly strikes: number
  /** From when on nothing waits for the host any more. */
  readonly finalAt: number
  /** Why requests end that wait no longer. */
  readonly reason: string
}

const LONGEST_PROBE_MS = 15_000

/** The hold of a host that refused: as long as it asks for, or twice as long each time where it does not say. */
export const refusedHold = (before: Hold | undefined, retryAfterMs: number | undefined, now: number, rules: Rules): Hold => {
  const { throttleMs, throttleMaxMs, throttleGiveUpMs } = rules
  const { since, strikes } = before?.why === 'refuses' ? { since: before.since, strikes: before.strikes + 1 } : { since: now, strikes: 0 }
  const pauseMs = Math.min(Math.max(retryAfterMs ?? throttleMs * 2 ** strikes, throttleMs), Math.max(throttleMs, throttleMaxMs))
  const isFinal = strikes > 0 && now - since >= throttleGiveUpMs
  const reason = `429: the provider has refused everything for ${Math.round((now - since) / 1_000)} s`
  return { why: 'refuses', since, until: now + pauseMs, strikes, finalAt: isFinal ? now : Number.POSITIVE_INFINITY, reason }
}

/** How a host that is away was met the last time. */
export interface Trouble {
  /** When the trouble began, if the host is not held yet. */
  readonly since: number
  readonly last: string
  /** What the answer's `Retry-After` asked for, if there was one. */
  readonly retryAfterMs: number | undefined
  /** How long the host was waited for earlier in the run: the patience is one for all of it. */
  readonly waitedMs: number
}

/** The hold of a host that is away: one request tries after two back-offs (1 s), 2 s, 4 s, then every 15 s, and not before a `Retry-After`. */
export const downHold = (before: Hold | undefined, trouble: Trouble, now: number, rules: Rules): Hold => {
  const { since, last, retryAfterMs = 0, waitedMs } = trouble
  const strikes = before?.why === 'down' ? before.strikes + 1 : 0
  const began = before?.why === 'down' ? before.since : since
  const pauseMs = Math.max(
    Math.min(Math.max(1, 2 * rules.backoffMs) * 2 ** strikes, LONGEST_PROBE_MS),
    Math.min(retryAfterMs, rules.throttleMaxMs),
  )
  const finalAt = Math.max(began, began + rules.downMs - waitedMs)
  const reason = `host-down: waited ${Math.round(rules.downMs / 1_000)} s in this run for the host to come back; last: ${last}`
  return { why: 'down', since: began, until: now + pauseMs, strikes, finalAt, reason }
}

/** The end of a request that does not wait for a host that is away. */
export const notWaitedFor = ({ since }: Hold, now: number): HostClosed =>
  new HostClosed('error', `host-down: the host has been away for ${Math.round((now - since) / 1_000)} s`)

export const closedBy = ({ why, reason }: Hold): HostClosed => new HostClosed(why === 'refuses' ? 'rate_limit' : 'error', reason)
