/// <reference lib="esnext.disposable" preserve="true" />
import {
  AsyncSubject,
  asapScheduler,
  catchError,
  concat,
  defaultIfEmpty,
  defer,
  EMPTY,
  EmptyError,
  filter,
  finalize,
  fromEvent,
  identity,
  ignoreElements,
  type MonoTypeOperatorFunction,
  map,
  merge,
  mergeMap,
  NEVER,
  type Observable,
  type ObservableInput,
  of,
  pipe,
  ReplaySubject,
  Subject,
  share,
  switchMap,
  takeUntil,
  tap,
  throwError,
  throwIfEmpty,
} from 'rxjs'
import type { LimiterStatus, SharedLimiters } from '../limiter/limiter-registry.js'
import { deferWithin, keepContext, subscribeWithin, type Within } from '../model/context.js'
import { formatError, NothingAnsweredError, UsageError } from '../model/errors.js'
import type { RunEvent } from '../model/event.js'
import { type ItemOutcome, type ItemResult, type PublicOutcome, toPublicOutcome } from '../model/outcome.js'
import { createRedactor, redactRecord } from '../model/redact.js'
import type { ByName, RunReport } from '../model/report.js'
import { omitUndefined } from '../model/row.js'
import {
  createRunStats,
  type PausedHosts,
  type RunStatsReading,
  type StreamStats,
} from '../model/run-stats.js'
import type { StreamDefinition } from './define-stream.js'
import { iterate } from './iterate.js'
import type { RunDependencies, RunOptions } from './run-options.js'
import { start } from './start.js'

export type { RunDependencies, RunOptions }

/** The names of streams, by their rows. */
export type NameOf<Rows> = keyof Rows & string

/** An item of a run: its outcome, and the stream that it is of. */
export type RunItem<Rows = Readonly<Record<string, unknown>>> = {
  readonly [Name in NameOf<Rows>]: PublicOutcome<Rows[Name]> & { readonly stream: Name }
}[NameOf<Rows>]

/**
 * Receives an item after it was emitted. The next item of its stream, and further requests, wait until the
 * returned promise or observable completes; `concurrency` lets so many items of a stream wait at once. An
 * error ends the run.
 */
export type Consumer<T> =
  | ((item: T) => ObservableInput<unknown>)
  | { readonly each: (item: T) => ObservableInput<unknown>; readonly concurrency?: number | undefined }

/** Options of a run, and who receives its items. */
export interface OpenOptions<Rows = Readonly<Record<string, unknown>>> extends RunOptions<NameOf<Rows>> {
  /** Receives the items with backpressure. */
  readonly consume?: Consumer<RunItem<Rows>> | undefined
  /**
   * Aborts the requests; observables and iteration end with the reason of the signal. The next run resumes.
   */
  readonly signal?: StopSignal | undefined
}

/** What is used of an `AbortSignal`. */
interface StopSignal {
  readonly aborted: boolean
  readonly reason?: unknown
  addEventListener(type: 'abort', listener: () => void): void
  removeEventListener(type: 'abort', listener: () => void): void
}

/**
 * One run. It begins in the turn after the first subscription to one of its observables, or with its
 * iteration; subscriptions of the same turn miss nothing, later ones get what follows, and the report. Once
 * the last subscriber has left, its requests are aborted, and it cannot begin again.
 *
 * @example
 * const run = collector.open({ only: ['market-news'] })
 * for await (const { item, rows } of run) console.log(item.key, rows.length)
 * console.log(run.state())
 */
export interface Run<Rows = Readonly<Record<string, unknown>>> {
  /** What happens; the last event contains the report. */
  readonly event$: Observable<RunEvent>
  /**
   * The items with their rows as they finish, of the streams in `only` or of all. An item that an earlier run
   * has stored is not among them.
   */
  readonly item$: Observable<RunItem<Rows>>
  /** The report, once. */
  readonly report$: Observable<RunReport<NameOf<Rows>>>
  /** How the run is now. */
  state(): RunState<NameOf<Rows>>
  /** Begins no further item, waits up to 5 s for active ones, and ends the run as interrupted. */
  stop(): void
  /**
   * The items, with backpressure: the next one is requested when this one is done. Leaving the loop, or
   * `return()` at any time, ends the subscription at once.
   */
  [Symbol.asyncIterator](): AsyncGenerator<RunItem<Rows>, void, undefined>
  /** Aborts the requests; observables and iteration complete without a report. The next run resumes. */
  [Symbol.asyncDispose](): Promise<void>
}

/** How a run is at one instant. `aborted`: by its signal, or because nobody is subscribed any more. */
export type RunState<Name extends string = string> =
  | { readonly status: 'waiting' | 'aborted' }
  | {
      readonly status: 'running'
      /** The counts of each stream so far; `total` is absent until it is known. */
      readonly streams: ByName<
        Name,
        Pick<StreamStats, 'state' | 'finished' | 'lost' | 'requests' | 'retries' | 'rateLimited'> & {
          readonly total?: number
        }
      >
      /** The hosts that get no requests for now. */
      readonly paused: readonly PausedHosts[]
    }
  | { readonly status: 'ended'; readonly report: RunReport<Name> }
  | { readonly status: 'failed'; readonly error: unknown }

/** What the runs of a collector have in common, and which of them are active. */
export interface RunHost extends Omit<RunDependencies, 'streams' | 'storage' | 'stats' | 'beforeStore'> {
  readonly clock: () => number
  readonly shared: SharedLimiters
  /** Gets the report of each run. */
  readonly reported$?: Subject<RunReport>
  /** Aborts the runs that are active. */
  readonly disposed$: Subject<void>
  readonly runs: { active: number; last?: Extract<RunState, { readonly status: 'ended' | 'failed' }> }
}

/** How a collector is at one instant. */
export interface CollectorHealth {
  /** No circuit is open, and the last run that ended neither failed nor ended with an error. */
  readonly isHealthy: boolean
  readonly activeRuns: number
  /** How the last run ended, those of `stream` included; absent before the first has. */
  readonly last?: Extract<RunState, { readonly status: 'ended' | 'failed' }>
  /** Each host that was asked, and each endpoint. */
  readonly limiters: readonly LimiterStatus[]
}

type Untyped = Readonly<Record<string, unknown>>
type Receive = (item: RunItem) => Promise<void>

/**
 * What is used of a run: all (it begins in the turn after the first subscription), or only its events or
 * items.
 */
type RunUse = 'all' | 'events' | 'items'

/** Prepares a run, which begins when something of it is subscribed to. */
export const openRun = (
  host: RunHost,
  own: Pick<RunDependencies, 'streams' | 'storage'>,
  options: OpenOptions<Untyped>,
  use: RunUse,
): Run<Untyped> => {
  const { runs, disposed$, ...dependencies } = host
  const { consume, signal, stop = NEVER, ...selection } = options
  const stats = createRunStats()
  const stop$ = new ReplaySubject<unknown>(1)
  const left$ = new ReplaySubject<void>(1)
  const items = createItemPipe(host, options)
  let state: RunState = { status: 'waiting' }
  const end = (last: Extract<RunState, { readonly status: 'ended' | 'failed' }>): void => {
    state = last
    runs.last = last
    if (last.status === 'ended') host.reported$?.next(last.report)
  }
  const begin = (within: Within): Observable<RunEvent> => {
    if (state.status !== 'waiting')
      throw new UsageError('this run has begun before and was left; open another one')
    state = { status: 'running', streams: {}, paused: [] }
    runs.active += 1
    return start(
      {
        ...dependencies,
        ...own,
        stats,
        beforeStore: use === 'events' ? undefined : items.beforeStore(within),
      },
      { ...selection, stop: merge(stop, stop$) },
    ).pipe(
      catchError(throwCause),
      tap({
        // Before it is passed on: who takes the first report leaves at once.
        next: (event) => event.type === 'run-finished' && end({ status: 'ended', report: event.report }),
        error: (error: unknown) => end({ status: 'failed', error }),
        complete: () => items.item$.complete(),
      }),
      finalize(() => {
        runs.active -= 1
        if (state.status === 'running') state = { status: 'aborted' }
      }),
    )
  }
  const abort$ = merge(toAbort(signal), left$, disposed$)
  const event$ = deferWithin(
    (within) => begin(within).pipe(takeUntil(abort$)),
    use === 'all' ? asapScheduler : undefined,
  ).pipe(share({ resetOnComplete: false, resetOnError: false }))
  return {
    event$: event$.pipe(keepContext()),
    item$: merge(items.item$, event$.pipe(ignoreElements())).pipe(keepContext()),
    report$: defer(() => (state.status === 'ended' ? of(state.report) : findReport(event$))),
    state: () => (state.status === 'running' ? describeRunning(stats) : state),
    stop: () => stop$.next(undefined),
    [Symbol.asyncIterator]: () => iterate(event$, items.receivers),
    [Symbol.asyncDispose]: async () => left$.next(),
  }
}

const findReport = (event$: Observable<RunEvent>): Observable<RunReport> =>
  event$.pipe(
    filter((event) => event.type === 'run-finished'),
    map(({ report }) => report),
    keepContext(),
  )

const describeRunning = ({ streams, pausedHosts }: RunStatsReading): RunState => ({
  status: 'running',
  streams: Object.fromEntries(
    streams().map(({ name, state, finished, lost, requests, retries, rateLimited, total }) => [
      name,
      omitUndefined({ state, finished, lost, requests, retries, rateLimited, total }),
    ]),
  ),
  paused: pausedHosts(),
})

/**
 * What a consumer has thrown: it ends the run, even an error that would cost one item if a request failed
 * with it.
 */
class ConsumerError extends Error {
  constructor(cause: unknown) {
    super(formatError(cause), { cause })
  }
}

const throwCause = (error: unknown): Observable<never> =>
  throwError(() => (error instanceof ConsumerError ? error.cause : error))

/** Passes the items of a run to its subscribers, and to those that they wait for. */
const createItemPipe = ({ settings }: RunHost, { consume, only }: OpenOptions<Untyped>) => {
  const { each, concurrency = 1 } = typeof consume === 'function' ? { each: consume } : (consume ?? {})
  const item$ = new Subject<RunItem>()
  const receivers = new Set<Receive>()
  const redact = createRedactor(settings)
  const pass = (stream: string, outcome: ItemOutcome, within: Within): Observable<never> => {
    const item = { ...redactRecord(toPublicOutcome(outcome), redact), stream } as PublicOutcome & {
      readonly stream: string
    }
    item$.next(item)
    const all = [...(each ? [each] : []), ...receivers]
    return merge(...all.map((receive) => defer(() => receive(item)))).pipe(
      subscribeWithin(within),
      catchError((error: unknown) => throwError(() => new ConsumerError(error))),
      ignoreElements(),
    )
  }
  const beforeStore =
    (within: Within): NonNullable<RunDependencies['beforeStore']> =>
    (stream, isStored) =>
      only?.includes(stream) === false
        ? identity
        : mergeMap((outcome) => {
            const isWanted = (item$.observed || each || receivers.size > 0) && !isStored(outcome.item)
            return isWanted ? concat(pass(stream, outcome, within), of(outcome)) : of(outcome)
          }, concurrency)
  return { item$, receivers, beforeStore }
}

/** Errors with the reason of a signal once it is aborted. */
const toAbort = (signal: OpenOptions['signal']): Observable<never> =>
  signal === undefined
    ? NEVER
    : defer(() => (signal.aborted ? [0] : fromEvent(signal, 'abort'))).pipe(
        switchMap(() => throwError(() => signal.reason)),
      )

/** How a collector is now. */
export const readHealth = ({ runs: { active, last }, shared }: RunHost): CollectorHealth => {
  const limiters = shared.status()
  const isWell = last === undefined || (last.status === 'ended' && last.report.outcome !== 'failed')
  const isHealthy = isWell && limiters.every(({ circuit }) => circuit === 'closed')
  return { isHealthy, activeRuns: active, ...(last && { last }), limiters }
}

/** Errors instead of completing empty if the list failed that the stream works on. */
export const failIfNothing = (run: Run, name: string): MonoTypeOperatorFunction<RunItem> =>
  pipe(
    throwIfEmpty(() => {
      const state = run.state()
      if (state.status !== 'ended') return new EmptyError()
      const { report } = state
      const { error, code = 'no-answer' } = report.error === undefined ? (report.scripts[name] ?? {}) : report
      return error === undefined ? new EmptyError() : new NothingAnsweredError(error, [{ code }])
    }),
    catchError((error: unknown) => (error instanceof EmptyError ? EMPTY : throwError(() => error))),
  )

/**
 * The streams for calls of `stream`: the lists that others work on, such as that of all stocks, are requested
 * once for all calls until they are too old. If the call that requests a list ends before, the next one
 * requests it.
 */
export const shareLists = (streams: readonly StreamDefinition[], clock: () => number, maxAgeMs: number) => {
  const shared = new Map(
    streams.flatMap((stream) =>
      stream.offers && maxAgeMs > 0 ? [[stream.name, shareWork(stream, clock, maxAgeMs)] as const] : [],
    ),
  )
  return (wanted: string): readonly StreamDefinition[] =>
    streams.map((stream) => (stream.name === wanted ? stream : (shared.get(stream.name) ?? stream)))
}

const shareWork = (stream: StreamDefinition, clock: () => number, maxAgeMs: number): StreamDefinition => {
  const known = new Map<string, { readonly at: number; readonly result: ItemResult }>()
  const pending = new Map<string, Observable<ItemResult | undefined>>()
  const each: StreamDefinition['work']['each'] = (item, tools, file) =>
    defer(() => {
      const { key } = item
      const last = known.get(key)
      if (last !== undefined && clock() - last.at < maxAgeMs) return of(last.result)
      const waiting = pending.get(key)
      if (waiting)
        return waiting.pipe(
          keepContext(),
          defaultIfEmpty(undefined),
          switchMap((result) => (result ? of(result) : each(item, tools, file))),
        )
      const result$ = new AsyncSubject<ItemResult | undefined>()
      pending.set(key, result$)
      const store = (result: ItemResult): void => {
        // Only a whole answer is kept; another one may be better in a minute.
        if (result.status === 'success' && result.degraded === undefined)
          known.set(key, { at: clock(), result })
        result$.next(result)
      }
      return defer(() => stream.work.each(item, tools, file)).pipe(
        tap({ next: store, error: (error: unknown) => result$.error(error) }),
        finalize(() => {
          pending.delete(key)
          result$.complete()
        }),
      )
    })
  return { ...stream, work: { ...stream.work, each } }
}
