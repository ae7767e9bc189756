import type Prometheus from 'prom-client'
import type { Gauge, Registry } from 'prom-client'
import type { LiveRun } from '../engine/event-bus.js'
import { UsageError } from '../model/errors.js'
import { omitUndefined } from '../model/row.js'

export type LiveRuns = ReadonlySet<Pick<LiveRun, 'limiters'>>
/** A gauge that each collector, by its name, fills when it is read. */
type CollectedGauge = Gauge & { readonly collectors: Map<string, (gauge: Gauge) => void> }

type LimiterFacts = ReturnType<LiveRun['limiters']>[number]

/** Idle timeouts are 10 and 30 s, total ones six times as long. */
const SECONDS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 180]

const CIRCUIT_STATES = { closed: 0, 'half-open': 1, open: 2 } as const

const STREAM = ['stream'] as const

type Labels<Name extends string = string> = Partial<Record<Name, string>>

/** Where metrics are registered, and what distinguishes those of one collector from others there. */
interface MetricPlace {
  readonly prom: typeof Prometheus
  readonly registry: Registry
  readonly own: { readonly collector?: string }
}

/** The metric of another collector in the registry, or a new one. */
const register = <M>({ registry }: MetricPlace, name: string, create: (name: string) => M): M =>
  (registry.getSingleMetric(`scripstream_${name}`) as M | undefined) ?? create(`scripstream_${name}`)

/** A metric of prom-client as far as it is used; each value has the label of the collector. */
const createMetricKinds = (place: MetricPlace) => {
  const { prom, registry, own } = place
  const facts = (name: string, help: string, labels: readonly string[]) => ({
    name,
    help,
    labelNames: [...labels, 'collector'],
    registers: [registry],
  })
  const counter = <Name extends string>(name: string, help: string, labels: readonly Name[]) => {
    const metric = register(place, name, (full) => new prom.Counter(facts(full, help, labels)))
    return { inc: (values: Labels<Name>, by?: number) => metric.inc({ ...values, ...own }, by) }
  }
  const gauge = <Name extends string>(name: string, help: string, labels: readonly Name[]) => {
    const metric = register(place, name, (full) => new prom.Gauge(facts(full, help, labels)))
    const known = new Map<string, Labels<Name>>()
    const set = (values: Labels<Name>, value: number) => {
      known.set(JSON.stringify(values), values)
      metric.set({ ...values, ...own }, value)
    }
    if (labels.length === 0) set({}, 0)
    const reset = () => {
      for (const values of known.values()) metric.remove({ ...values, ...own })
      known.clear()
    }
    return { set, reset }
  }
  const histogram = <Name extends string>(name: string, help: string, labels: readonly Name[]) => {
    const metric = register(
      place,
      name,
      (full) => new prom.Histogram({ ...facts(full, help, labels), buckets: SECONDS }),
    )
    return { observe: (values: Labels<Name>, value: number) => metric.observe({ ...values, ...own }, value) }
  }
  return { counter, gauge, histogram }
}

/** Registers the metrics of runs. `live`: the runs whose limiters are read when the metrics are. */
export const createRunMetrics = (place: MetricPlace, live: LiveRuns) => {
  const { counter, gauge, histogram } = createMetricKinds(place)
  createLimiterGauges(place, live)
  return {
    requests: counter(
      'requests_total',
      'Finished requests, by HTTP status (none without a reply) and outcome: success, or the code of the failure',
      ['host', 'endpoint', 'status', 'outcome'],
    ),
    received: counter('response_bytes_total', 'Bytes of response bodies, decompressed', ['host', 'endpoint']),
    seconds: histogram(
      'request_duration_seconds',
      'Time from sending a request to its complete response, or to its failure; without cancelled requests',
      ['host', 'endpoint', 'status'],
    ),
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

export type RunMetrics = ReturnType<typeof createRunMetrics>

const SHARED =
  "the registry has the metrics of another collector: give each a name of its own, as in createMetrics({ registry, collector: 'nse' }), or a registry"

/** Creates gauges that are read from the limiters when somebody asks for them. */
const createLimiterGauge =
  (place: MetricPlace, live: LiveRuns) =>
  (name: string, help: string, read: (status: LimiterFacts) => number, labels = ['host', 'endpoint']) => {
    const { prom, registry, own } = place
    const { collector = '' } = own
    const fill = (metric: Gauge) => {
      for (const status of [...live].flatMap(({ limiters }) => limiters())) {
        const { hosts, endpoint } = status
        if (endpoint !== undefined && !labels.includes('endpoint')) continue
        for (const host of hosts) metric.set(omitUndefined({ host, endpoint, ...own }), read(status))
      }
    }
    const create = (full: string): CollectedGauge => {
      const collect = function (this: CollectedGauge): void {
        this.reset()
        for (const one of this.collectors.values()) one(this)
      }
      const labelNames = [...labels, 'collector']
      const metric = new prom.Gauge({ name: full, help, labelNames, registers: [registry], collect } as never)
      return Object.assign(metric, { collectors: new Map() })
    }
    const { collectors } = register(place, name, create)
    const isNamed = collectors?.size === 0 || (collector !== '' && collectors?.has('') === false)
    if (!isNamed || collectors.has(collector)) throw new UsageError(SHARED)
    collectors.set(collector, fill)
  }

const createLimiterGauges = (place: MetricPlace, live: LiveRuns): void => {
  const gauge = createLimiterGauge(place, live)
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
