import {
  connect,
  defer,
  finalize,
  forkJoin,
  from,
  map,
  mergeMap,
  NEVER,
  type Observable,
  type OperatorFunction,
  of,
  reduce,
  single,
  tap,
} from 'rxjs'
import { thresholds } from '../market/refusal-policy.js'
import { type ErrorCode, InternalError, joinCodes, NothingAnsweredError, runNamed } from '../model/errors.js'
import type { Emit } from '../model/event.js'
import { type Item, type ItemOutcome, isLost } from '../model/outcome.js'
import type { ScriptOutcome } from '../model/report.js'
import { omitUndefined, type Row } from '../model/row.js'
import { stripBrackets } from '../model/script-figures.js'
import { catchItemFailure } from '../operators/catch-item-failure.js'
import { secondPass } from '../operators/second-pass.js'
import type { StreamDefinition } from './define-stream.js'
import { MAX_BACKLOG, type RunContext } from './engine.js'
import type { ActivityCounter } from './run.js'
import type { Journal } from './session.js'
import { storeItems } from './store-items.js'

export interface StreamOutcome {
  readonly outcome: ScriptOutcome
  readonly error?: string
  readonly code?: ErrorCode
}

export interface BranchEnd extends StreamOutcome {
  readonly stream: string
}

/**
 * Runs one stream: takes the items that an unfinished run has stored from its journal, works on the others with `workers` workers, and
 * stores all outcomes through the sinks of its outputs. Emits once, when everything is stored. A failed stream is an outcome, not an
 * error; only a failure that must stop the run is an error.
 */
export const runBranch = (stream: StreamDefinition, item$: Observable<Item>, run: RunContext): Observable<BranchEnd> =>
  defer(() => {
    const { name } = stream
    const journal = run.session.journals.get(name)
    if (journal === undefined) throw new InternalError(`${name} has no journal`)
    run.emit({ type: 'stream-started', at: run.clock(), stream: name })
    return processItems(stream, item$, { journal, run }).pipe(
      catchItemFailure((error, { code }) => of({ outcome: 'failed' as const, error, code })),
      single(),
      map((end) => {
        // Also after an early failure: other streams must not wait for this one.
        run.passes.endFirstPass(stream)
        run.emit({ type: 'stream-finished', at: run.clock(), stream: name, ...end })
        return { stream: name, ...end }
      }),
    )
  })

const processItems = (
  stream: StreamDefinition,
  item$: Observable<Item>,
  { journal, run }: { readonly journal: Journal; readonly run: RunContext },
): Observable<StreamOutcome> => {
  const most = run.settings.workers[stream.name] ?? stream.workers
  const activeItems = run.activity.createCounter()
  const pass = (workers: number, isSecondPass: boolean): OperatorFunction<Item, ItemOutcome> => {
    // A stopping run begins no further item, and its streams do not complete: a stream that completes counts as finished.
    const hasRoom = (): boolean => !run.activity.isStopping() && activeItems.count() < workers + MAX_BACKLOG
    const findStored = (item: Item): ItemOutcome | undefined => (isSecondPass ? undefined : journal.findStored(item)?.outcome)
    return run.executor.work({ stream, workers, findStored, activeItems, hasRoom, isSecondPass })
  }
  const again = (items: readonly Item[]): Observable<ItemOutcome> => {
    run.emit({ type: 'items-deferred', stream: stream.name, items: items.length })
    return run.passes.whenSecondPass(stream).pipe(
      mergeMap(() => {
        if (run.activity.isStopping()) return NEVER
        run.emit({ type: 'second-pass', stream: stream.name, items: items.length })
        return from(items)
      }),
      pass(Math.max(1, Math.floor(most / 2)), true),
    )
  }
  const store = storeItems(stream, { journal, activeItems, run })
  return item$.pipe(
    pass(most, false),
    tap({ complete: () => run.passes.endFirstPass(stream) }),
    secondPass((outcome) => deferToSecondPass(outcome, activeItems), again),
    tap((outcome) => emitOutcome(stream, outcome, { emit: run.emit, isTakenOver: journal.findStored(outcome.item) !== undefined })),
    // The offer subscribes first: it must receive a failure before that failure unsubscribes the other two.
    connect((outcome$) =>
      forkJoin([
        outcome$.pipe(offerItems(stream, (text) => run.emit({ type: 'warning', stream: stream.name, text }), run)),
        outcome$.pipe(toStreamOutcome(stream)),
        outcome$.pipe(run.wrapStore?.(store) ?? store),
      ]),
    ),
    map(([, verdict]) => verdict),
    finalize(activeItems.close),
  )
}

/** The item to retry in the second pass, if it failed wholly or in part for a temporary reason; until then it does not count as active. */
const deferToSecondPass = ({ item, isTemporary }: ItemOutcome, activeItems: ActivityCounter): Item | undefined => {
  if (!isTemporary) return undefined
  activeItems.end()
  return item
}

/** Reports the outcome of an item. */
const emitOutcome = (
  { name }: StreamDefinition,
  { item, status, degraded, remark, newest, reason, code, causes, isTemporary }: ItemOutcome,
  { emit, isTakenOver }: { readonly emit: Emit; readonly isTakenOver: boolean },
): void => {
  const why = omitUndefined({ degraded, remark, newest, reason, code, causes })
  const is = { ...(isTakenOver ? { isTakenOver } : {}), ...(isTemporary ? { isTemporary } : {}) }
  emit({ type: 'item-finished', stream: name, item: item.key, status, ...is, ...why })
}

/** Offers all rows to dependent streams once every item has finished. If an item was lost, those streams get the failure instead. */
const offerItems = (
  { name, offers }: StreamDefinition,
  warn: (text: string) => void,
  run: RunContext,
): OperatorFunction<ItemOutcome, unknown> => {
  const offer = run.offered.get(name)
  if (offers === undefined || offer === undefined) return () => of(undefined)
  const gather = (all: readonly unknown[], outcome: ItemOutcome): readonly unknown[] => {
    if (isLost(outcome))
      throw new NothingAnsweredError(`${name}, the source of this stream, failed: ${describeReason(outcome)}`, [
        { code: 'no-answer', ...outcome },
      ])
    return [...all, ...outcome.rows]
  }
  return (outcome$) =>
    outcome$.pipe(
      reduce(gather, []),
      map((rows) => runNamed(`offers of ${name}`, undefined, () => offers(rows as readonly Row[], warn))),
      // Not `tap(offer)`: tap would call the `subscribe` of the subject as a callback.
      tap({ next: (items) => offer.next(items), complete: () => offer.complete(), error: (error: unknown) => offer.error(error) }),
      catchItemFailure(() => of(undefined)),
    )
}

/**
 * A stream over fixed parts fails if any part fails. A stream over a list fails if every item was lost, or is empty because a source
 * failed. It is partial if some items were lost or may lack rows.
 */
const toStreamOutcome =
  ({ work }: StreamDefinition): OperatorFunction<ItemOutcome, StreamOutcome> =>
  (outcome$) =>
    outcome$.pipe(
      reduce(countOutcome, { all: 0, lost: 0, degraded: 0, empty: 0, reasons: [], codes: [] }),
      map(({ all, lost, degraded, empty, reasons, codes }): StreamOutcome => {
        if (lost > 0 && (work.of === undefined || lost === all))
          return { outcome: 'failed', error: [...new Set(reasons)].join('; '), code: joinCodes(codes) }
        if (empty === all && all >= thresholds.allEmpty)
          return { outcome: 'failed', error: `all ${all} items were empty`, code: 'all-empty' }
        return { outcome: lost + degraded > 0 ? 'partial' : 'success' }
      }),
    )

interface OutcomeCounts {
  readonly all: number
  /** Lost, or empty because a source failed. */
  readonly lost: number
  /** With rows, but possibly not all of them. */
  readonly degraded: number
  readonly empty: number
  /** The first few, one of each kind. */
  readonly reasons: readonly string[]
  /** Each once. */
  readonly codes: readonly ErrorCode[]
}

const countOutcome = ({ all, lost, degraded, empty, reasons, codes }: OutcomeCounts, outcome: ItemOutcome): OutcomeCounts => {
  const isEmpty = outcome.status === 'empty'
  const isPartly = outcome.degraded !== undefined
  if (!isLost(outcome) && !(isEmpty && isPartly))
    return { all: all + 1, lost, degraded: degraded + (isPartly ? 1 : 0), empty: empty + (isEmpty ? 1 : 0), reasons, codes }
  const reason = describeReason(outcome)
  const isKnown = reasons.length > 4 || reasons.some((other) => stripBrackets(other) === stripBrackets(reason))
  const { code } = outcome
  return {
    ...{ all: all + 1, lost: lost + 1, degraded, empty, reasons: isKnown ? reasons : [...reasons, reason] },
    codes: code === undefined || codes.includes(code) ? codes : [...codes, code],
  }
}

/** Names the part in its reason, but not the stock: stocks often share a reason, which is then reported once. */
const describeReason = ({ item: { key, value }, reason, degraded, status }: ItemOutcome): string => {
  const why = reason ?? degraded ?? status
  return value === key && key !== 'all' ? `${key}: ${why}` : why
}
