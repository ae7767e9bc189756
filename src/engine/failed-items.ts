import { concatMap, map, type Observable, of } from 'rxjs'
import { isRow } from '../model/row.js'
import type { RunStats, StreamStats } from '../model/run-stats.js'
import { catchDamagedFile } from '../operators/catch-item-failure.js'
import { MASTER, type StreamDefinition } from './define-stream.js'
import type { PlannedStream } from './plan.js'
import { type RunSelection, type Storage, toStatePath } from './storage.js'

/**
 * The failed items of each stream: those that failed or may lack records when they were last requested, or
 * all items.
 */
export type FailedItems = Readonly<Record<string, readonly string[] | 'all'>>

type FailedList = FailedItems[string]

/** The document beside the report that lists the failed items of all runs. */
export const FAILED_ITEMS = 'failed.json'

/** Reads the list from a document, and ignores whatever does not belong to one. */
export const parseFailedItems = (document: unknown): FailedItems =>
  Object.fromEntries(
    Object.entries(isRow(document) ? document : {}).flatMap(
      ([stream, items]): (readonly [string, FailedList])[] => {
        if (items === 'all') return [[stream, items]]
        const named = Array.isArray(items)
          ? items.filter((item): item is string => typeof item === 'string')
          : []
        return named.length > 0 ? [[stream, named]] : []
      },
    ),
  )

export const parseSelection = (given: unknown): RunSelection => {
  if (!isRow(given)) return {}
  const listed = (field: 'only' | 'skip' | 'symbols'): object =>
    isTexts(given[field]) ? { [field]: given[field] } : {}
  const { pairs } = given
  const isPairs = isRow(pairs) && Object.values(pairs).every(isTexts)
  return {
    ...listed('only'),
    ...listed('skip'),
    ...listed('symbols'),
    ...(isPairs ? { pairs: pairs as NonNullable<RunSelection['pairs']> } : {}),
  }
}

const isTexts = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.every((text) => typeof text === 'string')

/**
 * The list to assume if the stored one is unreadable: every item of every enabled stream, until it is fetched
 * again.
 */
export const assumeAllFailed = (plan: readonly PlannedStream[]): FailedItems =>
  Object.fromEntries(
    plan.flatMap(({ stream, state }) => (state === 'disabled' ? [] : [[stream.name, 'all'] as const])),
  )

/**
 * Whether a run fetches only selected items of a stream. A stream that others depend on is always fetched
 * completely.
 */
export const hasSelectedItems = ({ name, offers }: StreamDefinition, { pairs }: RunSelection): boolean =>
  offers === undefined && pairs !== undefined && Object.hasOwn(pairs, name)

export interface FinishedRun {
  readonly plan: readonly PlannedStream[]
  readonly stats: Pick<RunStats, 'streams'>
  readonly chosen: RunSelection
  /** Whether the run can be resumed: items that it has not reached have not failed yet. */
  readonly isInterrupted: boolean
}

/**
 * The list after a run: the items that failed in it, and those of the previous list that it did not request.
 */
export const computeFailedItems = (
  before: FailedItems,
  { plan, stats, chosen, isInterrupted }: FinishedRun,
): FailedItems => {
  const statsByStream = new Map(stats.streams().map((stream) => [stream.name, stream]))
  const after = new Map(Object.entries(before))
  for (const { stream, state } of plan) {
    const ran = statsByStream.get(stream.name)
    if (state !== 'waiting' || ran === undefined) continue
    const [earlier = [], scope] = [before[stream.name], findScope(stream, chosen)]
    const hasEnded = ran.state === 'success' || ran.state === 'partial' || ran.state === 'failed'
    if (hasEnded) after.set(stream.name, union(exclude(earlier, scope), findLost(ran, scope)))
    else after.set(stream.name, union(earlier, isInterrupted ? ran.incomplete : scope))
  }
  return Object.fromEntries([...after].filter(([, items]) => items.length > 0))
}

const findScope = (stream: StreamDefinition, chosen: RunSelection): FailedList => {
  if (hasSelectedItems(stream, chosen)) return chosen.pairs?.[stream.name] ?? []
  return stream.work.of === MASTER ? (chosen.symbols ?? 'all') : 'all'
}

/** If a stream failed before any item did, all requested items have failed. */
const findLost = ({ state, incomplete }: StreamStats, scope: FailedList): FailedList =>
  state === 'failed' && incomplete.length === 0 ? scope : incomplete

const exclude = (items: FailedList, scope: FailedList): FailedList => {
  if (scope === 'all') return []
  const requested = new Set(scope.map((item) => item.toUpperCase()))
  return items === 'all' ? items : items.filter((item) => !requested.has(item.toUpperCase()))
}

const union = (one: FailedList, other: FailedList): FailedList =>
  one === 'all' || other === 'all' ? 'all' : [...new Set([...one, ...other])]

/**
 * Updates the stored list of failed items, and emits it. Writes nothing if no item failed and no list is
 * stored.
 */
export const updateFailedItems = (
  { stored, storeDocument }: Storage,
  ended: FinishedRun,
): Observable<FailedItems> =>
  stored.document(toStatePath(FAILED_ITEMS)).pipe(
    catchDamagedFile(() => assumeAllFailed(ended.plan)),
    concatMap((document) => {
      const missing = computeFailedItems(parseFailedItems(document), ended)
      const isNeeded = document !== undefined || Object.keys(missing).length > 0
      return isNeeded ? storeDocument(FAILED_ITEMS, missing).pipe(map(() => missing)) : of(missing)
    }),
  )
