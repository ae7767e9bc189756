/**
 * Logs with pino, Prometheus metrics, and telemetry of your own. `spans(api)` of `scripstream` traces the
 * same with OpenTelemetry.
 */
import { type DestinationStream, pino } from 'pino'
import { lastValueFrom } from 'rxjs'
import { createCollector, createMetrics, type SettingsInput, type Telemetry } from 'scripstream'

/** Counts requests by endpoint and by status or failure, such as `news 200` or `news reset`. */
const countRequests =
  (counts: Map<string, number>): Telemetry =>
  () => ({
    event: () => {},
    request: ({ endpoint, status, failure }) => {
      const name = `${endpoint.name} ${status ?? failure}`
      counts.set(name, (counts.get(name) ?? 0) + 1)
    },
  })

/**
 * One run, logged as NDJSON: the start of streams and retries at `debug`, their ends at `info`, what is
 * missing at `warn`, a failed run at `error`. Resolves to the metrics, which a server would answer at
 * `/metrics`.
 */
export const runLogged = async (settings: SettingsInput, destination: DestinationStream): Promise<string> => {
  const log = pino({ level: 'info' }, destination)
  const counts = new Map<string, number>()
  const { registry, telemetry } = createMetrics({ processMetrics: true })
  const collector = createCollector({ settings, log, telemetry: [telemetry, countRequests(counts)] })
  await lastValueFrom(collector.run({ only: ['market-news'] }))
  log.info({ requests: Object.fromEntries(counts) }, 'requests')
  return registry.metrics()
}
