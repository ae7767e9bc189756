import { z } from 'zod'
import type { AnyEndpoint } from '../http/endpoint.js'
import type { SampleMarket } from '../model/market.js'
import { listEndpointHosts } from '../model/settings.js'
import { createRandom } from './random.js'

const RetryAfter = z.union([z.number(), z.string()]).optional()

const RateLimit = z.strictObject({
  perSecond: z.number().positive().describe('requests a second that are served in the long run'),
  burst: z.number().min(1).describe('requests that are served at once after a pause'),
  retryAfter: RetryAfter.describe('sent as Retry-After with the 429; a number is seconds'),
})
type Limit = Readonly<z.output<typeof RateLimit>>

/**
 * The rate limit of each host, by its prefix; `*` is for each of the other hosts. A request over the limit is
 * answered with 429.
 */
export type Limits = Readonly<Record<string, Limit | undefined>>

export const createLimitsSchema = (endpoints: readonly AnyEndpoint[]): z.ZodType<Limits> =>
  z.partialRecord(z.enum([...listEndpointHosts(endpoints), '*']), RateLimit)

/** Takes a token out of a host's bucket; returns the exceeded limit if the bucket is empty. */
export const createRateLimits = (
  limits: Limits,
  now: () => number,
): ((host: string) => Limit | undefined) => {
  const buckets = new Map<string, { readonly tokens: number; readonly at: number }>()
  return (host) => {
    const limit = limits[host] ?? limits['*']
    if (limit === undefined) return undefined
    const at = now()
    const bucket = buckets.get(host) ?? { tokens: limit.burst, at }
    const tokens = Math.min(
      limit.burst,
      bucket.tokens + (Math.max(0, at - bucket.at) * limit.perSecond) / 1_000,
    )
    buckets.set(host, { tokens: tokens < 1 ? tokens : tokens - 1, at })
    return tokens < 1 ? limit : undefined
  }
}

/**
 * What can go wrong with an answer: its status, its connection, a truncated, wrong or missing body, or a
 * delay.
 */
export const faultModes = [
  'status',
  'reset',
  'truncate',
  'html',
  'empty',
  'garbage',
  'null',
  'no-body',
  'hang',
  'drip',
  'slow',
] as const

/** A fault, and the requests that it hits. */
export const Fault = z.strictObject({
  on: z.string().min(1).describe('name of an endpoint, or * for all'),
  mode: z.enum(faultModes),
  status: z.int().min(200).max(599).optional().describe('of the mode status; 500 if absent'),
  retryAfter: RetryAfter.describe('sent as Retry-After with the mode status; a number is seconds'),
  rate: z
    .number()
    .min(0)
    .max(1)
    .optional()
    .describe('share of the items that it hits, the same ones each time'),
  times: z.int().min(1).optional().describe('how often it hits an item; always if absent'),
  items: z
    .array(z.string())
    .optional()
    .describe('hits only requests that contain one of these texts: an ISIN, a symbol, a Sid'),
  ms: z
    .int()
    .min(0)
    .optional()
    .describe('delay of the mode slow (1,000 if absent), and between two bytes of the mode drip (500)'),
})
export type Fault = Readonly<z.output<typeof Fault>>

/** A request, as far as faults select by it. */
interface FaultTarget {
  readonly name: string
  /** Identifies the item among the requests of one endpoint. */
  readonly key: string
  /** Every text and number in the request, as text. */
  readonly texts: readonly string[]
}

/** Finds the first fault that hits a request, and counts the hit. */
const createFaults = (
  seed: number,
  faults: readonly Fault[],
): ((target: FaultTarget) => Fault | undefined) => {
  const hits = new Map<string, number>()
  return (target) => {
    for (const [index, fault] of faults.entries()) {
      if (!isAimedAt(fault, target) || !isItemHit(seed, fault, target)) continue
      if (fault.times === undefined) return fault
      const item = [index, target.name, target.key].join('\u0000')
      const before = hits.get(item) ?? 0
      if (before >= fault.times) continue
      hits.set(item, before + 1)
      return fault
    }
    return undefined
  }
}

const isAimedAt = ({ on, items }: Fault, { name, texts }: FaultTarget) =>
  (on === '*' || on === name) && (items === undefined || items.some((item) => texts.includes(item)))

const isItemHit = (seed: number, { rate = 1, mode }: Fault, { name, key }: FaultTarget) =>
  rate >= 1 || createRandom(seed, 'fault', mode, name, key).next() < rate

export const createFaultsSchema = (
  endpoints: readonly { readonly name: string }[],
): z.ZodType<readonly Fault[]> =>
  z.array(Fault.extend({ on: z.enum([...new Set(endpoints.map(({ name }) => name)), '*']) })).readonly()

/** The schema of changes to a running simulator of these endpoints; absent fields stay as they are. */
export const createControlSchema = (endpoints: readonly AnyEndpoint[]) =>
  z.strictObject({
    faults: createFaultsSchema(endpoints).optional(),
    /** Milliseconds before each answer; varies by a quarter up and down. */
    latencyMs: z.number({ error: 'must be milliseconds' }).min(0).optional(),
    /** The rate limit of each host from now on; the token buckets start full. */
    limits: createLimitsSchema(endpoints).optional(),
    /** The market's "now" from now on: epoch milliseconds, or ISO 8601 with an offset. */
    asOf: z
      .union([z.number(), z.iso.datetime({ offset: true }).transform((text) => Date.parse(text))])
      .optional(),
    /** Resets all counts, including how often each fault has hit. */
    reset: z.boolean().optional(),
  })
/** Changes to a running simulator; absent fields stay as they are. */
export type Control = Readonly<z.input<ReturnType<typeof createControlSchema>>>

interface ConditionOptions {
  readonly seed: number
  readonly latencyMs: number
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
    /**
     * The market now. A running clock is rounded down to whole minutes, so that answers agree for a minute.
     */
    market: () => {
      const now = resolveAsOf(asOf)
      if (market.asOf !== now) market = marketAt(now)
      return market
    },
    findFault: (target: FaultTarget) => selectFault(target),
    /** Counts a request to a host; returns the rate limit that it exceeds, if any. */
    findExceededLimit: (host: string) => takeToken(host),
    /** Depends on the request alone: the same request always has the same latency. */
    computeLatency: (...key: readonly (string | number)[]) =>
      latencyMs === 0 ? 0 : latencyMs * (0.75 + createRandom(seed, 'latency', ...key).next() / 2),
    change: (control: z.output<ReturnType<typeof createControlSchema>>) => {
      latencyMs = control.latencyMs ?? latencyMs
      asOf = control.asOf ?? asOf
      if (control.limits !== undefined) takeToken = createRateLimits(control.limits, Date.now)
      if (control.faults === undefined && !control.reset) return
      faults = control.faults ?? faults
      selectFault = createFaults(seed, faults)
    },
  }
}

const resolveAsOf = (asOf: number | (() => number)) =>
  typeof asOf === 'number' ? asOf : Math.floor(asOf() / 60_000) * 60_000
