/** Logs with pino, and metrics of your own. `spans(api)` of `scripstream` is the same for OpenTelemetry. */
import { type DestinationStream, pino } from 'pino'
import { lastValueFrom } from 'rxjs'
import { createCollector, type RunReport, type SettingsInput, type Telemetry } from 'scripstream'

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

/** One run, logged as NDJSON: the start of streams and retries at `debug`, their ends at `info`, what is missing at `warn`. */
export const runLogged = async (settings: SettingsInput, destination: DestinationStream): Promise<RunReport> => {
  const log = pino({ level: 'info' }, destination)
  const counts = new Map<string, number>()
  const collector = createCollector({ settings, log, telemetry: countRequests(counts) })
  const report = await lastValueFrom(collector.run({ only: ['market-news'] }))
  log.info({ requests: Object.fromEntries(counts) }, 'requests')
  return report
}
