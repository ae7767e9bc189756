import { isRow } from '../model/row.js'
import type { StreamTally, Tally } from '../model/tally.js'
import type { StreamDefinition } from './define-stream.js'
import type { Planned } from './plan.js'
import type { Chosen } from './session.js'
import { MASTER } from './work.js'

/** What is missing of each stream: the items that failed or may lack records when they were last asked for, or all of it. */
export type Missing = Readonly<Record<string, readonly string[] | 'all'>>

type Items = Missing[string]

/** The document beside the report that lists what is missing, all of it. */
export const MISSING = 'failed.json'

/** The list in a document; whatever is none counts as nothing. */
export const missingIn = (document: unknown): Missing =>
  Object.fromEntries(
    Object.entries(isRow(document) ? document : {}).flatMap(([stream, items]): (readonly [string, Items])[] => {
      if (items === 'all') return [[stream, items]]
      const named = Array.isArray(items) ? items.filter((item): item is string => typeof item === 'string') : []
      return named.length > 0 ? [[stream, named]] : []
    }),
  )

/** What counts as missing where the list of it cannot be read: all that this run could ask for, until it is asked for again. */
export const allOf = (plan: readonly Planned[]): Missing =>
  Object.fromEntries(plan.flatMap(({ stream, state }) => (state === 'disabled' ? [] : [[stream.name, 'all'] as const])))

/** Whether a stream may be narrowed to some of its items: what others follow must be whole. */
export const isNarrowed = ({ name, offers }: StreamDefinition, { pairs }: Chosen): boolean =>
  offers === undefined && pairs !== undefined && Object.hasOwn(pairs, name)

export interface Ended {
  readonly plan: readonly Planned[]
  readonly tally: Pick<Tally, 'streams'>
  readonly chosen: Chosen
  /** Whether the run can be continued: what it has not come to is not missing yet. */
  readonly isInterrupted: boolean
}

/** What is missing after a run: what it asked for in vain, and what was missing before that it did not ask for. */
export const missingAfter = (before: Missing, { plan, tally, chosen, isInterrupted }: Ended): Missing => {
  const tallies = new Map(tally.streams().map((stream) => [stream.name, stream]))
  const after = new Map(Object.entries(before))
  for (const { stream, state } of plan) {
    const ran = tallies.get(stream.name)
    if (state !== 'waiting' || ran === undefined) continue
    const [earlier = [], scope] = [before[stream.name], scopeOf(stream, chosen)]
    const hasEnded = ran.state === 'success' || ran.state === 'partial' || ran.state === 'failed'
    if (hasEnded) after.set(stream.name, union(without(earlier, scope), lostOf(ran, scope)))
    else after.set(stream.name, union(earlier, isInterrupted ? ran.incomplete : scope))
  }
  return Object.fromEntries([...after].filter(([, items]) => items.length > 0))
}

/** The items of a stream that a run was about. */
const scopeOf = (stream: StreamDefinition, chosen: Chosen): Items => {
  if (isNarrowed(stream, chosen)) return chosen.pairs?.[stream.name] ?? []
  return stream.work.of === MASTER ? (chosen.symbols ?? 'all') : 'all'
}

/** A stream can fail with none of its items: then it is all of them that are missing. */
const lostOf = ({ state, incomplete }: StreamTally, scope: Items): Items =>
  state === 'failed' && incomplete.length === 0 ? scope : incomplete

const without = (items: Items, scope: Items): Items => {
  if (scope === 'all') return []
  const asked = new Set(scope.map((item) => item.toUpperCase()))
  return items === 'all' ? items : items.filter((item) => !asked.has(item.toUpperCase()))
}

const union = (one: Items, other: Items): Items => (one === 'all' || other === 'all' ? 'all' : [...new Set([...one, ...other])])
