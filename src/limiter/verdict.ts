/** What makes a host refuse requests: too many a second, too many at once, chance, or it serves none. */
export type Cause = 'rate' | 'connections' | 'accidents' | 'outage'

/** The refusals and grants since the first of some refusals, or since a test of their cause began. */
export interface RefusalEvidence {
  /** The host has granted something before. */
  readonly hasGranted: boolean
  readonly refused: number
  readonly granted: number
  /** The host names a time to wait for. */
  readonly asksToWait?: boolean
  /** So many refusals may be a limit. */
  readonly minRefused: number
  /** A higher share of refusals is no accident. */
  readonly maxShare: number
  /**
   * One limit is lowered to see whether that ends them: which, whether that is known, and the share that was
   * refused before.
   */
  readonly test?: CauseTest | undefined
  /** Requests in flight at the last refusal. */
  readonly inFlight: number
  /** Requests that were being answered at each of the refusals. */
  readonly atOnce: readonly number[]
}

export interface CauseTest {
  readonly cause: 'rate' | 'connections'
  readonly share: number
  readonly isOver: boolean
  /** The number of connections that is tested. */
  readonly connections?: number | undefined
}

/** So many refusals at a lowered limit show that they do not depend on it. */
const MIN_REFUSALS_IN_TEST = 2
const MIN_SAMPLES = 4

/**
 * The connections that a host grants at once, if its refusals depend on them: whenever it refused a request,
 * it was answering as many, and there were more in flight than that.
 */
export const findConnections = ({
  atOnce,
  inFlight,
}: Pick<RefusalEvidence, 'atOnce' | 'inFlight'>): number | undefined => {
  if (atOnce.length < MIN_SAMPLES) return undefined
  const sorted = [...atOnce].sort((a, b) => a - b)
  const quantile = (share: number): number => sorted[Math.floor(share * (sorted.length - 1))] ?? 0
  // A request may wait after it counts as sent, so that too many seem to be answered at once.
  const [least, most] = [quantile(0.1), quantile(0.9)]
  return least >= 2 && least >= 0.6 * most && inFlight > most + 1 ? least : undefined
}

/**
 * Why a host refuses requests; undefined while that is open. Without a test, `rate` and `connections` are
 * what to test next; at the end of one they are certain.
 */
export const nameCause = (evidence: RefusalEvidence): Cause | undefined => {
  const { hasGranted, refused, granted, asksToWait = false, minRefused, maxShare, test } = evidence
  if (!hasGranted) return 'outage'
  if (test) {
    const { connections } = test
    if (refused < (connections === undefined ? MIN_REFUSALS_IN_TEST : MIN_SAMPLES))
      return test.isOver ? test.cause : undefined
    if (connections !== undefined)
      return (findConnections(evidence) ?? connections) < connections ? 'connections' : 'rate'
    return test.share <= maxShare ? 'accidents' : 'outage'
  }
  if (refused < minRefused) return undefined
  if (asksToWait && refused / (refused + granted) > maxShare) return 'outage'
  return findConnections(evidence) === undefined ? 'rate' : 'connections'
}
