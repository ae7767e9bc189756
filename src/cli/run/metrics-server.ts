import { createServer } from 'node:http'
import { formatError, UsageError } from '../../model/errors.js'
import { describeNetworkError } from '../../model/system-error.js'
import type { Telemetry } from '../../pipeline/telemetry.js'
import { createMetrics } from '../../telemetry/prometheus.js'

export interface MetricsServer {
  readonly telemetry: Telemetry
  readonly close: () => void
}

/** Serves the metrics at `/metrics` on loopback until it is closed. Rejects with a `UsageError` if the port is not available. */
export const serveMetrics = async (port: number): Promise<MetricsServer> => {
  const { registry, telemetry } = createMetrics({ processMetrics: true })
  const server = createServer((request, response) => {
    if (request.url !== '/metrics') return void response.writeHead(404, { 'content-type': 'text/plain' }).end('not found; use /metrics\n')
    registry.metrics().then(
      (text) => response.writeHead(200, { 'content-type': registry.contentType }).end(text),
      (error: unknown) => response.writeHead(500).end(formatError(error)),
    )
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', resolve)
  }).catch((error: unknown) => {
    throw new UsageError(`--metrics: port ${port} is not available: ${describeNetworkError(error)}; choose another port`)
  })
  return {
    telemetry,
    close: () => {
      server.close()
      server.closeAllConnections()
    },
  }
}
