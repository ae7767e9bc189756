import { z } from 'zod'
import type { SampleMarket } from '../model/market.js'
import { createFaults, Fault } from './faults.js'
import { createRateLimits, Limits } from './limits.js'
import { createRandom } from './random.js'

const LatencySchema = z.union([z.number().min(0), z.strictObject({ min: z.number().min(0), max: z.number().min(0) })])
/** Milliseconds before each answer; a plain number varies by a quarter up and down. */
export type Latency = Readonly<z.output<typeof LatencySchema>>

/** Changes to a running simulator; absent fields stay as they are. */
export const Control = z.strictObject({
  faults: z.array(Fault).readonly().optional(),
  latencyMs: LatencySchema.optional(),
  /** The rate limit of each host from now on; the token buckets start full. */
  limits: Limits.optional(),
  /** The market's "now" from now on: epoch milliseconds, or ISO 8601 with an offset. */
  asOf: z.union([z.number(), z.iso.datetime({ offset: true }).transform((text) => Date.parse(text))]).optional(),
  /** Resets all counts, including how often each fault has hit. */
  reset: z.boolean().optional(),
})
export type Control = Readonly<z.input<typeof Control>>

interface ConditionOptions {
  readonly seed: number
  readonly latencyMs: Latency
  readonly faults: readonly Fault[]
  readonly limits: Limits
  readonly asOf: number | (() => number)
  readonly marketAt: (asOf: number) => SampleMarket
}

/** The conditions for requests: the market's "now", faults, rate limits and latency. */
export const createConditions = ({ seed, marketAt, ...given }: ConditionOptions) => {
  let { latencyMs, faults, asOf } = given
  let selectFault = createFaults(seed, faults)
  let takeToken = createRateLimits(given.limits, Date.now)
  let market = marketAt(resolveAsOf(asOf))
  return {
    /** The market now. A running clock is rounded down to whole minutes, so that answers can be cached for one minute. */
    market: (): SampleMarket => {
      const now = resolveAsOf(asOf)
      if (market.asOf !== now) market = marketAt(now)
      return market
    },
    findFault: (target: Parameters<typeof selectFault>[0]) => selectFault(target),
    /** Counts a request to a host; returns the rate limit that it exceeds, if any. */
    findExceededLimit: (host: string) => takeToken(host),
    /** Depends on the request alone: the same request always has the same latency. */
    computeLatency: (...key: readonly (string | number)[]): number => {
      const { min, max } = typeof latencyMs === 'number' ? { min: latencyMs * 0.75, max: latencyMs * 1.25 } : latencyMs
      return max === 0 ? 0 : min + (max - min) * createRandom(seed, 'latency', ...key).next()
    },
    change: (control: z.output<typeof Control>): void => {
      latencyMs = control.latencyMs ?? latencyMs
      asOf = control.asOf ?? asOf
      if (control.limits !== undefined) takeToken = createRateLimits(control.limits, Date.now)
      if (control.faults === undefined && !control.reset) return
      faults = control.faults ?? faults
      selectFault = createFaults(seed, faults)
    },
  }
}

const resolveAsOf = (asOf: number | (() => number)) => (typeof asOf === 'number' ? asOf : Math.floor(asOf() / 60_000) * 60_000)
