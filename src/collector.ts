import { defer, EMPTY, filter, from, ignoreElements, map, merge, type Observable, type ObservableInput, Subject, tap } from 'rxjs'
import { folder } from '../sinks/folder.js'
import { callbackStorage } from '../sinks/memory.js'
import { streams as allStreams } from '../streams/registry.js'
import { MASTER, type StreamDefinition } from './engine/define-stream.js'
import { type RunDependencies, type RunOptions, start } from './engine/start.js'
import { NothingAnsweredError, UsageError } from './model/errors.js'
import type { RunEvent } from './model/event.js'
import type { PublicOutcome } from './model/outcome.js'
import { createRedactor, redactRecord } from './model/redact.js'
import type { RunReport } from './model/report.js'
import { Settings, type SettingsInput, type WatchRule } from './model/settings.js'
import { checkOptionNames, createSettingsError, findSettingsIssues } from './model/settings-issues.js'
import { readHolidays } from './storage/session-days.js'
import { type WatchChanges, watchRuns } from './tables/watch/watch-runs.js'

export type { RunOptions }

/** The row type of each stream, by the stream's name. */
export type RowsOf<S extends readonly StreamDefinition[]> = {
  readonly [One in S[number] as One['name']]: One extends StreamDefinition<string, infer R> ? R : never
}

/** The parts of a collector. Only `settings` is required. */
export interface CollectorOptions<S extends readonly StreamDefinition[] = readonly StreamDefinition[]>
  extends Omit<RunDependencies, 'settings' | 'streams' | 'storage' | 'readHolidays'> {
  readonly settings: SettingsInput
  /** The scripts. Default: all built-in streams. */
  readonly streams?: S | undefined
  /** Where outputs are stored. Default: the folder in the settings. */
  readonly storage?: RunDependencies['storage'] | undefined
}

/**
 * Runs the graph. Each subscription is a separate run; unsubscribing aborts its requests. `Rows` is the row type of each stream, by its
 * name.
 *
 * @throws UsageError for wrong settings, names or symbols
 * @throws StorageError if the outputs cannot be written; any other error is a bug
 */
export interface Collector<Rows = Readonly<Record<string, unknown>>> {
  /** The events of a run. The last one contains the report. A failed master list is reported there; it is not an error. */
  events(options?: RunOptions): Observable<RunEvent>
  /** The report of one run. */
  run(options?: RunOptions): Observable<RunReport>
  /**
   * What changes in the rows of a query, after each complete run of this collector: compared with the recorded session before. `query` is a
   * SELECT on the tables of the folder in the settings, or the name of a rule or query. Records nothing; completes never.
   *
   * @throws UsageError for a query that is wrong, or if DuckDB is not installed; runs go on
   * @example collector.watch("select symbol, stage from surveillance", { key: ['symbol'] }).subscribe(({ entered }) => console.log(entered))
   */
  watch(query: string, options?: WatchOptions): Observable<WatchChanges>
  /**
   * The outcomes of one stream's items as they finish, failed ones too (see `status`). Completes after the last item. Stores nothing.
   *
   * Observables have no backpressure: items arrive as fast as the provider answers, and slow asynchronous work in a subscriber piles up
   * in memory. Pass `consume` for backpressure.
   *
   * @throws NothingAnsweredError if the list that the stream works on cannot be fetched
   */
  stream<Name extends keyof Rows & string>(name: Name, options?: StreamOptions<Rows[Name]>): Observable<PublicOutcome<Rows[Name]>>
}

/** `key`: the columns that say what a row is about. Default: `symbol` if there is such a column, otherwise all. */
export type WatchOptions = Pick<WatchRule, 'key'>

/** Options for one stream. */
export interface StreamOptions<Row = unknown> extends Pick<RunOptions, 'symbols' | 'asOf'> {
  /**
   * Receives each item after it was emitted. The next item, and further requests, wait until the returned promise or observable completes.
   * An error ends the stream.
   *
   * @example collector.stream('market-news', { consume: ({ item, rows }) => database.insert(item.key, rows) }).subscribe()
   */
  readonly consume?: ((item: PublicOutcome<Row>) => ObservableInput<unknown>) | undefined
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
}

/** Checks what the compiler does not see in JavaScript: without it, a wrong dispatcher looks like an outage that a run waits for. */
const checkParts = (parts: CollectorOptions): void => {
  if (typeof parts !== 'object' || parts === null) throw new UsageError('createCollector needs an object with settings')
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
    if (owner !== undefined && typeof (owner as unknown as Readonly<Record<string, unknown>> | null)?.[method] !== 'function')
      reject(option, `have the method ${method}`)
  for (const [option, call] of Object.entries({ transport, clock, random }))
    if (call !== undefined && typeof call !== 'function') reject(option as 'transport', 'be a function')
}

const STREAM_OPTIONS: Readonly<Record<keyof StreamOptions, true>> = { symbols: true, asOf: true, consume: true }

/**
 * Creates a collector of the given streams, or of all built-in ones. Sends no request yet.
 *
 * @throws UsageError that names each wrong setting, or an unknown or wrong option
 * @example createCollector({ settings: { out: './data' } }).run().subscribe((report) => console.log(report.outcome))
 */
export const createCollector = <const S extends readonly StreamDefinition[] = typeof allStreams>(
  options: CollectorOptions<S>,
): Collector<RowsOf<S>> => createUntypedCollector(options) as Collector<RowsOf<S>>

const createUntypedCollector = (parts: CollectorOptions): Collector => {
  checkParts(parts)
  const { settings: given, streams = allStreams, storage, ...options } = parts
  const settings = parseSettings(given, streams)
  const redact = createRedactor(settings)
  const events = (run: RunOptions, target: RunDependencies['storage']): Observable<RunEvent> =>
    start({ settings, streams, ...options, storage: target, readHolidays: () => readHolidays(settings.holidays) }, run)
  const report$ = new Subject<RunReport>()
  const runEvents = (run: RunOptions): Observable<RunEvent> =>
    defer(() => events(run, storage ?? folder(settings.out))).pipe(
      tap((event) => event.type === 'run-finished' && report$.next(event.report)),
    )
  return {
    events: (run = {}) => runEvents(run),
    run: (run = {}) =>
      runEvents(run).pipe(
        filter((event) => event.type === 'run-finished'),
        map(({ report }) => report),
      ),
    watch: (query, { key } = {}) =>
      report$.pipe(
        watchRuns(async () => {
          const { readLastChanges } = await import('./tables/watch/watch.js')
          const { rows: _, ...changes } = await readLastChanges({ name: 'watch', query, key }, { root: settings.out, streams })
          return changes
        }),
      ),
    stream: (name, streamOptions = {}) =>
      defer(() => {
        checkOptionNames(streamOptions, STREAM_OPTIONS)
        const { consume = () => EMPTY, ...run } = streamOptions
        const stream = streams.find((one) => one.name === name)
        if (stream !== undefined && run.symbols !== undefined) {
          if (stream.work.of !== MASTER)
            throw new UsageError(`symbols: ${name} is not fetched stock by stock; leave them out, and select from its records`)
          if (run.symbols.length === 0) return EMPTY
        }
        const item$ = new Subject<PublicOutcome>()
        const output = stream?.outputs[0]
        let isEmpty = true
        const target = callbackStorage(output, (item) => {
          isEmpty = false
          const shown = redactRecord(item, redact)
          item$.next(shown)
          return from(consume(shown))
        })
        const end = (event: RunEvent): void => {
          if (event.type !== 'run-finished' || !isEmpty) return
          const { report } = event
          const { error, code = 'no-answer' } = report.error === undefined ? (report.scripts[name] ?? {}) : report
          if (error !== undefined) throw new NothingAnsweredError(error, [{ code }])
        }
        const run$ = events({ ...run, only: [name] }, target).pipe(tap({ next: end, complete: () => item$.complete() }), ignoreElements())
        return merge(item$, run$)
      }),
  }
}

/** The settings of a collector with their defaults. @throws UsageError that names each wrong setting, or a stream that does not exist */
const parseSettings = (given: SettingsInput, streams: readonly StreamDefinition[]): Settings => {
  const known = { what: 'stream', names: streams.map(({ name }) => name) }
  const issues = findSettingsIssues(given, { workers: known, timeoutsMs: known })
  if (issues.length === 0) return Settings.parse(given)
  throw createSettingsError(issues.map((issue) => ({ ...issue, message: `${issue.setting || 'settings'} ${issue.message}` })))
}
