/// <reference lib="esnext.disposable" preserve="true" />
import { defer, EMPTY, type Observable, Subject } from 'rxjs'
import { folder } from '../sinks/folder.js'
import { callbackStorage } from '../sinks/memory.js'
import { streams as allStreams } from '../streams/registry.js'
import { MASTER, type StreamDefinition } from './engine/define-stream.js'
import {
  type CollectorHealth,
  type Consumer,
  failIfNothing,
  type NameOf,
  type OpenOptions,
  openRun,
  type Run,
  type RunDependencies,
  type RunHost,
  type RunOptions,
  readHealth,
  shareLists,
} from './engine/open-run.js'
import { type LimitPolicy, SharedLimiters } from './limiter/limiter-registry.js'
import { UsageError } from './model/errors.js'
import type { RunEvent } from './model/event.js'
import type { PublicOutcome } from './model/outcome.js'
import type { RunReport } from './model/report.js'
import { Settings, type SettingsInput, type WatchRule } from './model/settings.js'
import { checkOptionNames, createSettingsError, findSettingsIssues } from './model/settings-issues.js'
import { readCalendar } from './storage/session-days.js'
import { type WatchChanges, watchRuns } from './tables/changes/signals.js'

export type { Run, RunOptions }

/** The row type of each stream, by the stream's name. */
export type RowsOf<S extends readonly StreamDefinition[]> = {
  readonly [One in S[number] as One['name']]: One extends StreamDefinition<string, infer R> ? R : never
}

/** The parts of a collector. Only `settings` is required. */
export interface CollectorOptions<S extends readonly StreamDefinition[] = readonly StreamDefinition[]>
  extends Omit<
    RunDependencies,
    'settings' | 'streams' | 'storage' | 'readCalendar' | 'shared' | 'stats' | 'beforeStore'
  > {
  readonly settings: SettingsInput
  /** The scripts. Default: all built-in streams. */
  readonly streams?: S | undefined
  /** Where outputs are stored. Default: the folder in the settings. */
  readonly storage?: RunDependencies['storage'] | undefined
  /**
   * How long calls of `stream` share the list that a stream works on, such as that of all stocks, in
   * milliseconds; 0 requests it each time. Default: 600,000 (ten minutes). A run that stores always requests
   * it.
   */
  readonly listMaxAgeMs?: number | undefined
}

/**
 * Runs the graph. Each subscription to `events`, `run` or `stream` is a separate run; unsubscribing aborts
 * its requests. All runs of a collector share its limiters, so that together they send no more than one.
 * `Rows` is the row type of each stream, by its name.
 *
 * @throws UsageError for wrong settings, names or symbols
 * @throws StorageError if the outputs cannot be written; any other error is a bug
 */
export interface Collector<Rows = Readonly<Record<string, unknown>>> {
  /** A run as one object, which begins when it is subscribed to or iterated. */
  open(options?: OpenOptions<Rows>): Run<Rows>
  /**
   * The events of a run: `open(options).event$`. The last one contains the report. A failed master list is
   * reported there; it is not an error.
   */
  events(options?: RunOptions<NameOf<Rows>>): Observable<RunEvent>
  /** The report of one run: `open(options).report$`. */
  run(options?: RunOptions<NameOf<Rows>>): Observable<RunReport<NameOf<Rows>>>
  /**
   * What changes in the rows of a query, after each complete run of this collector: compared with the
   * recorded session before. `query` is a SELECT on the tables of the folder in the settings, or the name of
   * a rule or query. Records nothing; completes never.
   *
   * @throws UsageError for a query that is wrong, or if DuckDB is not installed; runs go on
   * @example collector.watch("select symbol, stage from surveillance", { key: ['symbol'] }).subscribe(({ entered }) => console.log(entered))
   */
  watch(query: string, options?: WatchOptions): Observable<WatchChanges>
  /**
   * The outcomes of one stream's items as they finish, failed ones too (see `status`). Completes after the
   * last item. Stores nothing.
   *
   * Observables have no backpressure: items arrive as fast as the provider answers, and slow asynchronous
   * work in a subscriber piles up in memory. Pass `consume` for backpressure.
   *
   * @throws NothingAnsweredError if the list that the stream works on cannot be fetched
   */
  stream<Name extends NameOf<Rows>>(
    name: Name,
    options?: StreamOptions<Rows[Name]>,
  ): Observable<PublicOutcome<Rows[Name]>>
  /** For health checks: the runs of this collector, and the limiters of its hosts. */
  health(): CollectorHealth
  /** Aborts the active runs; their observables complete without a report. */
  [Symbol.asyncDispose](): Promise<void>
}

/**
 * `key`: the columns that say what a row is about. Default: `symbol` if there is such a column, otherwise
 * all.
 */
export type WatchOptions = Pick<WatchRule, 'key'>

/** Options for one stream. */
export interface StreamOptions<Row = unknown>
  extends Pick<RunOptions, 'symbols' | 'asOf'>,
    Pick<OpenOptions, 'signal'> {
  /**
   * Receives each item after it was emitted. The next item, and further requests, wait until the returned
   * promise or observable completes; `concurrency` lets so many items wait at once. An error ends the stream.
   *
   * @example collector.stream('market-news', { consume: ({ item, rows }) => database.insert(item.key, rows) }).subscribe()
   */
  readonly consume?: Consumer<PublicOutcome<Row>> | undefined
}

const COLLECTOR_OPTIONS: Readonly<Record<keyof CollectorOptions, true>> = {
  settings: true,
  streams: true,
  storage: true,
  engine: true,
  dispatcher: true,
  transport: true,
  log: true,
  telemetry: true,
  clock: true,
  random: true,
  listMaxAgeMs: true,
}

/**
 * Checks what the compiler does not see in JavaScript: without it, a wrong dispatcher looks like an outage
 * that a run waits for.
 */
const checkParts = (parts: CollectorOptions): void => {
  if (typeof parts !== 'object' || parts === null)
    throw new UsageError('createCollector needs an object with settings')
  checkOptionNames(parts, COLLECTOR_OPTIONS)
  const { dispatcher, engine, storage, transport, clock, random } = parts
  const reject = (option: keyof CollectorOptions, needed: string): never => {
    const message = `invalid ${option}: it must ${needed}`
    throw new UsageError(message, { issues: [{ path: option, message }] })
  }
  for (const [option, method, owner] of [
    ['dispatcher', 'dispatch', dispatcher],
    ['engine', 'begin', engine],
    ['storage', 'openSession', storage],
  ] as const)
    if (
      owner !== undefined &&
      typeof (owner as unknown as Readonly<Record<string, unknown>> | null)?.[method] !== 'function'
    )
      reject(option, `have the method ${method}`)
  for (const [option, call] of Object.entries({ transport, clock, random }))
    if (call !== undefined && typeof call !== 'function') reject(option as 'transport', 'be a function')
}

const STREAM_OPTIONS: Readonly<Record<keyof StreamOptions, true>> = {
  symbols: true,
  asOf: true,
  consume: true,
  signal: true,
}

/**
 * Creates a collector of the given streams, or of all built-in ones. Sends no request yet.
 *
 * @throws UsageError that names each wrong setting, or an unknown or wrong option
 * @example createCollector({ settings: { out: './data' } }).run().subscribe((report) => console.log(report.outcome))
 */
export const createCollector = <const S extends readonly StreamDefinition[] = typeof allStreams>(
  options: CollectorOptions<S>,
): Collector<RowsOf<S>> => createCollectorWith({}, options) as Collector<RowsOf<S>>

/** A collector whose limiters have another policy than that of its settings, for tests. */
export const createCollectorWith = (limits: Partial<LimitPolicy>, parts: CollectorOptions): Collector => {
  checkParts(parts)
  const {
    settings: given,
    streams = allStreams,
    storage,
    listMaxAgeMs = DEFAULT_LIST_AGE_MS,
    clock = Date.now,
    ...options
  } = parts
  const settings = parseSettings(given, streams)
  const host: RunHost = {
    settings,
    clock,
    ...options,
    shared: new SharedLimiters(settings, streams, limits),
    readCalendar: () => readCalendar(settings),
    runs: { active: 0 },
    disposed$: new Subject(),
  }
  const sharedStreams = shareLists(streams, clock, listMaxAgeMs)
  const reported$ = new Subject<RunReport>()
  const open = (run: OpenOptions = {}, use: 'all' | 'events' = 'all'): Run =>
    openRun({ ...host, reported$ }, { streams, storage: storage ?? folder(settings.out) }, run, use)
  return {
    open: (run) => open(run),
    events: (run) => defer(() => open(run, 'events').event$),
    run: (run) => defer(() => open(run, 'events').report$),
    watch: (query, { key } = {}) =>
      reported$.pipe(
        watchRuns(async () => {
          const { readLastChanges } = await import('./tables/changes/watch.js')
          const rule = { name: 'watch', query, key }
          const { rows: _, ...changes } = await readLastChanges(rule, { root: settings.out, streams })
          return changes
        }),
      ),
    stream: (name, given = {}) =>
      defer(() => {
        checkOptionNames(given, STREAM_OPTIONS)
        const stream = streams.find((one) => one.name === name)
        if (stream !== undefined && given.symbols !== undefined) {
          if (stream.work.of !== MASTER)
            throw new UsageError(
              `symbols: ${name} is not fetched stock by stock; leave them out, and select from its records`,
            )
          if (given.symbols.length === 0) return EMPTY
        }
        const run = openRun(
          host,
          { streams: sharedStreams(name), storage: callbackStorage(undefined, () => EMPTY) },
          { ...given, only: [name] },
          'items',
        )
        return run.item$.pipe(failIfNothing(run, name))
      }),
    health: () => readHealth(host),
    [Symbol.asyncDispose]: async () => host.disposed$.next(),
  }
}

const DEFAULT_LIST_AGE_MS = 600_000

/**
 * The settings of a collector with their defaults. @throws UsageError that names each wrong setting, or a
 * stream that does not exist
 */
const parseSettings = (given: SettingsInput, streams: readonly StreamDefinition[]): Settings => {
  const known = { what: 'stream', names: streams.map(({ name }) => name) }
  // The settings of a simulator are for all built-in streams.
  const owners = [...allStreams, ...streams]
  const issues = findSettingsIssues(given, { workers: known, timeoutsMs: known }, owners)
  if (issues.length === 0) return Settings.parse(given)
  throw createSettingsError(
    issues.map((issue) => ({ ...issue, message: `${issue.setting || 'settings'} ${issue.message}` })),
  )
}
