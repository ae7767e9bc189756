import type Prometheus from 'prom-client'
import type { Registry } from 'prom-client'
import type { FinishedRequest, Follower, LiveRun } from '../engine/event-bus.js'
import { isSignificant } from '../model/drift.js'
import type { RunEvent } from '../model/event.js'
import { requireOptional } from '../model/optional-package.js'
import type { RunOutcome, RunReport, ScriptReport } from '../model/report.js'
import { omitUndefined } from '../model/row.js'
import { countItems } from '../model/script-figures.js'

/** The part of a registry of prom-client that is used. */
export interface MetricsRegistry {
  /** All metrics in the text format of Prometheus. */
  metrics(): Promise<string>
  readonly contentType: string
}

/** Metrics of runs, and what feeds them. */
export interface Metrics {
  readonly registry: MetricsRegistry
  /** Pass it to `createCollector({ telemetry })`; several collectors may share it. */
  readonly telemetry: (
    run: Pick<LiveRun, 'limiters'>,
  ) => Follower & { readonly event: NonNullable<Follower['event']> }
}

/** Options of `createMetrics`; nothing is required. */
export interface MetricsOptions {
  /**
   * The registry of prom-client in which the metrics are created, such as `prom.register`. Default: one of
   * their own.
   */
  readonly registry?: MetricsRegistry | undefined
  /**
   * Also creates the default metrics of prom-client: memory, CPU, event loop, garbage collection. Default:
   * `false`.
   */
  readonly processMetrics?: boolean | undefined
  /** When the last complete run ended, epoch milliseconds, if it was in another process. */
  readonly lastSuccessAt?: number | undefined
  /**
   * Labels of all metrics of the registry. Two collectors in one process: give each a registry and labels of
   * its own.
   */
  readonly labels?: Readonly<Record<string, string>> | undefined
}

/**
 * Creates Prometheus metrics of runs: requests, items, limiters, and how the last run ended. Needs the
 * package `prom-client`.
 *
 * @throws UsageError if prom-client is not installed
 * @example
 * const { registry, telemetry } = createMetrics()
 * createCollector({ settings, telemetry }).run().subscribe()
 * server.get('/metrics', async (_, response) => response.type(registry.contentType).send(await registry.metrics()))
 */
export const createMetrics = ({
  registry: given,
  processMetrics = false,
  lastSuccessAt,
  labels,
}: MetricsOptions = {}): Metrics => {
  const prom = loadClient()
  const registry = (given as Registry | undefined) ?? new prom.Registry()
  if (labels !== undefined) registry.setDefaultLabels(labels)
  if (processMetrics) prom.collectDefaultMetrics({ register: registry })
  const live = new Set<Pick<LiveRun, 'limiters'>>()
  const metrics = createRunMetrics(prom, registry, live)
  if (lastSuccessAt !== undefined) metrics.succeededAt.set(lastSuccessAt / 1_000)
  const telemetry: Metrics['telemetry'] = (run) => {
    live.add(run)
    const timer = createHoldTimer((hold, seconds) => metrics.heldSeconds.inc(hold, seconds))
    let hasReport = false
    return {
      event: (event) => {
        if (event.type === 'run-finished') hasReport = true
        recordEvent(metrics, timer, event)
      },
      request: (request) => recordRequest(metrics, request),
      over: (error) => {
        live.delete(run)
        if (!hasReport) recordOutcome(metrics, error === undefined ? 'interrupted' : 'failed')
      },
    }
  }
  return { registry, telemetry }
}

/**
 * The metrics of the process, in a registry of their own: other programs on the machine have metrics of the
 * same names.
 */
export const createProcessMetrics = (labels: Readonly<Record<string, string>>): MetricsRegistry => {
  const prom = loadClient()
  const registry = new prom.Registry()
  registry.setDefaultLabels(labels)
  prom.collectDefaultMetrics({ register: registry })
  return registry
}

const loadClient = (): typeof Prometheus =>
  requireOptional<typeof Prometheus>('prom-client', 'metrics need a package that is not installed')

const recordEvent = (
  metrics: RunMetrics,
  timer: ReturnType<typeof createHoldTimer>,
  event: RunEvent,
): void => {
  switch (event.type) {
    case 'run-started':
      // A counter that first appears with a value has no increase.
      for (const host of event.streams.flatMap(({ state, hosts = [] }) => (state === 'waiting' ? hosts : [])))
        metrics.heldSeconds.inc({ host }, 0)
      break
    case 'retried':
      metrics.retries.inc({ stream: event.stream })
      break
    case 'rate-limited':
      metrics.limited.inc({ stream: event.stream })
      break
    case 'items-known':
      metrics.expected.set({ stream: event.stream }, event.total)
      break
    case 'item-finished':
      metrics.items.inc({ stream: event.stream, status: event.status })
      break
    case 'stored':
      metrics.files.inc({ stream: event.stream })
      metrics.stored.inc({ stream: event.stream }, event.bytes)
      break
    case 'stream-started':
      metrics.running.set({ stream: event.stream }, 1)
      break
    case 'stream-finished':
      metrics.ended.inc({ stream: event.stream, outcome: event.outcome })
      metrics.running.set({ stream: event.stream }, 0)
      break
    case 'host-paused':
    case 'host-resumed':
      for (const host of event.hosts) {
        const hold = omitUndefined({ host, endpoint: event.endpoint })
        if (timer.record(hold, event) && event.type === 'host-paused')
          metrics.holds.inc({ ...hold, why: event.why })
      }
      break
    case 'run-finished':
      timer.end(Date.parse(event.report.finishedAt))
      recordReport(metrics, event.report)
  }
}

const recordRequest = (
  metrics: RunMetrics,
  { endpoint: { host, name: endpoint }, status, failure, bytes, ms }: FinishedRequest,
): void => {
  const labels = status === undefined ? { host, endpoint } : { host, endpoint, status: String(status) }
  metrics.requests.inc({ ...labels, outcome: failure ?? 'success' })
  metrics.received.inc({ host, endpoint }, bytes)
  if (failure !== 'cancelled') metrics.seconds.observe(labels, ms / 1_000)
}

const recordReport = (metrics: RunMetrics, report: RunReport): void => {
  const {
    outcome,
    durationMs,
    finishedAt,
    stocks,
    scripts,
    missing = {},
    newest = {},
    stale = [],
    drift = [],
  } = report
  recordOutcome(metrics, outcome)
  metrics.runSeconds.set(durationMs / 1_000)
  metrics.endedAt.set(Date.parse(finishedAt) / 1_000)
  if (outcome === 'complete') metrics.succeededAt.set(Date.parse(finishedAt) / 1_000)
  metrics.stocks.set(stocks)
  for (const gauge of [metrics.streamSeconds, metrics.missing, metrics.behind, metrics.drift]) gauge.reset()
  // A stream that lacks nothing has a 0, so that an alert ends.
  for (const [stream, script] of Object.entries(scripts)) {
    metrics.missing.set({ stream }, countMissing(missing[stream], script))
    const late = newest[stream] === undefined ? [] : stale.filter((one) => (one.stream ?? stream) === stream)
    metrics.behind.set({ stream }, Math.max(0, ...late.map(({ sessions }) => sessions)))
    if (script.outcome === 'skipped' || script.outcome === 'disabled') continue
    metrics.drift.set({ stream }, drift.filter((one) => one.stream === stream && isSignificant(one)).length)
    metrics.streamSeconds.set({ stream }, script.durationMs / 1_000)
  }
}

/**
 * If nobody knows how many items are missing, the number is that of the items that the stream had, or one.
 */
const countMissing = (missing: number | 'all' | undefined, script: ScriptReport): number =>
  missing === 'all' ? Math.max(1, countItems(script)) : (missing ?? 0)

const OUTCOMES: readonly RunOutcome[] = ['complete', 'partial', 'failed', 'interrupted']

const recordOutcome = (metrics: RunMetrics, outcome: RunOutcome): void => {
  for (const one of OUTCOMES) metrics.outcome.set({ outcome: one }, Number(one === outcome))
}

/** A host, or one endpoint of it. */
interface Hold {
  readonly host: string
  readonly endpoint?: string
}

type HoldEvent = Extract<RunEvent, { readonly type: 'host-paused' | 'host-resumed' }>

/**
 * Measures for how long hosts are held, by the times of events. `add` receives the time since the last event
 * of a hold: while it lasts, each probe that fails causes one.
 */
const createHoldTimer = (add: (hold: Hold, seconds: number) => void) => {
  const open = new Map<string, { readonly hold: Hold; readonly at: number }>()
  const close = (key: string, at: number): void => {
    const before = open.get(key)
    if (before) add(before.hold, Math.max(0, at - before.at) / 1_000)
    open.delete(key)
  }
  return {
    /** Returns whether a hold begins with this event. */
    record: (hold: Hold, { type, at }: HoldEvent): boolean => {
      const key = `${hold.host} ${hold.endpoint ?? ''}`
      const isNew = type === 'host-paused' && !open.has(key)
      close(key, at)
      if (type === 'host-paused') open.set(key, { hold, at })
      return isNew
    },
    /** Ends all holds: the run is over. */
    end: (at: number): void => {
      for (const key of [...open.keys()]) close(key, at)
    },
  }
}

type LiveRuns = ReadonlySet<Pick<LiveRun, 'limiters'>>
type LimiterFacts = ReturnType<LiveRun['limiters']>[number]

/** Idle timeouts are 10 and 30 s, total ones six times as long. */
const SECONDS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 180]

const CIRCUIT_STATES = { closed: 0, 'half-open': 1, open: 2 } as const

const STREAM = ['stream'] as const

/** Registers the metrics of runs. `live`: the runs whose limiters are read when the metrics are. */
const createRunMetrics = (prom: typeof Prometheus, registry: Registry, live: LiveRuns) => {
  const counter = <Label extends string>(name: string, help: string, labels: readonly Label[]) =>
    new prom.Counter({ name: `scripstream_${name}`, help, labelNames: [...labels], registers: [registry] })
  const gauge = <Label extends string>(name: string, help: string, labels: readonly Label[]) =>
    new prom.Gauge({ name: `scripstream_${name}`, help, labelNames: [...labels], registers: [registry] })
  createLimiterGauges(prom, registry, live)
  return {
    requests: counter(
      'requests_total',
      'Finished requests, by HTTP status (none without a reply) and outcome: success, or the code of the failure',
      ['host', 'endpoint', 'status', 'outcome'],
    ),
    received: counter('response_bytes_total', 'Bytes of response bodies, decompressed', ['host', 'endpoint']),
    seconds: new prom.Histogram({
      name: 'scripstream_request_duration_seconds',
      help: 'Time from sending a request to its complete response, or to its failure; without cancelled requests',
      labelNames: ['host', 'endpoint', 'status'],
      buckets: SECONDS,
      registers: [registry],
    }),
    retries: counter('retries_total', 'Retries of requests', STREAM),
    limited: counter('rate_limited_total', 'Responses with status 429', STREAM),
    holds: counter('host_holds_total', 'Back-offs and outages of a host, or of one endpoint of it', [
      'host',
      'endpoint',
      'why',
    ]),
    heldSeconds: counter('host_held_seconds_total', 'Time in back-offs and outages', ['host', 'endpoint']),
    items: counter('items_total', 'Finished items, by status', ['stream', 'status']),
    expected: gauge('items_expected', 'Items of a stream', STREAM),
    files: counter('files_total', 'Files written', STREAM),
    stored: counter('stored_bytes_total', 'Bytes of files written', STREAM),
    ended: counter('streams_total', 'Finished streams, by outcome', ['stream', 'outcome']),
    running: gauge('stream_running', 'Whether a stream is running', STREAM),
    streamSeconds: gauge('stream_duration_seconds', 'Duration of a stream in the last run', STREAM),
    outcome: gauge('run_outcome', 'Outcome of the last run: 1 for complete, partial, failed or interrupted', [
      'outcome',
    ]),
    runSeconds: gauge('run_duration_seconds', 'Duration of the last run', []),
    endedAt: gauge('last_run_timestamp_seconds', 'When the last run ended', []),
    succeededAt: gauge('last_success_timestamp_seconds', 'When the last complete run ended', []),
    stocks: gauge('stocks', 'Stocks of the last run', []),
    missing: gauge(
      'items_missing',
      'Items that are missing in the outputs after the last run, from it and earlier runs',
      STREAM,
    ),
    behind: gauge(
      'sessions_behind',
      'Sessions that are due and that the outputs lack after the last run',
      STREAM,
    ),
    drift: gauge(
      'drift_changes',
      'Changes in the format of answers that nobody has accepted, in the last run',
      STREAM,
    ),
  }
}

type RunMetrics = ReturnType<typeof createRunMetrics>

/** Gauges that are read from the limiters when somebody asks for them. */
const createLimiterGauges = (prom: typeof Prometheus, registry: Registry, live: LiveRuns): void => {
  const gauge = (
    name: string,
    help: string,
    read: (status: LimiterFacts) => number,
    labelNames = ['host', 'endpoint'],
  ): void => {
    new prom.Gauge({
      name: `scripstream_${name}`,
      help,
      labelNames,
      registers: [registry],
      collect() {
        this.reset()
        for (const status of [...live].flatMap(({ limiters }) => limiters())) {
          const { hosts, endpoint } = status
          if (endpoint !== undefined && !labelNames.includes('endpoint')) continue
          for (const host of hosts) this.set(omitUndefined({ host, endpoint }), read(status))
        }
      },
    })
  }
  // What an endpoint has sent may still wait for its host.
  gauge('requests_in_flight', 'Requests in flight', ({ inFlight }) => inFlight, ['host'])
  gauge(
    'requests_waiting',
    'Requests in the queue of a host, or of one endpoint of it',
    ({ waiting }) => waiting,
  )
  gauge(
    'limiter_requests_in_flight_limit',
    'The most requests in flight that the limiter allows now',
    ({ maxInFlight }) => maxInFlight,
  )
  gauge(
    'limiter_requests_per_second_limit',
    'The most requests a second that the limiter allows now',
    ({ maxPerSecond }) => maxPerSecond,
  )
  gauge('host_held', 'Whether requests to a host, or to one endpoint of it, are held now', ({ isHeld }) =>
    Number(isHeld),
  )
  gauge(
    'circuit_state',
    'Circuit breaker: 0 closed, 1 half-open, 2 open',
    ({ circuit }) => CIRCUIT_STATES[circuit],
  )
}
