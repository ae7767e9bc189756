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
import { thresholds } from '../market/never-worse.js'
import { NothingAnswered } from '../model/errors.js'
import type { Emit } from '../model/event.js'
import { type Item, isLost, type Settled } from '../model/outcome.js'
import { kindOf } from '../model/reason.js'
import type { ScriptOutcome } from '../model/report.js'
import type { Row } from '../model/row.js'
import { recover } from '../operators/recover.js'
import { secondPass } from '../operators/second-pass.js'
import type { Part } from './activity.js'
import type { StreamDefinition } from './define-stream.js'
import type { RunAtWork } from './engine.js'
import type { Journal } from './journal.js'
import { intoSinks } from './kept.js'

export interface Verdict {
  readonly outcome: ScriptOutcome
  readonly error?: string
}

export interface BranchEnd extends Verdict {
  readonly stream: string
}

/**
 * Runs one stream: takes the items that an unfinished run has stored from its journal, works on the others with `workers` workers, and
 * stores all outcomes through the sinks of its outputs. Emits once, when everything is stored. A failed stream is an outcome, not an
 * error; only a failure that must stop the run is an error.
 */
export const branch = (stream: StreamDefinition, item$: Observable<Item>, run: RunAtWork): Observable<BranchEnd> =>
  defer(() => {
    const { name } = stream
    const journal = run.session.journals.get(name)
    if (journal === undefined) throw new Error(`${name} has no journal`)
    run.emit({ type: 'stream-started', at: run.clock(), stream: name })
    return settledItems(stream, item$, { journal, run }).pipe(
      recover((error) => of({ outcome: 'failed' as const, error })),
      single(),
      map((end) => {
        // Also after an early failure: other streams must not wait for this one.
        run.passes.ended(stream)
        run.emit({ type: 'stream-finished', at: run.clock(), stream: name, ...end })
        return { stream: name, ...end }
      }),
    )
  })

/** Items that may wait for the sinks, besides those being fetched: a slow disk must not fill the memory. */
const BACKLOG = 16

interface Working {
  readonly journal: Journal
  readonly run: RunAtWork
}

const settledItems = (stream: StreamDefinition, item$: Observable<Item>, { journal, run }: Working): Observable<Verdict> => {
  const most = run.settings.workers[stream.name] ?? stream.workers
  const inWork = run.activity.part()
  const pass = (workers: number, isSecondPass: boolean): OperatorFunction<Item, Settled> => {
    // A stopping run begins no further item, and its streams do not complete: a stream that completes counts as finished.
    const hasRoom = (): boolean => !run.activity.isStopping() && inWork.count() < workers + BACKLOG
    const earlier = (item: Item): Settled | undefined => (isSecondPass ? undefined : journal.earlier(item)?.settled)
    return run.hands.work({ stream, workers, earlier, inWork, hasRoom, isSecondPass })
  }
  const again = (items: readonly Item[]): Observable<Settled> =>
    run.passes.secondOf(stream).pipe(
      mergeMap(() => {
        if (run.activity.isStopping()) return NEVER
        run.emit({ type: 'second-pass', stream: stream.name, items: items.length })
        return from(items)
      }),
      pass(Math.max(1, Math.floor(most / 2)), true),
    )
  const notice = (text: string): void => run.emit({ type: 'noticed', stream: stream.name, text })
  const store = intoSinks(stream, { journal, inWork, run })
  return item$.pipe(
    pass(most, false),
    tap({ complete: () => run.passes.ended(stream) }),
    secondPass((settled) => withheld(settled, inWork), again),
    tap((settled) => tell(stream, settled, { emit: run.emit, isTakenOver: journal.earlier(settled.item) !== undefined })),
    // The offer subscribes first: it must receive a failure before that failure unsubscribes the other two.
    connect((settled$) =>
      forkJoin([
        settled$.pipe(offered(stream, notice, run)),
        settled$.pipe(judged(stream)),
        settled$.pipe(run.beforeStoring?.(store) ?? store),
      ]),
    ),
    map(([, verdict]) => verdict),
    finalize(inWork.close),
  )
}

/** The item to retry in the second pass, if it failed wholly or in part for a temporary reason; until then it does not count as active. */
const withheld = ({ item, isTemporary }: Settled, inWork: Part): Item | undefined => {
  if (!isTemporary) return undefined
  inWork.end()
  return item
}

/** Reports the outcome of an item. */
const tell = (
  { name }: StreamDefinition,
  { item, status, degraded, remark, reason, code, isTemporary }: Settled,
  { emit, isTakenOver }: { readonly emit: Emit; readonly isTakenOver: boolean },
): void => {
  const why = {
    ...(degraded === undefined ? {} : { degraded }),
    ...(remark === undefined ? {} : { remark }),
    ...(reason === undefined ? {} : { reason }),
    ...(code === undefined ? {} : { code }),
    ...(isTemporary ? { isTemporary } : {}),
  }
  emit({ type: 'settled', stream: name, item: item.key, status, ...(isTakenOver ? { isTakenOver } : {}), ...why })
}

/** Offers all rows to dependent streams once every item has finished. If an item was lost, those streams get the failure instead. */
const offered = (
  { name, offers }: StreamDefinition,
  notice: (text: string) => void,
  run: RunAtWork,
): OperatorFunction<Settled, unknown> => {
  const offer = run.offered.get(name)
  if (offers === undefined || offer === undefined) return () => of(undefined)
  const gather = (all: readonly unknown[], settled: Settled): readonly unknown[] => {
    if (isLost(settled)) throw new NothingAnswered(`${name}, the source of this stream, failed: ${reasonOf(settled)}`)
    return [...all, ...settled.rows]
  }
  return (settled$) =>
    settled$.pipe(
      reduce(gather, []),
      map((rows) => offers(rows as readonly Row[], notice)),
      // Not `tap(offer)`: tap would call the `subscribe` of the subject as a callback.
      tap({ next: (items) => offer.next(items), complete: () => offer.complete(), error: (error: unknown) => offer.error(error) }),
      recover(() => of(undefined)),
    )
}

/**
 * A stream over fixed parts fails if any part fails. A stream over a list fails if every item was lost, or is empty because a source
 * failed. It is partial if some items were lost or may lack rows.
 */
const judged =
  ({ work }: StreamDefinition): OperatorFunction<Settled, Verdict> =>
  (settled$) =>
    settled$.pipe(
      reduce(judge, { all: 0, lost: 0, degraded: 0, empty: 0, reasons: [] }),
      map(({ all, lost, degraded, empty, reasons }) => {
        if (lost > 0 && (work.of === undefined || lost === all)) return { outcome: 'failed', error: reasons.join('; ') }
        if (empty === all && all >= thresholds.allEmpty) return { outcome: 'failed', error: `all ${all} items were empty` }
        return { outcome: lost + degraded > 0 ? 'partial' : 'success' }
      }),
    )

interface Judgement {
  readonly all: number
  /** Lost, or empty because a source failed. */
  readonly lost: number
  /** With rows, but possibly not all of them. */
  readonly degraded: number
  readonly empty: number
  /** The first few, one of each kind. */
  readonly reasons: readonly string[]
}

const judge = ({ all, lost, degraded, empty, reasons }: Judgement, settled: Settled): Judgement => {
  const isEmpty = settled.status === 'empty'
  const isPartly = settled.degraded !== undefined
  if (!isLost(settled) && !(isEmpty && isPartly))
    return { all: all + 1, lost, degraded: degraded + (isPartly ? 1 : 0), empty: empty + (isEmpty ? 1 : 0), reasons }
  const reason = reasonOf(settled)
  const isKnown = reasons.length > 4 || reasons.some((other) => kindOf(other) === kindOf(reason))
  return { all: all + 1, lost: lost + 1, degraded, empty, reasons: isKnown ? reasons : [...reasons, reason] }
}

/** Names the part in its reason, but not the stock: stocks often share a reason, which is then reported once. */
const reasonOf = ({ item: { key, value }, reason, degraded, status }: Settled): string => {
  const why = reason ?? degraded ?? status
  return value === key && key !== 'all' ? `${key}: ${why}` : why
}
