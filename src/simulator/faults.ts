import { z } from 'zod'
import { createRandom } from './random.js'

/** What can go wrong with an answer: its status, its connection, a truncated, wrong or missing body, or a delay. */
export const faultModes = ['status', 'reset', 'truncate', 'html', 'empty', 'garbage', 'null', 'no-body', 'hang', 'drip', 'slow'] as const

/** A fault, and the requests that it hits. */
export const Fault = z.strictObject({
  on: z.string().min(1).describe('name of an endpoint, or * for all'),
  mode: z.enum(faultModes),
  status: z.int().min(200).max(599).optional().describe('of the mode status; 500 if absent'),
  retryAfter: z.union([z.number(), z.string()]).optional().describe('sent as Retry-After with the mode status; a number is seconds'),
  rate: z.number().min(0).max(1).optional().describe('share of the items that it hits, the same ones each time'),
  times: z.int().min(1).optional().describe('how often it hits an item; always if absent'),
  items: z.array(z.string()).optional().describe('hits only requests that contain one of these texts: an ISIN, a symbol, a Sid'),
  ms: z.int().min(0).optional().describe('delay of the mode slow (1,000 if absent), and between two bytes of the mode drip (500)'),
})
export type Fault = Readonly<z.output<typeof Fault>>

/** A request, as far as faults select by it. */
export interface FaultTarget {
  /** Name of the endpoint. */
  readonly name: string
  /** Identifies the item among the requests of one endpoint. */
  readonly key: string
  /** Every text and number in the request, as text. */
  readonly texts: readonly string[]
}

/** Finds the first fault that hits a request, and counts the hit. */
export const createFaults = (seed: number, faults: readonly Fault[]): ((target: FaultTarget) => Fault | undefined) => {
  const hits = new Map<string, number>()
  return (target) => {
    for (const [index, fault] of faults.entries()) {
      if (!isAimedAt(fault, target) || !isSelected(seed, fault, target)) continue
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

const isSelected = (seed: number, { rate = 1, mode }: Fault, { name, key }: FaultTarget) =>
  rate >= 1 || createRandom(seed, 'fault', mode, name, key).next() < rate
