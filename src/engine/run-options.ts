import type { Observable } from 'rxjs'
import type { HttpDispatcher } from '../http/exchange.js'
import type { Transport } from '../http/transport.js'
import { type RefusalCode, refusalCodes } from '../market/refusal-policy.js'
import { UsageError } from '../model/errors.js'
import type { ByName } from '../model/report.js'
import type { RunStats } from '../model/run-stats.js'
import type { Settings } from '../model/settings.js'
import { checkOptionNames, findUnknownNames, rejectIssues } from '../model/settings-issues.js'
import { formatMinute, isAfterClock, type MarketCalendar } from '../model/trading-day.js'
import type { StreamDefinition } from './define-stream.js'
import type { AllTelemetry, Log } from './event-bus.js'
import type { Engine, RunContext, SharedLimiters } from './run.js'
import type { WrongSymbolPolicy } from './select-items.js'
import type { Storage } from './storage.js'

/** The options of one run; everything else is in the settings of the collector. */
export interface RunOptions<Name extends string = string> {
  /** Only these streams, and those that they depend on. */
  readonly only?: readonly Name[] | undefined
  /** All streams but these. */
  readonly skip?: readonly Name[] | undefined
  /**
   * Only these stocks; one-file outputs retain the records of all others. A stock is named by its symbol
   * (also `NSE:TCS`, `TCS.NS`), its ISIN, an earlier symbol that the output folder knows, or the name of its
   * company or the unique beginning of it.
   */
  readonly symbols?: readonly string[] | undefined
  /**
   * What to do about symbols that are not listed or have changed: `report` (default) fetches the others,
   * names these in the report, and the run is partial; `reject` is an error before anything is stored if one
   * is not listed. Both fetch a renamed stock.
   */
  readonly wrongSymbols?: WrongSymbolPolicy | undefined
  /**
   * Only these items of these streams: symbols of stocks or indices, or names of lists. Streams that are not
   * named here, or that others depend on, run with all their items.
   */
  readonly pairs?: ByName<Name, readonly string[]> | undefined
  /**
   * "Now", epoch milliseconds, not later than the clock; the end of today in India stands for today. Default:
   * the clock.
   */
  readonly asOf?: number | undefined
  /**
   * Whether a run as of an earlier session also records the outputs that do not follow `asOf` for that
   * session, marked as late; they are those of today. No effect on any other run.
   */
  readonly recordLate?: boolean | undefined
  /**
   * Rules whose refused answers are stored all the same. By default such an answer is refused, and the stored
   * file stays.
   */
  readonly accept?: readonly RefusalCode[] | undefined
  /** Start from scratch, even if an unfinished run could be resumed or a complete one is up to date. */
  readonly fresh?: boolean | undefined
  /** Names the simulator in use, if any: runs against it are the same run although its port changes. */
  readonly variant?: string | undefined
  /**
   * When it emits, the run begins no further item, waits up to 5 s for active ones, and ends as interrupted.
   */
  readonly stop?: Observable<unknown> | undefined
}

const RUN_OPTIONS: Readonly<Record<keyof RunOptions, true>> = {
  only: true,
  skip: true,
  symbols: true,
  wrongSymbols: true,
  pairs: true,
  asOf: true,
  recordLate: true,
  accept: true,
  fresh: true,
  variant: true,
  stop: true,
}

/**
 * Checks what the compiler does not see in JavaScript. @throws UsageError for an unknown option or rule, or
 * an `asOf` that is no instant or in the future
 */
export const checkRunOptions = (options: RunOptions, now: number): void => {
  checkOptionNames(options, RUN_OPTIONS)
  const { accept = [], asOf = 0, wrongSymbols = 'report' } = options
  rejectIssues(
    findUnknownNames(accept, { what: 'rule', names: refusalCodes }, () => 'accept'),
    'accept: ',
  )
  rejectIssues(
    findUnknownNames([wrongSymbols], { what: 'value', names: ['report', 'reject'] }, () => 'wrongSymbols'),
    'wrongSymbols: ',
  )
  const isInstant = !Number.isNaN(new Date(asOf).getTime())
  if (isInstant && !isAfterClock(asOf, now)) return
  const message = isInstant
    ? `asOf is later than the clock: ${formatMinute(asOf)}, now it is ${formatMinute(now)}; leave it out, or use an instant that has passed`
    : `invalid asOf: ${asOf}; use epoch milliseconds`
  throw new UsageError(message, { issues: [{ path: 'asOf', message }] })
}

/** What a collector provides for each of its runs. */
export interface RunDependencies {
  readonly settings: Settings
  readonly streams: readonly StreamDefinition[]
  readonly storage: Storage
  /**
   * Where items are processed. Default: in this process; `scripstream/fleet` runs them on several machines.
   */
  readonly engine?: Engine | undefined
  /**
   * A dispatcher of undici that all requests of this process go through: a proxy, a mock, a unix socket,
   * interceptors. Redirects, size limits, decompression and errors stay as they are. Whoever creates it
   * closes it. Default: keep-alive connections that each run opens and closes, through the proxies of the
   * environment.
   *
   * @example createCollector({ settings, dispatcher: new EnvHttpProxyAgent().compose(interceptors.dns()) })
   */
  readonly dispatcher?: HttpDispatcher | undefined
  /** Sends the requests instead of undici; `httpTransport(dispatcher)` is one to build on. */
  readonly transport?: Transport | undefined
  /**
   * Receives log lines about streams, retries and failures, such as `pino()`. An error that it throws ends no
   * run. Default: no log.
   */
  readonly log?: Log | undefined
  /**
   * Observes each run: `createMetrics`, `spans(api)`, your own, or a list of them. An error that it throws
   * ends no run.
   */
  readonly telemetry?: AllTelemetry | undefined
  /**
   * What outlives a run: together, the runs that share it keep to the limits of one. Default: each run has
   * its own.
   */
  readonly shared?: SharedLimiters | undefined
  /** Counts the events; an app may read it while the run is active. Default: each run has its own. */
  readonly stats?: RunStats | undefined
  /** What the outcomes of a stream pass through before they are stored. */
  readonly beforeStore?: RunContext['beforeStore']
  /** Reads what the settings say about sessions, once a run. Default: each weekday has one. */
  readonly readCalendar?: (() => MarketCalendar) | undefined
  /** The current instant, epoch milliseconds. */
  readonly clock?: (() => number) | undefined
  /** In [0, 1): jitter for the pauses between attempts. */
  readonly random?: (() => number) | undefined
}
