import {
  AsyncSubject,
  concat,
  concatMap,
  connect,
  defer,
  EMPTY,
  from,
  map,
  mergeMap,
  type Observable,
  type OperatorFunction,
  of,
  switchMap,
  tap,
  throwError,
  toArray,
} from 'rxjs'
import { FORMER_STOCKS, settleStocks } from '../market/former-stocks.js'
import { NothingAnsweredError } from '../model/errors.js'
import type { Item, ItemOutcome } from '../model/outcome.js'
import { isRow } from '../model/row.js'
import type { Stock } from '../model/stock.js'
import { barrier } from '../operators/barrier.js'
import { catchItemFailure } from '../operators/catch-item-failure.js'
import { type BranchEnd, type Graph, runBranch } from './branch.js'
import { ITEM, MASTER, type Output, type StreamDefinition, toFilePath } from './define-stream.js'
import { listRunning, type PlannedStream, selectPhase } from './plan.js'
import type { Executor, RunContext } from './run.js'
import { selectSymbols } from './select-items.js'
import type { Stocks } from './stream-items.js'

/** The master list failed, so no other stream can run. */
export class CriticalFailureError extends NothingAnsweredError {}

/**
 * The whole pipeline: phase `core` in sequence, the master list first, then `enrichment` and `candles` in
 * parallel, with the list multicast into one branch per stream. A barrier ends each phase. Emits the ends of
 * all branches once.
 * @throws CriticalFailureError if the master list is unavailable.
 */
export const runGraph = (run: RunContext, executor: Executor): Observable<readonly BranchEnd[]> => {
  const { plan } = run
  const graph: Graph = { run, executor, passes: createPasses(plan) }
  const core = selectPhase(plan, 'core')
  const master = core.find(({ name }) => name === MASTER)
  const others = core.filter((stream) => stream !== master)
  const later = (stocks: Stocks): Observable<readonly BranchEnd[]> =>
    barrier([
      runInParallel(selectPhase(plan, 'enrichment'), stocks, graph),
      runInParallel(selectPhase(plan, 'candles'), stocks, graph),
    ]).pipe(map((phases) => phases.flat()))
  return fetchMasterList(master, graph).pipe(
    switchMap((stocks) =>
      runInSequence(others, stocks, graph).pipe(
        switchMap((first) => multicast(stocks, later).pipe(map((ends) => [...first, ...ends]))),
      ),
    ),
  )
}

/** The selected stocks of the master list; none if the plan does not need the list. */
const fetchMasterList = (master: StreamDefinition | undefined, graph: Graph): Observable<readonly Item[]> => {
  const { run } = graph
  if (master === undefined) return commitSession(run).pipe(map(() => []))
  return defer(() => {
    let stocks: readonly Item[] = []
    const isins: EarlierIsins['isins'] = new Map()
    const narrow = (all: readonly Item[]): readonly Item[] =>
      (stocks = selectSymbols(all, run.request, run.emit))
    return runBranch(
      master,
      { all: [], each$: EMPTY },
      { ...graph, wrapStore: commitMaster(narrow, { ...run, isins }) },
    ).pipe(
      switchMap(({ stream, outcome, error, code = 'no-answer' }) =>
        outcome === 'failed'
          ? throwError(() => new CriticalFailureError(`${stream} failed: ${error}`, [{ code }]))
          : (run.offered.get(stream) ?? of([])),
      ),
      map((all) => {
        run.listed.push(...addEarlierIsins(all, { isins }))
        return addEarlierIsins(stocks, { isins })
      }),
    )
  })
}

/**
 * Emits once when the run may store. From then on the storage is no longer as the previous run left it. A
 * warning of the storage is reported in the name of the first stream that runs.
 */
const commitSession = ({ plan, session, emit }: RunContext): Observable<void> =>
  (session.commit?.() ?? of(undefined)).pipe(
    tap((warn) => {
      const [first] = listRunning(plan)
      if (first && warn !== undefined) emit({ type: 'warning', stream: first.name, text: warn })
    }),
    map(() => undefined),
  )

/** The earlier ISINs of stocks that have another one now, by their ISIN. */
interface EarlierIsins {
  readonly isins: Map<string, readonly string[]>
}

const listStocks = (all: readonly Item[]): readonly Stock[] =>
  all.flatMap(({ value }) =>
    isRow(value) && typeof value.Symbol === 'string' && typeof value.ISIN === 'string'
      ? [value as unknown as Stock]
      : [],
  )

const addEarlierIsins = (all: readonly Item[], { isins }: EarlierIsins): readonly Item[] =>
  isins.size === 0
    ? all
    : all.map((item) => {
        const earlierIsins = isins.get(listStocks([item])[0]?.ISIN ?? '')
        return earlierIsins === undefined ? item : { ...item, earlierIsins }
      })

/**
 * Moves the files of stocks whose name belongs to another stock now, before anything is stored under it. The
 * list that is still stored tells them: a run that is killed meanwhile moves the rest when it is resumed.
 */
const settleNames = (
  all: readonly Item[],
  { plan, settings, storage, asOf, isins }: RunContext & EarlierIsins,
): Observable<unknown> =>
  settleStocks(() => listStocks(all), { stored: storage.stored, asOf }).pipe(
    concatMap(({ moves, document, earlierIsins }) => {
      for (const [isin, earlier] of earlierIsins) isins.set(isin, earlier)
      const outputs = plan
        .filter(({ stream }) => stream.work.of === MASTER)
        .flatMap(({ stream }) => stream.outputs.filter(({ file }) => ITEM.test(file)))
      const toPath = (output: Output, fileName: string) => toFilePath(output, settings.exchange, { fileName })
      const move$ = from(moves).pipe(
        concatMap(([name, to]) =>
          from(outputs.map((output) => [toPath(output, name), toPath(output, to)] as const)),
        ),
        concatMap(([file, to]) => storage.move?.(file, to) ?? EMPTY),
      )
      return document ? concat(move$, storage.storeDocument(FORMER_STOCKS, document)) : move$
    }),
    toArray(),
  )

/**
 * Stores the master list after `narrow` has selected the stocks of the run. If the list is unavailable or no
 * symbol is known, the storage stays unchanged.
 */
const commitMaster =
  (narrow: (all: readonly Item[]) => readonly Item[], run: RunContext & EarlierIsins) =>
  (store: OperatorFunction<ItemOutcome, number>): OperatorFunction<ItemOutcome, number> =>
  (outcome$) => {
    const offered$: Observable<readonly Item[]> = run.offered.get(MASTER) ?? of([])
    const mayStore$ = offered$.pipe(
      tap((all) => run.emit({ type: 'master-read', stocks: narrow(all).length })),
      concatMap((all) => commitSession(run).pipe(concatMap(() => settleNames(all, run)))),
      map(() => true),
      catchItemFailure(() => of(false)),
    )
    return outcome$.pipe(
      toArray(),
      mergeMap((all) => mayStore$.pipe(mergeMap((mayStore) => (mayStore ? from(all).pipe(store) : of(0))))),
    )
  }

const runInSequence = (
  streams: readonly StreamDefinition[],
  stocks: readonly Item[],
  graph: Graph,
): Observable<readonly BranchEnd[]> =>
  concat(...streams.map((stream) => multicast(stocks, (shared) => runBranch(stream, shared, graph)))).pipe(
    toArray(),
  )

/**
 * Streams over a few lists begin first: others wait for them, and otherwise they would queue behind the first
 * requests of all stocks.
 */
const runInParallel = (
  streams: readonly StreamDefinition[],
  stocks: Stocks,
  graph: Graph,
): Observable<readonly BranchEnd[]> => {
  const listsFirst = [...streams].sort(
    (one, other) => Number(one.work.of !== undefined) - Number(other.work.of !== undefined),
  )
  return barrier(listsFirst.map((stream) => runBranch(stream, stocks, graph)))
}

const multicast = <T>(stocks: readonly Item[], branches: (stocks: Stocks) => Observable<T>): Observable<T> =>
  from(stocks).pipe(connect((each$) => branches({ all: stocks, each$ })))

/**
 * Streams begin their second pass after all streams of the phase have finished the first one, which gives a
 * failing host the most time. Enrichment and candles run in parallel and count as one phase. A stream of the
 * core phase, or one that others wait for, does not wait: so no stream waits for one that waits itself.
 */
const createPasses = (plan: readonly PlannedStream[]): Graph['passes'] => {
  const streams = listRunning(plan)
  const awaited = new Set(streams.flatMap(({ after = [] }) => after))
  const inFirstPass = new Set(streams.filter(({ phase }) => phase !== 'core').map(({ name }) => name))
  const allEnded$ = new AsyncSubject<void>()
  return {
    whenSecondPass: ({ name, phase, offers }) =>
      phase === 'core' || offers !== undefined || awaited.has(name) ? of(undefined) : allEnded$,
    endFirstPass: ({ name }) => {
      inFirstPass.delete(name)
      if (inFirstPass.size > 0) return
      allEnded$.next()
      allEnded$.complete()
    },
  }
}
