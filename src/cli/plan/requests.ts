import { concatMap, EMPTY, forkJoin, from, map, mergeMap, type Observable, of, reduce, toArray } from 'rxjs'
import type { AnyEndpoint } from '../../http/endpoint.js'
import type { Item } from '../../model/outcome.js'
import type { Settings } from '../../model/settings.js'
import type { StreamDefinition, Tools } from '../../pipeline/define-stream.js'
import { oncePerRun } from '../../pipeline/once-per-run.js'
import type { Stored } from '../../pipeline/storage.js'
import { addBounds, type Bounds, maxBounds, scaleBounds, sumBounds, ZERO_BOUNDS } from './bounds.js'
import { type DryRequest, dryRun, type FailureMode } from './dry-run.js'
import type { Worklist } from './items.js'

/** The requests of some items: per endpoint, and in sequence. */
interface PlannedRequests {
  readonly calls: ReadonlyMap<AnyEndpoint, Bounds>
  /** Sequential rounds of requests, over all items. */
  readonly rounds: Bounds
  /** Rounds of the item with the most. */
  readonly longest: Bounds
}

/** The requests of a stream. */
export interface Demand extends PlannedRequests {
  readonly stream: StreamDefinition
  /** Number of items, and how many of them an unfinished run has already fetched. */
  readonly items: number
  readonly inPlace: number
  readonly known: Worklist['known']
}

export interface DemandContext {
  readonly settings: Settings
  readonly stored: Stored
  /** "Now" of the run, epoch milliseconds. */
  readonly asOf: number
  readonly loadWorklist: (source: string) => Observable<Worklist>
  /** Whether an item is already fetched. */
  readonly isFetched: (stream: string, item: Item) => boolean
  /** The expected maximum of requests of a stream, of which `foreseen` are known: answers may lead to more. */
  readonly usual: (stream: StreamDefinition, foreseen: number) => number
}

/** Items whose files are read in parallel. */
const MAX_DRY_RUNS = 16

const NO_PLANNED_REQUESTS: PlannedRequests = { calls: new Map(), rounds: ZERO_BOUNDS, longest: ZERO_BOUNDS }

/**
 * The requests of each stream in a run, from its own work over the stored data. `least` assumes that all goes well, `most` that only the
 * last source or day of a list answers. Neither counts retries.
 */
export const computeDemands = (streams: readonly StreamDefinition[], context: DemandContext): Observable<readonly Demand[]> => {
  const shared = { nothing: oncePerRun(), missing: oncePerRun() }
  const createTools = (mode: FailureMode): Omit<Tools, 'ask'> => ({
    ...{ stored: context.stored, settings: context.settings, asOf: context.asOf, shared: shared[mode] },
    ...{ after: () => EMPTY, accepts: () => true, warn: () => undefined },
  })
  const countStreamRequests = (stream: StreamDefinition, items: readonly Item[]): Observable<PlannedRequests> => {
    const modes: readonly FailureMode[] = stream.work.of === undefined ? ['nothing', 'missing'] : ['nothing']
    const dryRunItem = (item: Item): Observable<PlannedRequests> =>
      forkJoin(modes.map((mode) => dryRun(stream, item, { tools: createTools(mode), mode }))).pipe(map(countItemRequests))
    return from(items).pipe(mergeMap(dryRunItem, MAX_DRY_RUNS), reduce(addRequests, NO_PLANNED_REQUESTS))
  }
  return from(streams).pipe(
    concatMap((stream) => {
      const { of: source, parts } = stream.work
      const list$: Observable<Worklist> = source === undefined ? of({ items: parts, known: 'given' }) : context.loadWorklist(source)
      return list$.pipe(
        mergeMap(({ items, known, isPlaceholder = false }) => {
          const open = items.filter((item) => !context.isFetched(stream.name, item))
          const facts = { stream, items: items.length, inPlace: items.length - open.length, known }
          const tally$ = isPlaceholder
            ? countStreamRequests(stream, open.slice(0, 1)).pipe(map((tally) => multiplyRequests(tally, open.length)))
            : countStreamRequests(stream, open)
          return tally$.pipe(map((tally): Demand => ({ ...facts, ...tally })))
        }),
      )
    }),
    toArray(),
    map((demands) => {
      const reached = new Set(demands.flatMap(({ calls }) => [...calls.keys()]))
      return demands.map((demand) => addPages(addUnreached(demand, reached), context.usual))
    }),
  )
}

/** The requests of an item, from its dry runs in each failure mode. The first round is needed; other endpoints are fallbacks. */
const countItemRequests = (dryRuns: readonly (readonly DryRequest[])[]): PlannedRequests => {
  const [needed = []] = dryRuns
  const first = new Set(needed.filter(({ round }) => round === 0).map(({ endpoint }) => endpoint))
  const least = needed.filter(({ endpoint }) => first.has(endpoint))
  const countCalls = (all: readonly DryRequest[], endpoint: AnyEndpoint): number => all.filter((one) => one.endpoint === endpoint).length
  const countRounds = (all: readonly DryRequest[]): number => new Set(all.map(({ round }) => round)).size
  const rounds = { least: countRounds(least), most: Math.max(...dryRuns.map(countRounds)) }
  const calls = [...new Set(dryRuns.flat().map(({ endpoint }) => endpoint))].map((endpoint): [AnyEndpoint, Bounds] => [
    endpoint,
    { least: countCalls(least, endpoint), most: Math.max(...dryRuns.map((all) => countCalls(all, endpoint))) },
  ])
  return { calls: new Map(calls), rounds, longest: rounds }
}

const addRequests = (one: PlannedRequests, other: PlannedRequests): PlannedRequests => {
  const calls = new Map(one.calls)
  for (const [endpoint, span] of other.calls) calls.set(endpoint, addBounds(calls.get(endpoint) ?? ZERO_BOUNDS, span))
  return { calls, rounds: addBounds(one.rounds, other.rounds), longest: maxBounds([one.longest, other.longest]) }
}

const multiplyRequests = ({ calls, rounds, longest: one }: PlannedRequests, number: number): PlannedRequests => ({
  calls: new Map([...calls].map(([endpoint, span]) => [endpoint, scaleBounds(span, number)])),
  rounds: scaleBounds(rounds, number),
  longest: one,
})

/** A dry run does not reach an endpoint that needs an earlier answer: at most one request per item. */
const addUnreached = (demand: Demand, reached: ReadonlySet<AnyEndpoint>): Demand => {
  const { stream, items, inPlace, calls } = demand
  const unreached = stream.endpoints.filter((endpoint) => calls.size > 0 && !reached.has(endpoint))
  const once: Bounds = { least: 0, most: unreached.length }
  const each: Bounds = { least: 0, most: items - inPlace }
  return {
    ...demand,
    calls: new Map([...calls, ...unreached.map((endpoint) => [endpoint, each] as const)]),
    rounds: addBounds(demand.rounds, { least: 0, most: once.most * each.most }),
    longest: addBounds(demand.longest, once),
  }
}

/** Further pages are requested one after the other. */
const addPages = (demand: Demand, usual: DemandContext['usual']): Demand => {
  const [first] = demand.calls
  const foreseen = sumRequests(demand).most
  const more: Bounds = { least: 0, most: usual(demand.stream, foreseen) - foreseen }
  if (first === undefined || more.most === 0) return demand
  return {
    ...demand,
    calls: new Map([...demand.calls, [first[0], addBounds(first[1], more)]]),
    rounds: addBounds(demand.rounds, more),
    longest: addBounds(demand.longest, more),
  }
}

/** Total requests of a stream. */
export const sumRequests = ({ calls }: Pick<PlannedRequests, 'calls'>): Bounds => sumBounds(calls.values())
