import { z } from 'zod'
import { hosts } from '../model/settings.js'

const RateLimit = z.strictObject({
  perSecond: z.number().positive().describe('requests a second that are served in the long run'),
  burst: z.number().min(1).describe('requests that are served at once after a pause'),
  retryAfter: z.union([z.number(), z.string()]).optional().describe('sent as Retry-After with the 429; a number is seconds'),
})
type Limit = Readonly<z.output<typeof RateLimit>>

/** The rate limit of each host, by its prefix; `*` is for each of the other hosts. A request over the limit is answered with 429. */
export const Limits = z.partialRecord(z.enum([...hosts, '*']), RateLimit).readonly()
export type Limits = Readonly<z.output<typeof Limits>>

interface Bucket {
  readonly tokens: number
  readonly at: number
}

/** Takes a token out of a host's bucket; returns the exceeded limit if the bucket is empty. */
export const createRateLimits = (limits: Limits, now: () => number): ((host: string) => Limit | undefined) => {
  const buckets = new Map<string, Bucket>()
  return (host) => {
    const limit = limits[host as keyof Limits] ?? limits['*']
    if (limit === undefined) return undefined
    const at = now()
    const bucket = buckets.get(host) ?? { tokens: limit.burst, at }
    const tokens = Math.min(limit.burst, bucket.tokens + (Math.max(0, at - bucket.at) * limit.perSecond) / 1_000)
    buckets.set(host, { tokens: tokens < 1 ? tokens : tokens - 1, at })
    return tokens < 1 ? limit : undefined
  }
}
