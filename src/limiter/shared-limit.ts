import { limitConnections } from './judge.js'
import { computeRate, createRateState, unlimited } from './rate.js'
import type { LimiterState } from './state.js'

/** A limit was found by tests. */
export const hasLimit = ({ rate: { isRate, connections } }: LimiterState): boolean =>
  isRate === true || connections !== undefined

/** The search for it has ended. */
export const knowsLimit = (state: LimiterState): boolean =>
  hasLimit(state) && (state.rate.connections !== undefined || state.rate.perSecond.isKnown)

/** A limit that was found, in words, and the setting that keeps below it. */
export const describeFoundLimit = ({ rate: { connections, perSecond } }: LimiterState): string =>
  connections === undefined
    ? `refused requests above about ${Number(perSecond.level.toPrecision(2))} a second; set maxRate of the service in hosts to stay below that`
    : `refused requests above ${connections} at once; set fewer workers for its streams`

/** The state of an origin, one endpoint of which has found a limit: the search for its own begins there. */
export const takeLimit = (state: LimiterState, { rate: found }: LimiterState, now: number): LimiterState => {
  if (hasLimit(state)) return state
  const { connections } = found
  const perSecond = { level: computeRate(found, now), since: now, isKnown: false }
  const rate =
    connections === undefined
      ? { ...state.rate, perSecond, isRate: true, nextAt: now }
      : { ...state.rate, connections, inFlight: limitConnections(connections, now) }
  return { ...state, rate }
}

/** Refusals have begun: there may be a limit. */
export const mayHaveLimit = (state: LimiterState): boolean =>
  state.backoff?.why === 'refuses' || state.rate.signs.test !== undefined || hasLimit(state)

/** The rate is limited, or that is tested: a refused request goes to the end of the queue. */
export const isPaced = ({ rate: { perSecond, isRate, signs } }: LimiterState): boolean =>
  perSecond !== unlimited && (isRate === true || signs.test?.cause === 'rate')

/** The state of an endpoint whose refusals were those of a limit that it shares with others. */
export const forgetRefusals = ({ backoff, ...state }: LimiterState): LimiterState => {
  const { rate } = state
  const { maxPerSecond, maxInFlight, granted, recoveredAt, signs } = rate
  // A back-off that has just begun was for the same refusals.
  const isOwn = backoff?.why !== 'refuses' || backoff.attempts > 0 || backoff.isNamed
  const kept = isOwn ? backoff : undefined
  const fresh = createRateState(maxPerSecond, maxInFlight)
  return {
    ...state,
    backoff: kept,
    isProbing: kept !== undefined && state.isProbing,
    rate: { ...fresh, granted, recoveredAt, signs: { ...fresh.signs, hasGranted: signs.hasGranted } },
  }
}
