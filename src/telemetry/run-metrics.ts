import type Prometheus from 'prom-client'
import type { Registry } from 'prom-client'
import { omitUndefined } from '../model/row.js'
import type { LiveRun } from '../pipeline/telemetry.js'

type LimiterStatus = ReturnType<LiveRun['limiters']>[number]

/** Idle timeouts are 10 and 30 s, total ones six times as long. */
const SECONDS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 180]

const CIRCUIT_STATES = { closed: 0, 'half-open': 1, open: 2 } as const

/** Registers the metrics of runs. `live`: the runs whose limiters are read when the metrics are. */
export const createRunMetrics = (prom: typeof Prometheus, registry: Registry, live: ReadonlySet<LiveRun>) => {
  const counter = <Label extends string>(name: string, help: string, labelNames: readonly Label[]) =>
    new prom.Counter({ name: `scripstream_${name}`, help, labelNames: [...labelNames], registers: [registry] })
  const gauge = <Label extends string>(name: string, help: string, labelNames: readonly Label[]) =>
    new prom.Gauge({ name: `scripstream_${name}`, help, labelNames: [...labelNames], registers: [registry] })
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
    retries: counter('retries_total', 'Retries of requests', ['stream']),
    limited: counter('rate_limited_total', 'Responses with status 429', ['stream']),
    holds: counter('host_holds_total', 'Back-offs and outages of a host, or of one endpoint of it', ['host', 'endpoint', 'why']),
    heldSeconds: counter('host_held_seconds_total', 'Time in back-offs and outages', ['host', 'endpoint']),
    items: counter('items_total', 'Finished items, by status', ['stream', 'status']),
    expected: gauge('items_expected', 'Items of a stream', ['stream']),
    files: counter('files_total', 'Files written', ['stream']),
    stored: counter('stored_bytes_total', 'Bytes of files written', ['stream']),
    ended: counter('streams_total', 'Finished streams, by outcome', ['stream', 'outcome']),
    running: gauge('stream_running', 'Whether a stream is running', ['stream']),
    streamSeconds: gauge('stream_duration_seconds', 'Duration of a stream in the last run', ['stream']),
    outcome: gauge('run_outcome', 'Outcome of the last run: 1 for complete, partial, failed or interrupted', ['outcome']),
    runSeconds: gauge('run_duration_seconds', 'Duration of the last run', []),
    endedAt: gauge('last_run_timestamp_seconds', 'When the last run ended', []),
    succeededAt: gauge('last_success_timestamp_seconds', 'When the last complete run ended', []),
    stocks: gauge('stocks', 'Stocks of the last run', []),
    missing: gauge('items_missing', 'Items that are missing in the outputs after the last run, from it and earlier runs', ['stream']),
    behind: gauge('sessions_behind', 'Sessions that are due and that the outputs lack after the last run', ['stream']),
    drift: gauge('drift_changes', 'Changes in the format of answers that nobody has accepted, in the last run', ['stream']),
  }
}

export type RunMetrics = ReturnType<typeof createRunMetrics>

/** Gauges that are read from the limiters when somebody asks for them. */
const createLimiterGauges = (prom: typeof Prometheus, registry: Registry, live: ReadonlySet<LiveRun>): void => {
  const gauge = (name: string, help: string, read: (status: LimiterStatus) => number, labelNames = ['host', 'endpoint']): void => {
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
  gauge('requests_waiting', 'Requests in the queue of a host, or of one endpoint of it', ({ waiting }) => waiting)
  gauge('limiter_requests_in_flight_limit', 'The most requests in flight that the limiter allows now', ({ maxInFlight }) => maxInFlight)
  gauge('limiter_requests_per_second_limit', 'The most requests a second that the limiter allows now', ({ maxPerSecond }) => maxPerSecond)
  gauge('host_held', 'Whether requests to a host, or to one endpoint of it, are held now', ({ isHeld }) => Number(isHeld))
  gauge('circuit_state', 'Circuit breaker: 0 closed, 1 half-open, 2 open', ({ circuit }) => CIRCUIT_STATES[circuit])
}
