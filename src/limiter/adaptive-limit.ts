/** An adaptive limit of the rate (requests a second) or of the concurrency (requests in flight). It grows until the host refuses again. */
export interface AdaptiveLimit {
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
