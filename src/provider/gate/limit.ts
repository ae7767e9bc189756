/** A limit that grows with time until the host refuses again: of the pace (requests a second) or of the requests in flight. */
export interface Limit {
  readonly level: number
  /** When it was set, and the host served again. */
  readonly since: number
  /** Whether the host's own limit is known. Until then the limit doubles each second, in search of it. */
  readonly isFound: boolean
}

export const unlimited: Limit = { level: Number.POSITIVE_INFINITY, since: 0, isFound: false }

/**
 * A limit that was found begins at 0.8 of its level, stays close to it for about 10 s, then goes beyond, ever faster: it is refused
 * seldom, and a host that has become more generous is used to the full within half a minute.
 */
export const allowed = ({ level, since, isFound }: Limit, now: number): number => {
  const seconds = (now - since) / 1_000
  return level * (isFound ? 1 + 0.2 * (seconds / 10 - 1) ** 3 : 2 ** seconds)
}

/** The limit after a refusal at an estimate of what the host grants. The first refusal may be an accident: from it the search begins. */
export const lowered = ({ level }: Limit, estimate: number, now: number): Limit => {
  const isFound = level !== Number.POSITIVE_INFINITY
  return { level: isFound ? 0.95 * estimate : estimate, since: now, isFound }
}
