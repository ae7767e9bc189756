import { type FailureCause, HostClosedError } from '../model/errors.js'
import type { RetryPolicy } from '../operators/retry-failures.js'
import type { TroubleSignal } from './health-signal.js'

/** When a limiter gives a host up, and how long it waits before that. */
export interface LimiterSettings
  extends Pick<RetryPolicy, 'retries' | 'backoffMs' | 'throttleMs' | 'throttleMaxMs'> {
  /** How long an endpoint may refuse every request before its requests fail. */
  readonly throttleGiveUpMs: number
  /** How long outages are waited for, in total. */
  readonly downMs: number
}

/**
 * A back-off after refusals (`refuses`), or an open circuit (`down`). Instants are milliseconds of the
 * limiter's stopwatch.
 */
export interface Backoff {
  readonly why: 'refuses' | 'down'
  /** The refusals were HTML pages or empty bodies, not 429s. */
  readonly isByPages?: boolean
  /** The host has named its end (`Retry-After`). */
  readonly isNamed?: boolean
  /** When the trouble began. */
  readonly since: number
  /** When one probe request may be sent (half-open). */
  readonly until: number
  /** Failed probes so far. */
  readonly attempts: number
  /** When the host is given up: waiting and new requests fail. */
  readonly giveUpAt: number
  /** The error message of those requests. */
  readonly reason: string
  /** The failures behind it. */
  readonly causes?: readonly FailureCause[] | undefined
}

const MAX_PROBE_INTERVAL_MS = 15_000

/** The pause after a refusal: the host's `Retry-After`, or exponential where it names none. */
export const computeRefusalPause = (
  retryAfterMs: number | undefined,
  { throttleMs, throttleMaxMs }: LimiterSettings,
  attempts = 0,
): number =>
  Math.min(
    Math.max(retryAfterMs ?? throttleMs * 2 ** attempts, throttleMs),
    Math.max(throttleMs, throttleMaxMs),
  )

/** The back-off after refusals. */
export const computeRefusalBackoff = (
  before: Backoff | undefined,
  retryAfterMs: number | undefined,
  now: number,
  settings: LimiterSettings,
): Backoff => {
  const { since, attempts } =
    before?.why === 'refuses'
      ? { since: before.since, attempts: before.attempts + 1 }
      : { since: now, attempts: 0 }
  const pauseMs = computeRefusalPause(retryAfterMs, settings, attempts)
  const isFinal = attempts > 0 && now - since >= settings.throttleGiveUpMs
  const reason = `every request was refused for ${Math.round((now - since) / 1_000)} s`
  return {
    why: 'refuses',
    since,
    until: now + pauseMs,
    attempts,
    giveUpAt: isFinal ? now : Number.POSITIVE_INFINITY,
    reason,
    ...(retryAfterMs !== undefined && { isNamed: true }),
  }
}

interface FailingHost {
  readonly backoff?: Backoff | undefined
  readonly failingSince: number
  readonly waitedMs: number
}

/**
 * Opens the circuit, or keeps it open after a failed probe. Probes: after 1 s (2 × `backoffMs`), 2 s, 4 s, …,
 * 15 s, not before `Retry-After`.
 */
export const openCircuit = (
  { backoff, failingSince, waitedMs }: FailingHost,
  { reason: lastError, causes, retryAfterMs = 0 }: TroubleSignal,
  now: number,
  { backoffMs, throttleMaxMs, downMs }: LimiterSettings,
): Backoff => {
  const { since, attempts } =
    backoff?.why === 'down'
      ? { since: backoff.since, attempts: backoff.attempts + 1 }
      : { since: failingSince, attempts: 0 }
  const pauseMs = Math.max(
    Math.min(Math.max(1, 2 * backoffMs) * 2 ** attempts, MAX_PROBE_INTERVAL_MS),
    Math.min(retryAfterMs, throttleMaxMs),
  )
  const giveUpAt = Math.max(since, since + downMs - waitedMs)
  const reason = `host-down: the host did not recover within ${Math.round(downMs / 1_000)} s (patience); last error: ${lastError}`
  return { why: 'down', since, until: now + pauseMs, attempts, giveUpAt, reason, causes }
}

/** The error of a request that fails fast: the circuit is open. */
export const createFailFastError = ({ since }: Backoff, now: number): HostClosedError =>
  new HostClosedError(
    'error',
    `host-down: the host has been unreachable for ${Math.round((now - since) / 1_000)} s`,
  )

export const createHostClosedError = ({ why, reason, causes }: Backoff): HostClosedError =>
  new HostClosedError(why === 'refuses' ? 'rate_limit' : 'error', reason, causes && { causes })
