import { concatMap, EMPTY, forkJoin, from, map, mergeMap, type Observable, of, reduce, toArray } from 'rxjs'
import type { Item } from '../../model/outcome.js'
import type { Settings } from '../../model/settings.js'
import { askedOnce } from '../../pipeline/asked-once.js'
import type { StreamDefinition, Tools } from '../../pipeline/define-stream.js'
import type { Stored } from '../../pipeline/storage.js'
import type { AnyEndpoint } from '../../provider/endpoint.js'
import type { Worklist } from './items.js'
import { type Asked, type Failing, probe } from './probe.js'
import { longest, NONE, plus, type Span, sumOf, times } from './span.js'

/** The requests of some items: per endpoint, and in sequence. */
interface Tally {
  readonly calls: ReadonlyMap<AnyEndpoint, Span>
  /** Sequential rounds of requests, over all items. */
  readonly rounds: Span
  /** Rounds of the item with the most. */
  readonly longest: Span
}

/** The requests of a stream. */
export interface Demand extends Tally {
  readonly stream: StreamDefinition
  /** Number of items, and how many of them an unfinished run has already fetched. */
  readonly items: number
  readonly inPlace: number
  readonly known: Worklist['known']
}

export interface Asking {
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
const AT_ONCE = 16

const NOTHING: Tally = { calls: new Map(), rounds: NONE, longest: NONE }

/**
 * The requests of each stream in a run, from its own work over the stored data. `least` assumes that all goes well, `most` that only the
 * last source or day of a list answers. Neither counts retries.
 */
export const demandsOf = (streams: readonly StreamDefinition[], context: Asking): Observable<readonly Demand[]> => {
  const shared = { nothing: askedOnce(), missing: askedOnce() }
  const createTools = (mode: Failing): Omit<Tools, 'ask'> => ({
    ...{ stored: context.stored, settings: context.settings, asOf: context.asOf, shared: shared[mode] },
    ...{ after: () => EMPTY, accepts: () => true, notice: () => undefined },
  })
  const tallyOf = (stream: StreamDefinition, items: readonly Item[]): Observable<Tally> => {
    const modes: readonly Failing[] = stream.work.of === undefined ? ['nothing', 'missing'] : ['nothing']
    const dryRunItem = (item: Item): Observable<Tally> =>
      forkJoin(modes.map((mode) => probe(stream, item, { tools: createTools(mode), mode }))).pipe(map(tallyOfItem))
    return from(items).pipe(mergeMap(dryRunItem, AT_ONCE), reduce(together, NOTHING))
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
            ? tallyOf(stream, open.slice(0, 1)).pipe(map((tally) => repeated(tally, open.length)))
            : tallyOf(stream, open)
          return tally$.pipe(map((tally): Demand => ({ ...facts, ...tally })))
        }),
      )
    }),
    toArray(),
    map((demands) => {
      const reached = new Set(demands.flatMap(({ calls }) => [...calls.keys()]))
      return demands.map((demand) => withPages(withUnreached(demand, reached), context.usual))
    }),
  )
}

/** The requests of an item, from its dry runs in each failure mode. The first round is needed; other endpoints are fallbacks. */
const tallyOfItem = (dryRuns: readonly (readonly Asked[])[]): Tally => {
  const [needed = []] = dryRuns
  const first = new Set(needed.filter(({ round }) => round === 0).map(({ endpoint }) => endpoint))
  const least = needed.filter(({ endpoint }) => first.has(endpoint))
  const countCalls = (all: readonly Asked[], endpoint: AnyEndpoint): number => all.filter((one) => one.endpoint === endpoint).length
  const countRounds = (all: readonly Asked[]): number => new Set(all.map(({ round }) => round)).size
  const rounds = { least: countRounds(least), most: Math.max(...dryRuns.map(countRounds)) }
  const calls = [...new Set(dryRuns.flat().map(({ endpoint }) => endpoint))].map((endpoint): [AnyEndpoint, Span] => [
    endpoint,
    { least: countCalls(least, endpoint), most: Math.max(...dryRuns.map((all) => countCalls(all, endpoint))) },
  ])
  return { calls: new Map(calls), rounds, longest: rounds }
}

const together = (one: Tally, other: Tally): Tally => {
  const calls = new Map(one.calls)
  for (const [endpoint, span] of other.calls) calls.set(endpoint, plus(calls.get(endpoint) ?? NONE, span))
  return { calls, rounds: plus(one.rounds, other.rounds), longest: longest([one.longest, other.longest]) }
}

const repeated = ({ calls, rounds, longest: one }: Tally, number: number): Tally => ({
  calls: new Map([...calls].map(([endpoint, span]) => [endpoint, times(span, number)])),
  rounds: times(rounds, number),
  longest: one,
})

/** A dry run does not reach an endpoint that needs an earlier answer: at most one request per item. */
const withUnreached = (demand: Demand, reached: ReadonlySet<AnyEndpoint>): Demand => {
  const { stream, items, inPlace, calls } = demand
  const unreached = stream.endpoints.filter((endpoint) => calls.size > 0 && !reached.has(endpoint))
  const once: Span = { least: 0, most: unreached.length }
  const each: Span = { least: 0, most: items - inPlace }
  return {
    ...demand,
    calls: new Map([...calls, ...unreached.map((endpoint) => [endpoint, each] as const)]),
    rounds: plus(demand.rounds, { least: 0, most: once.most * each.most }),
    longest: plus(demand.longest, once),
  }
}

/** Further pages are requested one after the other. */
const withPages = (demand: Demand, usual: Asking['usual']): Demand => {
  const [first] = demand.calls
  const foreseen = requestsOf(demand).most
  const more: Span = { least: 0, most: usual(demand.stream, foreseen) - foreseen }
  if (first === undefined || more.most === 0) return demand
  return {
    ...demand,
    calls: new Map([...demand.calls, [first[0], plus(first[1], more)]]),
    rounds: plus(demand.rounds, more),
    longest: plus(demand.longest, more),
  }
}

/** Total requests of a stream. */
export const requestsOf = ({ calls }: Pick<Tally, 'calls'>): Span => sumOf(calls.values())
