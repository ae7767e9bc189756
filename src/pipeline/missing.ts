import { isRow } from '../model/row.js'
import type { StreamTally, Tally } from '../model/tally.js'
import type { StreamDefinition } from './define-stream.js'
import type { Planned } from './plan.js'
import type { Chosen } from './session.js'
import { MASTER } from './work.js'

/** The failed items of each stream: those that failed or may lack records when they were last requested, or all items. */
export type Missing = Readonly<Record<string, readonly string[] | 'all'>>

type Items = Missing[string]

/** The document beside the report that lists the failed items of all runs. */
export const MISSING = 'failed.json'

/** Reads the list from a document, and ignores whatever does not belong to one. */
export const missingIn = (document: unknown): Missing =>
  Object.fromEntries(
    Object.entries(isRow(document) ? document : {}).flatMap(([stream, items]): (readonly [string, Items])[] => {
      if (items === 'all') return [[stream, items]]
      const named = Array.isArray(items) ? items.filter((item): item is string => typeof item === 'string') : []
      return named.length > 0 ? [[stream, named]] : []
    }),
  )

/** Selects exactly the failed items of some streams. */
export const selectionOf = (missing: Missing, names: readonly string[]): Required<Pick<Chosen, 'only' | 'pairs'>> => ({
  only: names,
  pairs: Object.fromEntries(
    names.flatMap((name) => {
      const items = missing[name] ?? []
      return items === 'all' ? [] : [[name, items] as const]
    }),
  ),
})

/** The list to assume if the stored one is unreadable: every item of every enabled stream, until it is fetched again. */
export const allOf = (plan: readonly Planned[]): Missing =>
  Object.fromEntries(plan.flatMap(({ stream, state }) => (state === 'disabled' ? [] : [[stream.name, 'all'] as const])))

/** Whether a run fetches only selected items of a stream. A stream that others depend on is always fetched completely. */
export const isNarrowed = ({ name, offers }: StreamDefinition, { pairs }: Chosen): boolean =>
  offers === undefined && pairs !== undefined && Object.hasOwn(pairs, name)

export interface Ended {
  readonly plan: readonly Planned[]
  readonly tally: Pick<Tally, 'streams'>
  readonly chosen: Chosen
  /** Whether the run can be resumed: items that it has not reached have not failed yet. */
  readonly isInterrupted: boolean
}

/** The list after a run: the items that failed in it, and those of the previous list that it did not request. */
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

/** The items of a stream that a run requested. */
const scopeOf = (stream: StreamDefinition, chosen: Chosen): Items => {
  if (isNarrowed(stream, chosen)) return chosen.pairs?.[stream.name] ?? []
  return stream.work.of === MASTER ? (chosen.symbols ?? 'all') : 'all'
}

/** If a stream failed before any item did, all requested items have failed. */
const lostOf = ({ state, incomplete }: StreamTally, scope: Items): Items =>
  state === 'failed' && incomplete.length === 0 ? scope : incomplete

const without = (items: Items, scope: Items): Items => {
  if (scope === 'all') return []
  const asked = new Set(scope.map((item) => item.toUpperCase()))
  return items === 'all' ? items : items.filter((item) => !asked.has(item.toUpperCase()))
}

const union = (one: Items, other: Items): Items => (one === 'all' || other === 'all' ? 'all' : [...new Set([...one, ...other])])
