import type { Limiter } from './limiter.js'
import { isDown, isRefusing } from './limiter-state.js'
import { computeLimit, computeRate } from './rate-state.js'

/** The state of a limiter at one instant. */
export interface LimiterReading {
  /** Requests that were sent and have no complete reply yet. */
  readonly inFlight: number
  /** Requests in the queue. A request of an endpoint that waits for its host counts for both. */
  readonly waiting: number
  /** The most requests in flight; infinite if not limited. */
  readonly maxInFlight: number
  /** The most requests a second; infinite if not limited. */
  readonly maxPerSecond: number
  /** No request is sent for now: a back-off, or an open circuit. */
  readonly isHeld: boolean
  /** The circuit breaker; `half-open` while one request checks whether the host works again. */
  readonly circuit: 'closed' | 'half-open' | 'open'
}

/** Reads a limiter, for metrics. */
export const readLimiter = (limiter: Limiter, now: number): LimiterReading => {
  const state = limiter.state()
  return {
    inFlight: state.inFlight,
    waiting: limiter.waiting(),
    maxInFlight: computeLimit(state.rate.inFlight, now),
    maxPerSecond: computeRate(state.rate, now),
    isHeld: isDown(state) || isRefusing(state, now),
    circuit: !isDown(state) ? 'closed' : state.isProbing ? 'half-open' : 'open',
  }
}
