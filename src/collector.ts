import { defer, EMPTY, filter, from, map, Observable, type ObservableInput } from 'rxjs'
import { folder } from '../sinks/folder.js'
import { passingOn } from '../sinks/passing-on.js'
import { streams as allStreams } from '../streams/index.js'
import { NothingAnswered, UsageError } from './model/errors.js'
import type { RunEvent } from './model/event.js'
import type { Collected } from './model/outcome.js'
import { redactorOf, withoutSecrets } from './model/redact.js'
import type { RunReport } from './model/report.js'
import { Settings, type SettingsInput } from './model/settings.js'
import type { StreamDefinition } from './pipeline/define-stream.js'
import type { Engine } from './pipeline/engine.js'
import type { Log } from './pipeline/log.js'
import { type RunOptions, start } from './pipeline/start.js'
import type { Storage } from './pipeline/storage.js'
import type { Telemetry } from './pipeline/telemetry.js'
import type { Transport } from './provider/transport.js'

export type { RunOptions }

type Streams = readonly StreamDefinition[]

/** The kind of row that each of the given streams emits, by the stream's name. */
export type RowsOf<S extends Streams> = {
  readonly [One in S[number] as One['name']]: One extends StreamDefinition<string, infer R> ? R : never
}

/** What a collector is made of; only `settings` is needed. */
export interface CollectorOptions<S extends Streams = Streams> {
  readonly settings: SettingsInput
  /** The scripts; all of ours if absent. */
  readonly streams?: S
  /** Where outputs go; the folder that the settings name if absent. */
  readonly storage?: Storage
  /** Where items are worked on: in this process if absent, or on a fleet (`scripstream/fleet`). */
  readonly engine?: Engine
  /** Sends requests; keep-alive connections that each run opens and closes if absent. */
  readonly transport?: Transport
  /** Told of streams, further attempts and losses; nothing is logged if absent. */
  readonly log?: Log
  /** Follows each run, for metrics and traces: `spans(api)`, or one of your own. */
  readonly telemetry?: Telemetry
  /** The current instant, epoch milliseconds. */
  readonly clock?: () => number
  /** In [0, 1); spreads the pauses between attempts. */
  readonly random?: () => number
}

/**
 * Runs the graph, as often as its observables are subscribed; runs know nothing of each other. Unsubscribing aborts what is in flight.
 * `Rows` is the kind of row of each stream, by its name. Errors: `UsageError` for wrong settings, names or symbols, `StorageError` when the outputs cannot be written, anything else is a bug.
 */
export interface Collector<Rows = Readonly<Record<string, unknown>>> {
  /** What happens, as it happens; the last event carries the report. A failed master list is such a report, not an error. */
  events(options?: RunOptions): Observable<RunEvent>
  /** The report of one run. */
  run(options?: RunOptions): Observable<RunReport>
  /**
   * One stream's items as they settle, those that failed too (see `status`); completes with the last one, and writes nothing. Errors with
   * `NothingAnswered` when the list that it works on cannot be had.
   *
   * A subscriber of an observable cannot slow it down: items come as fast as the provider answers, and one that starts work on each and
   * does not finish it fills the memory. Give `consume` to be asked no faster than that work is done.
   */
  stream<Name extends keyof Rows & string>(name: Name, options?: StreamOptions<Rows[Name]>): Observable<Collected<Rows[Name]>>
}

/** What one stream is asked for. */
export interface StreamOptions<Row = unknown> extends Pick<RunOptions, 'symbols' | 'asOf'> {
  /**
   * Takes each item, after it was emitted: the next one waits until what this gives back completes (a promise, an observable), and so do
   * the requests. An error ends the stream with it.
   *
   * @example collector.stream('market-news', { consume: ({ item, rows }) => database.insert(item.key, rows) }).subscribe()
   */
  readonly consume?: (item: Collected<Row>) => ObservableInput<unknown>
}

/** Makes a collector of the given streams, or of all of ours. Asks nothing yet; throws a `UsageError` that names each wrong setting. */
export const createCollector = <const S extends Streams = typeof allStreams>(options: CollectorOptions<S>): Collector<RowsOf<S>> =>
  collectorOf(options) as Collector<RowsOf<S>>

const collectorOf = ({ settings: given, streams = allStreams, storage, ...options }: CollectorOptions): Collector => {
  const settings = settled(given)
  const redact = redactorOf(settings)
  const events = (run: RunOptions, target: Storage): Observable<RunEvent> => start({ settings, streams, ...options, storage: target }, run)
  const outputs = (): Storage => storage ?? folder(settings.out)
  return {
    events: (run = {}) => defer(() => events(run, outputs())),
    run: (run = {}) =>
      defer(() => events(run, outputs())).pipe(
        filter((event) => event.type === 'run-finished'),
        map(({ report }) => report),
      ),
    stream: (name, { consume = () => EMPTY, ...run } = {}) =>
      new Observable((subscriber) => {
        const output = streams.find((stream) => stream.name === name)?.outputs[0]
        let isEmpty = true
        const target = passingOn(output, (item) => {
          isEmpty = false
          const shown = withoutSecrets(item, redact)
          subscriber.next(shown)
          return from(consume(shown))
        })
        const fail = (error: string | undefined): void => {
          if (error !== undefined && isEmpty) subscriber.error(new NothingAnswered(error))
        }
        return events({ ...run, only: [name] }, target).subscribe({
          next: (event) => {
            if (event.type === 'run-finished') fail(event.report.error ?? event.report.scripts[name]?.error)
          },
          error: (error: unknown) => subscriber.error(error),
          complete: () => subscriber.complete(),
        })
      }),
  }
}

const settled = (given: SettingsInput): Settings => {
  const { data, error } = Settings.safeParse(given)
  if (data) return data
  throw new UsageError(error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('; '))
}
