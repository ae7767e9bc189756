import { createServer } from 'node:http'
import { describeNetworkError, formatError, UsageError } from '../../model/errors.js'
import { createProcessMetrics, type Metrics } from '../../telemetry/prometheus.js'

/**
 * Serves the metrics, and those of this process, at `/metrics` on loopback until it is closed. Rejects with a `UsageError` if the port is
 * not available.
 */
export const serveMetrics = async (
  port: number,
  { registry }: Pick<Metrics, 'registry'>,
  labels: Readonly<Record<string, string>>,
): Promise<{ readonly close: () => void }> => {
  const ofProcess = createProcessMetrics(labels)
  const server = createServer((request, response) => {
    if (request.url !== '/metrics') return void response.writeHead(404, { 'content-type': 'text/plain' }).end('not found; use /metrics\n')
    Promise.all([registry.metrics(), ofProcess.metrics()])
      .then(
        (texts) => response.writeHead(200, { 'content-type': registry.contentType }).end(texts.join('\n')),
        (error: unknown) => response.writeHead(500).end(formatError(error)),
      )
      .catch(() => response.destroy())
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', resolve)
  }).catch((error: unknown) => {
    throw new UsageError(`--metrics: port ${port} is not available: ${describeNetworkError(error)}; choose another port`)
  })
  return {
    close: () => {
      server.close()
      server.closeAllConnections()
    },
  }
}
