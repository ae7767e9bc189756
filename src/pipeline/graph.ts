import {
  concat,
  connect,
  defer,
  EMPTY,
  filter,
  from,
  type MonoTypeOperatorFunction,
  map,
  mergeMap,
  type Observable,
  of,
  switchMap,
  tap,
  throwError,
  toArray,
} from 'rxjs'
import { NothingAnsweredError } from '../model/errors.js'
import type { Item } from '../model/outcome.js'
import { barrier } from '../operators/barrier.js'
import { type BranchEnd, runBranch } from './branch.js'
import { commitMaster, commitSession } from './commit.js'
import type { StreamDefinition } from './define-stream.js'
import type { RunContext } from './engine.js'
import { hasSelectedItems } from './failed-items.js'
import { type PlannedStream, selectPhase } from './plan.js'
import { MASTER } from './work.js'

/** Selects the stocks of a run from all listed stocks. */
export type SelectStocks = (stocks: readonly Item[]) => readonly Item[]

/** The master list failed, so no other stream can run. */
export class CriticalFailureError extends NothingAnsweredError {}

/**
 * The whole pipeline: phase `core` in sequence, the master list first, then `enrichment` and `candles` in parallel, with the list
 * multicast into one branch per stream. A barrier ends each phase. Emits the ends of all branches once.
 * @throws CriticalFailureError if the master list is unavailable.
 */
export const runGraph = (plan: readonly PlannedStream[], narrow: SelectStocks, run: RunContext): Observable<readonly BranchEnd[]> => {
  const core = selectPhase(plan, 'core')
  const master = core.find(({ name }) => name === MASTER)
  const others = core.filter((stream) => stream !== master)
  const later = (stocks: Stocks): Observable<readonly BranchEnd[]> =>
    barrier([runInParallel(selectPhase(plan, 'enrichment'), stocks, run), runInParallel(selectPhase(plan, 'candles'), stocks, run)]).pipe(
      map((phases) => phases.flat()),
    )
  return fetchMasterList(master, { plan, narrow, run }).pipe(
    switchMap((stocks) =>
      runInSequence(others, stocks, run).pipe(switchMap((first) => multicast(stocks, later).pipe(map((ends) => [...first, ...ends])))),
    ),
  )
}

/** The selected stocks of the master list; none if the plan does not need the list. */
const fetchMasterList = (
  master: StreamDefinition | undefined,
  { plan, narrow, run }: { readonly plan: readonly PlannedStream[]; readonly narrow: SelectStocks; readonly run: RunContext },
): Observable<readonly Item[]> => {
  if (master === undefined) return commitSession(plan, run).pipe(map(() => []))
  return defer(() => {
    let stocks: readonly Item[] = []
    const choose: SelectStocks = (all) => (stocks = narrow(all))
    return connectBranch(master, { all: [], each$: EMPTY }, { ...run, wrapStore: commitMaster(plan, choose, run) }).pipe(
      switchMap(({ stream, outcome, error }) =>
        outcome === 'failed'
          ? throwError(() => new CriticalFailureError(`${stream} failed: ${error}`))
          : (run.offered.get(stream) ?? of([])),
      ),
      map((all) => {
        run.listed.push(...all)
        return stocks
      }),
    )
  })
}

/** The stocks of this run, multicast: a subscriber must subscribe in the same turn, or it misses them. */
interface Stocks {
  readonly all: readonly Item[]
  readonly each$: Observable<Item>
}

const runInSequence = (streams: readonly StreamDefinition[], stocks: readonly Item[], run: RunContext): Observable<readonly BranchEnd[]> =>
  concat(...streams.map((stream) => multicast(stocks, (shared) => connectBranch(stream, shared, run)))).pipe(toArray())

/** Streams over a few lists begin first: others wait for them, and otherwise they would queue behind the first requests of all stocks. */
const runInParallel = (streams: readonly StreamDefinition[], stocks: Stocks, run: RunContext): Observable<readonly BranchEnd[]> => {
  const listsFirst = [...streams].sort((one, other) => Number(one.work.of !== undefined) - Number(other.work.of !== undefined))
  return barrier(listsFirst.map((stream) => connectBranch(stream, stocks, run)))
}

const multicast = <T>(stocks: readonly Item[], branches: (stocks: Stocks) => Observable<T>): Observable<T> =>
  from(stocks).pipe(connect((each$) => branches({ all: stocks, each$ })))

const connectBranch = (stream: StreamDefinition, stocks: Stocks, run: RunContext): Observable<BranchEnd> =>
  runBranch(stream, selectItems(stream, stocks, run), run)

/** The items of a stream: its own parts, the multicast stocks, or the offer of another stream. Reports their number once it is known. */
const selectItems = (stream: StreamDefinition, stocks: Stocks, run: RunContext): Observable<Item> => {
  const {
    name,
    work: { of: source, parts, where = () => true },
  } = stream
  const known = (total: number): void => run.emit({ type: 'items-known', stream: name, total })
  if (hasSelectedItems(stream, run.chosen))
    return selectRequestedItems(stream, stocks, run).pipe(
      tap(({ length }) => known(length)),
      mergeMap((items) => from(items)),
    )
  if (source === undefined) return from(parts).pipe(tap({ subscribe: () => known(parts.length) }))
  if (source === MASTER) {
    const { length } = stocks.all.filter(where)
    return stocks.each$.pipe(filter(where), tap({ subscribe: () => known(length) }), expectCount(length))
  }
  const offered$: Observable<readonly Item[]> = run.offered.get(source) ?? EMPTY
  return offered$.pipe(
    tap(({ length }) => known(length)),
    mergeMap((items) => from(items)),
  )
}

/** The items that `RunOptions.pairs` selects of a stream; warns about those that are no longer listed. */
const selectRequestedItems = (
  { name, work: { of: source, parts, where = () => true } }: StreamDefinition,
  stocks: Stocks,
  run: RunContext,
): Observable<readonly Item[]> => {
  const wanted = new Set(run.chosen.pairs?.[name]?.map((item) => item.toUpperCase()))
  const all$ =
    source === undefined
      ? of(parts)
      : source === MASTER
        ? stocks.each$.pipe(expectCount(stocks.all.length), filter(where), toArray())
        : (run.offered.get(source) ?? EMPTY)
  return all$.pipe(
    map((all) => {
      const chosen = all.filter(({ key }) => wanted.has(key.toUpperCase()))
      for (const { key } of chosen) wanted.delete(key.toUpperCase())
      if (wanted.size > 0) run.emit({ type: 'noticed', stream: name, text: `no longer listed, skipped: ${[...wanted].join(', ')}` })
      return chosen
    }),
  )
}

/** Checks the number of items: a branch that subscribed too late must not look like one with a short list. */
const expectCount =
  (total: number): MonoTypeOperatorFunction<Item> =>
  (item$) =>
    defer(() => {
      let received = 0
      const end = (): void => {
        if (received !== total) throw new Error(`internal error: a stream received ${received} of ${total} stocks`)
      }
      return item$.pipe(tap({ next: () => (received += 1), complete: end }))
    })
