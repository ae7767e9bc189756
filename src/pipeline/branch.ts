import {
  connect,
  defer,
  forkJoin,
  map,
  mergeMap,
  type Observable,
  type OperatorFunction,
  of,
  queueScheduler,
  reduce,
  single,
  subscribeOn,
  tap,
} from 'rxjs'
import { NothingAnswered } from '../model/errors.js'
import { type Item, isLost, type Settled } from '../model/outcome.js'
import type { ScriptOutcome } from '../model/report.js'
import type { Row } from '../model/row.js'
import { barrier } from '../operators/barrier.js'
import { recover } from '../operators/recover.js'
import { settle } from '../operators/settle.js'
import { createAsk } from '../provider/ask.js'
import type { StreamDefinition, Tools } from './define-stream.js'
import { fileOf } from './output.js'
import type { Run } from './run.js'
import type { SinkReport } from './storage.js'

/** How a stream ended. */
export interface BranchEnd {
  readonly stream: string
  readonly outcome: ScriptOutcome
  readonly error?: string
}

/**
 * One collection script at work: its items `workers` at a time, each settled, all into the sinks of its outputs. Emits once, when
 * everything is stored. A stream that fails ends well with that outcome; only what must end the run is an error.
 */
export const branch = (stream: StreamDefinition, item$: Observable<Item>, run: Run): Observable<BranchEnd> =>
  defer(() => {
    const tools = toolsOf(stream, run)
    const workers = run.settings.workers[stream.name] ?? stream.workers
    run.emit({ type: 'stream-started', at: run.clock(), stream: stream.name })
    return item$.pipe(
      mergeMap(
        (item) =>
          // Through the queue: work that ends at once, item after item, would else grow the stack until it overflows.
          defer(() => stream.work.each(item, tools, firstFile(stream, item, run))).pipe(settle(item), subscribeOn(queueScheduler)),
        workers,
      ),
      tap((settled) => tell(stream, settled, run)),
      // What is offered comes first: it must hear of a failure before the failure ends the others.
      connect((settled$) =>
        forkJoin([settled$.pipe(offered(stream, tools, run)), settled$.pipe(judged(stream)), settled$.pipe(intoSinks(stream, run))]),
      ),
      map(([, verdict, stored]) => ({ ...verdict, ...stored })),
      recover((error) => of({ outcome: 'failed' as const, error, files: 0, bytes: 0 })),
      single(),
      map((end) => {
        run.emit({ type: 'stream-finished', at: run.clock(), stream: stream.name, ...end })
        return { stream: stream.name, outcome: end.outcome, ...(end.error === undefined ? {} : { error: end.error }) }
      }),
    )
  })

const firstFile = ({ outputs: [output] }: StreamDefinition, item: Item, { settings }: Run): string =>
  fileOf(output, settings.exchange, item)

const toolsOf = (stream: StreamDefinition, run: Run): Tools => ({
  ask: createAsk({
    transport: run.transport,
    settings: run.settings,
    timeoutMs: run.settings.timeoutsMs[stream.name] ?? stream.timeoutMs,
    random: run.random,
    clock: run.clock,
    tell: (type) => run.emit({ type, stream: stream.name }),
  }),
  stored: run.storage.stored,
  settings: run.settings,
  asOf: run.asOf,
  shared: run.shared,
  notice: (text) => run.emit({ type: 'noticed', stream: stream.name, text }),
})

/** Tells the report what became of an item. */
const tell = ({ name }: StreamDefinition, { item, status, degraded, reason }: Settled, { emit }: Run): void => {
  const why = { ...(degraded === undefined ? {} : { degraded }), ...(reason === undefined ? {} : { reason }) }
  emit({ type: 'settled', stream: name, item: item.key, status, ...why })
}

/** Once all has settled, offers what was found to the streams that follow; a stream that lost anything offers its failure. */
const offered = ({ name, offers }: StreamDefinition, { notice }: Tools, run: Run): OperatorFunction<Settled, unknown> => {
  const offer = run.offered.get(name)
  if (offers === undefined || offer === undefined) return () => of(undefined)
  const gather = (all: readonly unknown[], settled: Settled): readonly unknown[] => {
    if (isLost(settled)) throw new NothingAnswered(`${name}, which this follows, failed: ${reasonOf(settled)}`)
    return [...all, ...settled.rows]
  }
  return (settled$) =>
    settled$.pipe(
      reduce(gather, []),
      map((rows) => offers(rows as readonly Row[], notice)),
      // Not the subject itself: tap would take its subscribe for a callback.
      tap({ next: (items) => offer.next(items), complete: () => offer.complete(), error: (error: unknown) => offer.error(error) }),
      recover(() => of(undefined)),
    )
}

/**
 * A stream over parts fails with any of them; one over a list fails when nothing of it could be had, be it lost or left empty by a
 * path that failed.
 */
const judged =
  ({ work }: StreamDefinition): OperatorFunction<Settled, { outcome: ScriptOutcome; error?: string }> =>
  (settled$) =>
    settled$.pipe(
      reduce(judge, { all: 0, lost: 0, reasons: [] }),
      map(({ all, lost, reasons }) => {
        const isFailed = lost > 0 && (work.of === undefined || lost === all)
        return isFailed ? { outcome: 'failed', error: reasons.join('; ') } : { outcome: 'success' }
      }),
    )

interface Judgement {
  readonly all: number
  readonly lost: number
  /** The first few, each once. */
  readonly reasons: readonly string[]
}

const judge = ({ all, lost, reasons }: Judgement, settled: Settled): Judgement => {
  if (!isLost(settled) && !(settled.status === 'empty' && settled.degraded !== undefined)) return { all: all + 1, lost, reasons }
  const reason = reasonOf(settled)
  return { all: all + 1, lost: lost + 1, reasons: reasons.includes(reason) || reasons.length > 4 ? reasons : [...reasons, reason] }
}

/** A part is named with its reason, a stock is not: what many share is told once. */
const reasonOf = ({ item: { key, value }, reason, degraded, status }: Settled): string => {
  const why = reason ?? degraded ?? status
  return value === key && key !== 'all' ? `${key}: ${why}` : why
}

const intoSinks = (stream: StreamDefinition, run: Run): OperatorFunction<Settled, SinkReport> => {
  const wrote = (bytes: number): void => run.emit({ type: 'stored', stream: stream.name, bytes })
  const context = { exchange: run.settings.exchange, asOf: run.asOf, listed: run.listed, wrote }
  return connect((settled$) =>
    barrier(stream.outputs.map((output) => run.storage.open(output, context)(settled$))).pipe(
      map((reports) =>
        reports.reduce((sum, { files, bytes }) => ({ files: sum.files + files, bytes: sum.bytes + bytes }), { files: 0, bytes: 0 }),
      ),
    ),
  )
}
