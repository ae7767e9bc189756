import type Prometheus from 'prom-client'
import type { Registry } from 'prom-client'
import type { RunEvent } from '../model/event.js'
import { requireOptional } from '../model/optional-package.js'
import type { FinishedRequest, Telemetry } from '../pipeline/event-bus.js'

/** Creates the metrics of runs in their own registry. Rejects with a `UsageError` if prom-client is not installed. */
export const createMetrics = async (): Promise<{ readonly registry: Registry; readonly telemetry: Telemetry }> => {
  const prom = requireOptional<typeof Prometheus>('prom-client', 'metrics need a package that is not installed')
  const registry = new prom.Registry()
  const metrics = createRunMetrics(prom, registry)
  const telemetry: Telemetry = () => ({
    event: (event) => recordEvent(metrics, event),
    request: (request) => recordRequest(metrics, request),
  })
  return { registry, telemetry }
}

type RunMetrics = ReturnType<typeof createRunMetrics>

const createRunMetrics = (prom: typeof Prometheus, registry: Registry) => {
  const counter = <Label extends string>(name: string, help: string, labelNames: readonly Label[]) =>
    new prom.Counter({ name: `scripstream_${name}`, help, labelNames: [...labelNames], registers: [registry] })
  const gauge = <Label extends string>(name: string, help: string, labelNames: readonly Label[]) =>
    new prom.Gauge({ name: `scripstream_${name}`, help, labelNames: [...labelNames], registers: [registry] })

  const requests = counter('requests_total', 'Finished requests, by status or failure', ['host', 'endpoint', 'status'])
  const received = counter('response_bytes_total', 'Bytes of response bodies, decompressed', ['host', 'endpoint'])
  const seconds = new prom.Histogram({
    name: 'scripstream_request_duration_seconds',
    help: 'Time from sending a request to its complete response',
    labelNames: ['host', 'endpoint'],
    buckets: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
    registers: [registry],
  })
  const inFlight = gauge('requests_in_flight', 'Requests in flight', ['stream'])
  const retries = counter('retries_total', 'Retries of requests', ['stream'])
  const limited = counter('rate_limited_total', 'Responses with status 429', ['stream'])
  const pauses = counter('host_holds_total', 'Back-offs and outages of a host', ['host', 'why'])
  const paused = gauge('host_held', 'Whether requests to a host are paused now', ['host'])
  const items = counter('items_total', 'Finished items, by status', ['stream', 'status'])
  const expected = gauge('items_expected', 'Items of a stream', ['stream'])
  const files = counter('files_total', 'Files written', ['stream'])
  const stored = counter('stored_bytes_total', 'Bytes of files written', ['stream'])
  const ended = counter('streams_total', 'Finished streams, by outcome', ['stream', 'outcome'])
  const running = gauge('stream_running', 'Whether a stream is running', ['stream'])
  return { requests, received, seconds, inFlight, retries, limited, pauses, paused, items, expected, files, stored, ended, running }
}

const recordEvent = (metrics: RunMetrics, event: RunEvent): void => {
  switch (event.type) {
    case 'requested':
      metrics.inFlight.inc({ stream: event.stream })
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
        if (event.endpoint === undefined) metrics.paused.set({ host }, event.type === 'host-paused' ? 1 : 0)
        if (event.type === 'host-paused') metrics.pauses.inc({ host, why: event.why })
      }
  }
}

const recordRequest = (
  metrics: RunMetrics,
  { stream, endpoint: { host, name: endpoint }, status, failure, bytes, ms }: FinishedRequest,
): void => {
  metrics.inFlight.dec({ stream })
  metrics.requests.inc({ host, endpoint, status: failure ?? String(status) })
  metrics.received.inc({ host, endpoint }, bytes)
  if (status !== undefined) metrics.seconds.observe({ host, endpoint }, ms / 1_000)
}
