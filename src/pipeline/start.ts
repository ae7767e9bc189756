import { AsyncSubject, catchError, concatMap, map, Observable, of, throwError } from 'rxjs'
import { UsageError } from '../model/errors.js'
import type { Emit, RunEvent } from '../model/event.js'
import type { Item } from '../model/outcome.js'
import type { Settings } from '../model/settings.js'
import { createTally, type Tally } from '../model/tally.js'
import { openConnections, type Transport } from '../provider/http.js'
import { askedOnce } from './asked-once.js'
import type { StreamDefinition } from './define-stream.js'
import { CriticalFailure, graph } from './graph.js'
import { type Log, logEvent } from './log.js'
import { narrowTo } from './narrow.js'
import { planRun } from './plan.js'
import { checkRequirements } from './requirements.js'
import type { Run } from './run.js'
import type { Storage } from './storage.js'

/** What one run is about; everything else is in the collector's settings. */
export interface RunOptions {
  /** Only these streams, and what they need. */
  readonly only?: readonly string[]
  /** All streams but these. */
  readonly skip?: readonly string[]
  /** Only these stocks; one-file outputs keep the others' records. */
  readonly symbols?: readonly string[]
  /** "Now", epoch milliseconds; the clock's if absent. */
  readonly asOf?: number
}

export interface Starting {
  readonly settings: Settings
  readonly streams: readonly StreamDefinition[]
  readonly storage: Storage
  readonly transport?: Transport
  readonly log?: Log
  readonly clock?: () => number
  readonly random?: () => number
}

/** One run: its events, the last of which carries the report, as it is also kept beside the outputs. Each subscription is a run of its own. */
export const start = (
  { settings, streams, storage, transport, log, clock = Date.now, random = Math.random }: Starting,
  options: RunOptions,
): Observable<RunEvent> =>
  new Observable((subscriber) => {
    if (Number.isNaN(new Date(options.asOf ?? 0).getTime())) throw new UsageError(`asOf is ${options.asOf}: it must be epoch milliseconds`)
    const plan = planRun(streams, settings, options)
    checkRequirements(plan, settings)
    const tally = createTally()
    const emit: Emit = (event) => {
      tally.record(event)
      if (log) logEvent(log, event)
      subscriber.next(event)
    }
    const startedAt = clock()
    const asOf = options.asOf ?? startedAt
    const states = plan.map(({ stream, state }) => ({ name: stream.name, state }))
    emit({ type: 'run-started', at: startedAt, run: runId(startedAt, random), asOf, streams: states })
    if (subscriber.closed) return
    const connections = transport ? { send: transport, close: () => undefined } : openConnections()
    const offered = new Map(streams.flatMap(({ name, offers }) => (offers ? [[name, new AsyncSubject<readonly Item[]>()] as const] : [])))
    const run: Run = {
      settings,
      asOf,
      storage,
      transport: connections.send,
      emit,
      clock,
      random,
      shared: askedOnce(),
      offered,
      listed: [],
    }
    subscriber.add(
      graph(plan, narrowTo(options.symbols, emit), run)
        .pipe(reported(tally, run))
        .subscribe({ next: emit, error: (error: unknown) => subscriber.error(error), complete: () => subscriber.complete() }),
    )
    subscriber.add(connections.close)
  })

const reported =
  (tally: Tally, { storage, clock }: Run) =>
  (end$: Observable<unknown>): Observable<RunEvent> =>
    end$.pipe(
      map(() => tally.report(clock())),
      catchError((error: unknown) =>
        error instanceof CriticalFailure ? of(tally.report(clock(), { outcome: 'failed', error: error.message })) : throwError(() => error),
      ),
      concatMap((report) => storage.keep('report.json', report).pipe(map((): RunEvent => ({ type: 'run-finished', report })))),
    )

/** Sorts by time, and tells apart what started in the same second. */
const runId = (startedAt: number, random: () => number): string => {
  const second = new Date(startedAt).toISOString().replace(/[-:]|\.\d+/g, '')
  return `${second}-${Math.floor(random() * 0x10000)
    .toString(16)
    .padStart(4, '0')}`
}
