import { defer, EMPTY, filter, map, Observable } from 'rxjs'
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
import type { Log } from './pipeline/log.js'
import { type RunOptions, start } from './pipeline/start.js'
import type { Storage } from './pipeline/storage.js'
import type { Transport } from './provider/http.js'

export type { RunOptions }

export interface CollectorOptions {
  readonly settings: SettingsInput
  /** The scripts; all of ours if absent. */
  readonly streams?: readonly StreamDefinition[]
  /** Where outputs go; the folder that the settings name if absent. */
  readonly storage?: Storage
  /** Sends requests; keep-alive connections that each run opens and closes if absent. */
  readonly transport?: Transport
  readonly log?: Log
  /** The current instant, epoch milliseconds. */
  readonly clock?: () => number
  /** In [0, 1); spreads the pauses between attempts. */
  readonly random?: () => number
}

/**
 * Runs the graph, as often as its observables are subscribed; runs know nothing of each other. Unsubscribing aborts what is in flight.
 * Errors: `UsageError` for wrong settings, names or symbols, `StorageError` when the outputs cannot be written, anything else is a bug.
 */
export interface Collector {
  /** What happens, as it happens; the last event carries the report. A failed master list is such a report, not an error. */
  events(options?: RunOptions): Observable<RunEvent>
  /** The report of one run. */
  run(options?: RunOptions): Observable<RunReport>
  /** One stream's items as they settle; writes nothing. Errors with `NothingAnswered` when the list that it works on cannot be had. */
  stream(name: string, options?: Pick<RunOptions, 'symbols' | 'asOf'>): Observable<Collected>
}

export const createCollector = ({ settings: given, streams = allStreams, storage, ...options }: CollectorOptions): Collector => {
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
    stream: (name, run = {}) =>
      new Observable((subscriber) => {
        const output = streams.find((stream) => stream.name === name)?.outputs[0]
        let isEmpty = true
        const target = passingOn(output, (item) => {
          isEmpty = false
          subscriber.next(withoutSecrets(item, redact))
          return EMPTY
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
