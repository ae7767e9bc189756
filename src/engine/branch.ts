import {
  concat,
  count,
  defer,
  EMPTY,
  filter,
  finalize,
  from,
  identity,
  map,
  merge,
  mergeMap,
  NEVER,
  noop,
  type Observable,
  type OperatorFunction,
  of,
  Subject,
  single,
  tap,
} from 'rxjs'
import { thresholds } from '../market/refusal-policy.js'
import {
  type ErrorCode,
  InternalError,
  isItemError,
  joinCodes,
  NothingAnsweredError,
  runNamed,
} from '../model/errors.js'
import { formatNumber } from '../model/format.js'
import { type Item, type ItemOutcome, isLost } from '../model/outcome.js'
import type { ScriptOutcome } from '../model/report.js'
import { omitUndefined, type Row } from '../model/row.js'
import { stripBrackets } from '../model/script-figures.js'
import { catchItemFailure } from '../operators/catch-item-failure.js'
import type { Output, StreamDefinition } from './define-stream.js'
import { saveDrift } from './drift.js'
import type { ActivityCounter, Executor, RunContext } from './run.js'
import type { Journal, SinkContext, SinkItem } from './storage.js'
import { isSelectedBy, type Stocks, selectItems } from './stream-items.js'

export interface StreamOutcome {
  readonly outcome: ScriptOutcome
  readonly error?: string
  readonly code?: ErrorCode
}

export interface BranchEnd extends StreamOutcome {
  readonly stream: string
}

export interface Graph {
  readonly run: RunContext
  readonly executor: Executor
  /** When the streams retry the items that failed for a temporary reason. */
  readonly passes: {
    /** Emits once, as soon as a stream may begin its second pass. */
    readonly whenSecondPass: (stream: StreamDefinition) => Observable<void>
    /** Marks the first pass of a stream as finished; also called if the stream fails early. */
    readonly endFirstPass: (stream: StreamDefinition) => void
  }
  /** Wraps the sinks of a stream, if something must happen before it stores. */
  readonly wrapStore?: (store: OperatorFunction<ItemOutcome, number>) => OperatorFunction<ItemOutcome, number>
}

interface Branch extends Graph {
  readonly stream: StreamDefinition
  readonly journal: Journal
  /** Counts items from the beginning of their work until they are stored. */
  readonly activeItems: ActivityCounter
}

/**
 * Runs one stream: takes the items that an unfinished run has stored from its journal, works on the others
 * with `workers` workers, and stores all outcomes through the sinks of its outputs. Emits once, when
 * everything is stored. A failed stream is an outcome, not an error; only a failure that must stop the run is
 * an error.
 */
export const runBranch = (stream: StreamDefinition, stocks: Stocks, graph: Graph): Observable<BranchEnd> =>
  defer(() => {
    const { run, passes } = graph
    const { name } = stream
    const journal = run.session.journals.get(name)
    if (journal === undefined) throw new InternalError(`${name} has no journal`)
    run.emit({ type: 'stream-started', at: run.clock(), stream: name })
    return processItems(
      { ...graph, stream, journal, activeItems: run.activity.createCounter() },
      selectItems(stream, stocks, run),
    ).pipe(
      catchItemFailure((error, { code }) => of({ outcome: 'failed' as const, error, code })),
      single(),
      map((end) => {
        // Also after an early failure: other streams must not wait for this one.
        passes.endFirstPass(stream)
        run.emit({ type: 'stream-finished', at: run.clock(), stream: name, ...end })
        saveDrift(run)
        return { stream: name, ...end }
      }),
    )
  })

const SAVE_DRIFT_EVERY = 20

const processItems = (branch: Branch, item$: Observable<Item>): Observable<StreamOutcome> => {
  const { stream, run, activeItems, wrapStore = identity } = branch
  const offer = createOffer(stream, run)
  const counts = createOutcomeCounts(stream)
  const finished = (outcome: ItemOutcome): void => {
    emitOutcome(branch, outcome)
    offer.add(outcome)
    if (counts.add(outcome) % SAVE_DRIFT_EVERY === 0) saveDrift(run)
  }
  return item$.pipe(
    workInTwoPasses(branch),
    tap({ next: finished, error: offer.fail, complete: offer.complete }),
    run.beforeStore?.(stream.name, (item) => branch.journal.findStored(item) !== undefined) ?? identity,
    wrapStore(storeItems(branch)),
    map(counts.toStreamOutcome),
    finalize(activeItems.close),
  )
}

/**
 * Works on all items, then once more, with half the workers, on those that failed wholly or in part for a
 * temporary reason: the second outcome is final. Only the items are held meanwhile, because outcomes may be
 * large.
 */
const workInTwoPasses = ({
  stream,
  run,
  executor,
  passes,
  journal,
  activeItems,
}: Branch): OperatorFunction<Item, ItemOutcome> => {
  const { name } = stream
  const most = run.settings.workers[name] ?? stream.workers
  const pass = (workers: number, isSecondPass: boolean): OperatorFunction<Item, ItemOutcome> => {
    const isStopping = (): boolean => run.activity.isStopping
    const findStored = (item: Item): ItemOutcome | undefined =>
      isSecondPass ? undefined : journal.findStored(item)?.outcome
    return executor.work({ stream, workers, findStored, activeItems, isStopping, isSecondPass })
  }
  const again = (items: readonly Item[]): Observable<ItemOutcome> => {
    if (items.length === 0) return EMPTY
    run.emit({ type: 'items-deferred', stream: name, items: items.length })
    return passes.whenSecondPass(stream).pipe(
      mergeMap(() => {
        if (run.activity.isStopping) return NEVER
        run.emit({ type: 'second-pass', stream: name, items: items.length })
        run.limiters.allowProbes()
        return from(items)
      }),
      pass(Math.max(1, Math.floor(most / 2)), true),
    )
  }
  return (item$) =>
    defer(() => {
      const deferred: Item[] = []
      const isFinal = ({ item, isTemporary }: ItemOutcome): boolean => {
        if (!isTemporary) return true
        // It does not count as active until its second pass.
        activeItems.end()
        deferred.push(item)
        return false
      }
      const endFirstPass = (): void => passes.endFirstPass(stream)
      return concat(
        item$.pipe(pass(most, false), filter(isFinal), tap({ complete: endFirstPass })),
        defer(() => again(deferred.splice(0))),
      )
    })
}

const emitOutcome = ({ stream, run, journal }: Branch, outcome: ItemOutcome): void => {
  const { item, status, degraded, remark, onlyDay, newest, reason, code, causes, isTemporary } = outcome
  const why = omitUndefined({ degraded, remark, onlyDay, newest, reason, code, causes })
  const is = {
    ...(journal.findStored(item) ? { isTakenOver: true } : {}),
    ...(isTemporary ? { isTemporary } : {}),
  }
  run.emit({ type: 'item-finished', stream: stream.name, item: item.key, status, ...is, ...why })
}

/**
 * Offers all rows to dependent streams once every item has finished, before they are stored. If an item was
 * lost, those streams get the failure instead.
 */
const createOffer = ({ name, offers }: StreamDefinition, run: RunContext) => {
  const offer$ = run.offered.get(name)
  if (offers === undefined || offer$ === undefined) return NO_OFFER
  const warn = (text: string): void => run.emit({ type: 'warning', stream: name, text })
  const rows: unknown[] = []
  let hasFailed = false
  const fail = (error: unknown): void => {
    hasFailed = true
    offer$.error(error)
  }
  const complete = (): void => {
    if (hasFailed) return
    try {
      offer$.next(
        runNamed(`offers of ${name}`, undefined, () => offers(rows.splice(0) as readonly Row[], warn)),
      )
    } catch (error) {
      fail(error)
      // The failure of a list is that of the streams that need it; a bug ends the run.
      if (!isItemError(error)) throw error
    }
    offer$.complete()
  }
  const add = (outcome: ItemOutcome): void => {
    if (!isLost(outcome)) for (const row of outcome.rows) rows.push(row)
    else {
      const why = `${name}, the source of this stream, failed: ${describeReason(outcome)}`
      fail(new NothingAnsweredError(why, [{ code: 'no-answer', ...outcome }]))
    }
  }
  return { add, fail, complete }
}

const NO_OFFER = { add: noop, fail: noop, complete: noop }

const createOutcomeCounts = ({ work }: StreamDefinition) => {
  let all = 0
  /** Lost, or empty because a source failed. */
  let lost = 0
  /** With rows, but possibly not all of them. */
  let degraded = 0
  let empty = 0
  /** The first few, one of each kind. */
  const reasons: string[] = []
  const codes = new Set<ErrorCode>()
  const addReason = (outcome: ItemOutcome): void => {
    const reason = describeReason(outcome)
    if (reasons.length < 5 && !reasons.some((other) => stripBrackets(other) === stripBrackets(reason)))
      reasons.push(reason)
    if (outcome.code !== undefined) codes.add(outcome.code)
  }
  return {
    add: (outcome: ItemOutcome): number => {
      all += 1
      const [isEmpty, isPartly] = [outcome.status === 'empty', outcome.degraded !== undefined]
      if (isLost(outcome) || (isEmpty && isPartly)) {
        lost += 1
        addReason(outcome)
      } else if (isPartly) degraded += 1
      else if (isEmpty) empty += 1
      return all
    },
    /**
     * A stream over fixed parts fails if any part fails. A stream over a list fails if every item was lost,
     * or is empty because a source failed. It is partial if some items were lost or may lack rows.
     */
    toStreamOutcome: (): StreamOutcome => {
      if (lost > 0 && (work.of === undefined || lost === all))
        return { outcome: 'failed', error: [...new Set(reasons)].join('; '), code: joinCodes([...codes]) }
      if (empty === all && all >= thresholds.allEmpty)
        return { outcome: 'failed', error: `all ${formatNumber(all)} items were empty`, code: 'all-empty' }
      return { outcome: lost + degraded > 0 ? 'partial' : 'success' }
    },
  }
}

/**
 * Names the part in its reason, but not the stock: stocks often share a reason, which is then reported once.
 */
const describeReason = ({ item: { key, value }, reason, degraded, status }: ItemOutcome): string => {
  const why = reason ?? degraded ?? status
  return value === key && key !== 'all' ? `${key}: ${why}` : why
}

/**
 * Stores all outcomes of a stream: first the files of single items, then each item's line in the journal,
 * finally, from the journal, the files of all items. Items that an unfinished run has stored need no file of
 * their own and no line. Emits the number of items once everything is stored.
 */
const storeItems = (branch: Branch): OperatorFunction<ItemOutcome, number> => {
  const { stream, journal, activeItems, run } = branch
  const context = createSinkContext(branch)
  const intoSinks = (isWanted: (output: Output) => boolean) => (stored$: Observable<SinkItem>) =>
    stream.outputs
      .filter(isWanted)
      .reduce((before$, output) => run.storage.open(output, context)(before$), stored$)
  return (outcome$) =>
    defer(() => {
      let finished = 0
      const takenOver$ = new Subject<SinkItem>()
      const isFresh = ({ item }: ItemOutcome): boolean => {
        finished += 1
        const stored = journal.findStored(item)
        if (stored === undefined) return true
        Object.values(stored.files).forEach(context.wrote)
        takenOver$.next(stored)
        return false
      }
      const fresh$ = outcome$.pipe(
        filter(isFresh),
        map((outcome): SinkItem => ({ outcome, files: {} })),
        intoSinks((output) => !isGathered(output)),
        journal.write,
        tap({ next: activeItems.end, complete: () => takenOver$.complete() }),
      )
      return merge(takenOver$, fresh$).pipe(
        // The files of all items are built at the end: the stream is active until then.
        tap({ complete: activeItems.begin }),
        intoSinks(isGathered),
        count(),
        tap((stored) => {
          if (finished !== stored)
            throw new InternalError(`the sinks of ${stream.name} stored ${stored} of ${finished} items`)
        }),
      )
    })
}

const isGathered = ({ shape }: Output): boolean => shape === 'rows-in-one-file'

const createSinkContext = ({ stream, journal, run }: Branch): SinkContext => ({
  stream: stream.name,
  exchange: run.settings.exchange,
  asOf: run.asOf,
  get listed() {
    return stream.work.where ? run.listed.filter(isSelectedBy(stream)) : run.listed
  },
  accepts: (code) => run.accept.includes(code),
  journal,
  wrote: (bytes) => run.emit({ type: 'stored', stream: stream.name, bytes }),
  warn: (text) => run.emit({ type: 'warning', stream: stream.name, text }),
  refuse: (code, reason) =>
    run.emit({ type: 'warning', stream: stream.name, text: `${code}: ${reason}`, code }),
})
