import {
  type AdaptiveLimit,
  type AdaptiveLimits,
  computeLimit,
  estimateRate,
  type LimitTest,
  MIN_INITIAL_RATE,
  MIN_RATE,
  measureGrantRate,
  type RateState,
  type RefusalSigns,
  rollWindow,
  unlimited,
} from './rate.js'
import { findConnections, nameCause, type RefusalEvidence } from './verdict.js'

/** `isLate`: the request was sent before the last back-off or change of a limit. */
export const countGrant = (rate: RateState, now: number, isLate: boolean, sentAt: number): void => {
  rollWindow(rate.granted, now)
  rate.granted.now += 1
  const { signs, seen } = rate
  const { test } = signs
  if (!signs.hasGranted) {
    rate.recoveredAt = now
    rate.signs = { ...signs, hasGranted: true }
    return
  }
  if (signs.refused === 0 && test === undefined) return
  if (seen.granted.push([sentAt, now]) > MAX_SEEN) seen.granted.shift()
  if (isLate) return
  rate.signs = { ...signs, granted: signs.granted + 1 }
  if (test) continueTest(rate, test, now)
}

/** After a grant. The first one shows all that was answered beside the refusals before the test. */
const continueTest = (rate: RateState, test: LimitTest, now: number): void => {
  const { signs } = rate
  if (test.cause === 'rate' && signs.granted === 1 && signs.refused === 0) {
    const most = findConnectionsNow(rate, now)
    if (most !== undefined) Object.assign(rate, testConnections(rate, most, test.share, now))
    return
  }
  const cause = nameCause(toEvidence(rate, now))
  if (cause !== test.cause) return
  const connections = cause === 'connections' ? Math.floor(test.after.inFlight.level) : undefined
  const { perSecond } = test.after
  const after = perSecond.isKnown || cause === 'connections' ? perSecond : { ...perSecond, since: now }
  Object.assign(rate, {
    ...test.after,
    perSecond: after,
    connections,
    isRate: cause === 'rate' && test.share * signs.granted > MIN_REFUSALS,
    signs: forget(signs),
  })
}

const forget = ({ hasGranted, notConnectionsUntil = 0 }: RefusalSigns): RefusalSigns => ({
  hasGranted,
  notConnectionsUntil,
  since: 0,
  refused: 0,
  granted: 0,
  holds: 0,
  lowered: 0,
})

/** So many refusals may be a limit. */
const MIN_REFUSALS = 4
/** The same of failures that may be those of items, or of single connections. */
const MIN_DOUBTFUL = 5
/** Above this share of refusals they are no accidents, */
const MAX_SHARE_OF_ACCIDENTS = 1 / 2
/** or above this one, if back-offs did not end them, or they are no 429s. */
const MAX_SHARE_IN_DOUBT = 3 / 4
/** Below a known limit of the rate so many are accepted: some hosts count each burst. */
const MAX_SHARE_AT_LIMIT = 1 / 20
/** So many above that share show that it is too high still, */
const MIN_TO_LOWER = 3
/** so often in a row. Then the cause is looked for anew. */
const MAX_LOWERED = 2
const MAX_HOLDS = 2
/** A shorter time shows no rate. */
const MIN_MEASURED_MS = 50
const TEST_RATE = 1 / 2
/** The same of rare refusals: those of a limit end just below it. */
const TEST_RATE_IF_RARE = 3 / 4
const MAX_SHARE_IF_RARE = 1 / 10
/** So many grants in a row at that rate show that the refusals depend on the rate: as many as would have */
const REFUSALS_OF_TEST = 8
/** refusals, if they were accidents; not more than */
const MAX_GRANTS_OF_TEST = 400
/** Requests that were sent before a test end first: a connection counts until it is closed. */
const DRAIN_MS = 200
/** Later the rate would no longer be low. */
const MAX_TEST_MS = 10_000
/** A host that takes longer to refuse holds requests (a tarpit). */
const MAX_REFUSAL_MS = 1_000
const ACCIDENTS_TTL_MS = 120_000
/** One refusal in so many requests is accepted. */
const MAX_GRANTS_PER_REFUSAL = 40
/** Older refusals and grants fade. */
const MAX_REPLIES = 200
const MAX_REPLIES_AMONG_ACCIDENTS = 40
/** A known limit is below its level for 10 s; until then single refusals do not lower it further. */
const BELOW_LEVEL = 1

/** So many replies are seen again to find the connections that a host grants. */
const MAX_SEEN = 200
const NOT_CONNECTIONS_MS = 60_000
type Judgement = { readonly verdict: 'isolated' | 'slower' | 'hold'; readonly rate: RateState }

/** A refusal: whether the host names a time, and whether it was no 429. */
interface RefusalSeen {
  readonly asksToWait: boolean
  readonly isDoubtful: boolean
}

/**
 * Judges a refusal by an endpoint, or by a host without endpoints: `isolated`, it delays its own request
 * only; `slower`, a limit is lowered; `hold`, all requests wait. A host with a limit grants every request far
 * below it. If it refuses some there too, they are accidents, such as those of one bad server behind a load
 * balancer.
 */
export const judgeRefusal = (
  before: RateState,
  now: number,
  { asksToWait, isDoubtful }: RefusalSeen,
): Judgement => {
  const { perSecond } = before
  const isBelow = computeLimit(perSecond, now) < BELOW_LEVEL * perSecond.level
  const signs = { ...countRefusal(before, now), below: isBelow ? perSecond.since : before.signs.below }
  const { refused, granted, test, accidents } = signs
  const share = refused / (refused + granted)
  const rate = { ...before, signs }
  const isolated: Judgement = { verdict: 'isolated', rate }
  const hold = (holds: number): Judgement => ({
    verdict: 'hold',
    rate: { ...rate, ...test?.before, signs: { ...forget(signs), holds } },
  })
  if (signs.hasGranted && test === undefined) {
    if (accidents && now < accidents.until)
      return refused > MIN_REFUSALS && share > (1 + accidents.share) / 2 ? hold(0) : isolated
    const isSearching = before.isRate && !perSecond.isKnown && refused > 1
    const isLimit = before.isRate === true && perSecond.isKnown
    if ((perSecond.isKnown && signs.below !== perSecond.since) || isSearching)
      return asksToWait ? hold(0) : { verdict: 'slower', rate: lowerRate(rate, now, 0) }
    if (isLimit && (share <= MAX_SHARE_AT_LIMIT || refused < MIN_TO_LOWER)) return isolated
    if (isLimit && !asksToWait && signs.lowered < MAX_LOWERED)
      return { verdict: 'slower', rate: lowerRate(rate, now, signs.lowered + 1) }
    const lower = lowerConnections(rate, now)
    if (lower) return { verdict: 'slower', rate: lower }
  }
  const seen = toEvidence(rate, now)
  const evidence = isDoubtful ? { ...seen, minRefused: MIN_DOUBTFUL, maxShare: MAX_SHARE_IN_DOUBT } : seen
  switch (nameCause({ ...evidence, asksToWait })) {
    case undefined:
      return isolated
    case 'outage':
      return hold(signs.hasGranted ? signs.holds + 1 : 0)
    case 'accidents':
      return { verdict: 'isolated', rate: acceptRefusals(rate, signs, test?.share ?? share, now) }
    case 'connections':
      return {
        verdict: 'slower',
        rate: testConnections(rate, findConnections(evidence) ?? 1, test?.share ?? share, now),
      }
    case 'rate':
      return {
        verdict: 'slower',
        rate: testRate(rate, test?.share ?? share, now, isDoubtful ? DRAIN_MS : DRAIN_MS / 2),
      }
  }
}

const toEvidence = (rate: RateState, now: number): RefusalEvidence => {
  const { signs } = rate
  const { hasGranted, refused, granted, holds, test } = signs
  const needed = test ? Math.min(MAX_GRANTS_OF_TEST, REFUSALS_OF_TEST / test.share) : 0
  return {
    hasGranted,
    refused,
    granted,
    minRefused: MIN_REFUSALS,
    maxShare: holds >= MAX_HOLDS ? MAX_SHARE_IN_DOUBT : MAX_SHARE_OF_ACCIDENTS,
    test: test && { ...test, isOver: granted >= needed || now - test.since > MAX_TEST_MS },
    inFlight: rate.seen.inFlight,
    atOnce: (signs.notConnectionsUntil ?? 0) > now ? [] : countAtOnce(rate.seen),
  }
}

const findConnectionsNow = (rate: RateState, now: number): number | undefined =>
  findConnections(toEvidence(rate, now))

/** How many requests were being answered at each refusal. */
const countAtOnce = ({ refused, granted }: RateState['seen']): readonly number[] =>
  refused.map((at) => granted.filter(([from, to]) => from <= at && at < to).length)

/** Remembers when a request was refused, even if it was sent before a limit was lowered. */
export const seeRefusal = (
  { seen, signs }: RateState,
  { inFlight, sentAt }: Pick<RateState['seen'], 'inFlight' | 'sentAt'>,
  now: number,
): void => {
  const { refused, granted } = seen
  Object.assign(seen, { inFlight, sentAt })
  if (signs.refused === 0 && signs.test === undefined) refused.length = granted.length = 0
  if (refused.push(now) > MAX_SEEN) refused.shift()
}

const countRefusal = ({ signs }: RateState, now: number): RefusalSigns => {
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
const testRate = (rate: RateState, share: number, now: number, drainMs: number): RateState => {
  rollWindow(rate.granted, now)
  const { signs } = rate
  const before: AdaptiveLimits = signs.test?.before ?? rate
  // A host that takes its time to refuse has granted little meanwhile.
  const isTold = now - rate.seen.sentAt < MAX_REFUSAL_MS
  const current = isTold ? measureGrantRate(rate, now) : rate.granted.most
  const measured = Math.min(current, computeLimit(before.perSecond, rate.seen.sentAt))
  // Since the first refusal a bucket has had no tokens left: this does not count its burst.
  const recent =
    isTold && signs.granted > 0
      ? (signs.granted * 1_000) / Math.max(MIN_MEASURED_MS, now - signs.since)
      : measured
  const least = before.perSecond.level === Number.POSITIVE_INFINITY ? MIN_INITIAL_RATE : MIN_RATE
  const isRare = share <= MAX_SHARE_IF_RARE
  const pace = Math.max(least, (isRare ? TEST_RATE_IF_RARE : TEST_RATE) * Math.min(recent, measured))
  const granted = isRare ? Math.min(recent, measured) : measured
  const perSecond =
    before.perSecond.isKnown || isRare
      ? { level: Math.max(pace, 0.95 * granted), since: now - 3_000, isKnown: true }
      : { level: Math.max(least, Math.min(recent, measured)), since: now, isKnown: false }
  const after = { perSecond, inFlight: before.inFlight }
  const isRefuted = signs.test !== undefined
  const notConnectionsUntil = isRefuted ? now + NOT_CONNECTIONS_MS : (signs.notConnectionsUntil ?? 0)
  return {
    ...rate,
    nextAt: now + drainMs,
    perSecond: { level: pace, since: now, isKnown: true },
    inFlight: before.inFlight,
    connections: undefined,
    signs: {
      ...forget(signs),
      notConnectionsUntil,
      test: { cause: 'rate', share, since: now, before, after },
    },
  }
}

export const limitConnections = (most: number, now: number): AdaptiveLimit => ({
  level: most + 0.5,
  since: now - 5_000,
  isKnown: true,
})

/** Lowers the requests in flight to what the host granted at once; the rate is that before the refusals. */
const testConnections = (rate: RateState, most: number, share: number, now: number): RateState => {
  const { signs } = rate
  const before: AdaptiveLimits = signs.test?.before ?? rate
  const after = { perSecond: before.perSecond, inFlight: limitConnections(most, now) }
  const test: LimitTest = { cause: 'connections', connections: most, share, since: now, before, after }
  const seen = { refused: [], granted: [], inFlight: 0, sentAt: now }
  return { ...rate, ...after, seen, nextAt: now, signs: { ...forget(signs), test } }
}

/** A known number of connections that had grown, and is too high again. */
const lowerConnections = (rate: RateState, now: number): RateState | undefined => {
  const { connections, inFlight } = rate
  if (connections === undefined || computeLimit(inFlight, now) < connections + 1) return undefined
  return { ...rate, inFlight: limitConnections(connections, now), signs: forget(rate.signs) }
}

/** A rate that had grown, and is too high: a little if it was known; at the end of the search by more. */
const lowerRate = (rate: RateState, now: number, lowered: number): RateState => {
  rollWindow(rate.granted, now)
  const { perSecond } = rate
  // What matters is how fast it was when the refused request was sent.
  const limit = computeLimit(perSecond, rate.seen.sentAt)
  const measured = estimateRate(rate, { at: now, inFlight: 0, granted: 0, refused: 0 }, 1)
  // In the search it has doubled in the last second: the host has granted more at its end than on average.
  const estimate = perSecond.isKnown
    ? Math.max(measured, 0.9 * limit)
    : (Math.max(measured, limit / 2) + limit) / 2
  const isSoon = now - perSecond.since < 6_000
  const since = now - (!perSecond.isKnown ? 4_000 : isSoon ? 0 : 2_000)
  return {
    ...rate,
    perSecond: { level: 0.95 * estimate, since, isKnown: true },
    signs: { ...forget(rate.signs), lowered },
  }
}

const acceptRefusals = (rate: RateState, signs: RefusalSigns, share: number, now: number): RateState => {
  const accidents = { share, until: now + ACCIDENTS_TTL_MS }
  return {
    ...rate,
    nextAt: now,
    perSecond: unlimited,
    inFlight: unlimited,
    isRate: false,
    connections: undefined,
    signs: { ...forget(signs), accidents },
  }
}
