import { resolve } from 'node:path'
import { catchError, concatMap, defer, from, type Observable, of } from 'rxjs'
import { describeNetworkError, formatError, UsageError } from '../../model/errors.js'
import { createRedactor } from '../../model/redact.js'
import { describeFileError, writeFileAtomically } from '../../storage/file-system.js'
import { readRunRecords } from '../../storage/run-records.js'
import type { Metrics } from '../../telemetry/prometheus.js'
import { printWarning } from '../terminal/terminal.js'
import { clean } from '../terminal/text.js'
import type { RunCommandContext, RunEnding } from './context.js'

/** Metrics of several output folders on one machine must differ in a label. */
const toLabels = ({ out }: { readonly out: string }) => ({ folder: resolve(out) })

/**
 * Creates the metrics of the command if somebody reads them; emits once. The last success is that of the runs
 * of the folder.
 */
export const openMetrics = ({
  flags,
  settings,
}: Omit<RunCommandContext, 'metrics'>): Observable<Metrics | undefined> => {
  const { metricsFile, out } = settings
  if (flags.metrics === undefined && metricsFile === undefined) return of(undefined)
  return defer(async () => {
    const { runs } = await readRunRecords(out).catch(() => ({ runs: [] }))
    const lastSuccess = runs.findLast(({ outcome }) => outcome === 'complete')?.finishedAt
    const { createMetrics } = await import('../../telemetry/prometheus.js')
    return createMetrics({
      labels: toLabels(settings),
      lastSuccessAt: lastSuccess === undefined ? undefined : Date.parse(lastSuccess),
    })
  })
}

/**
 * Writes the metrics of an ended command into their file. What fails is a warning on stderr and in the log,
 * and changes nothing else. Emits once and never errors.
 */
export const exportMetrics = (
  ended: RunEnding,
  { settings, metrics, io, log }: RunCommandContext,
): Observable<unknown> =>
  defer(() => {
    const { metricsFile } = settings
    if (metrics === undefined || metricsFile === undefined) return of(undefined)
    recordEnd(ended, metrics)
    return from(metrics.registry.metrics()).pipe(
      concatMap((text) => writeFileAtomically(metricsFile, [text])),
      catchError((error: unknown) => {
        const why = `the metrics file ${metricsFile} was not written: ${describeFileError(error)}`
        const text = clean(createRedactor(settings)(why))
        log?.warn({ reason: text }, 'metrics-failed')
        printWarning(text, io.stderr)
        return of(undefined)
      }),
    )
  })

/** The run has told its metrics how it ended, unless it was cut off or did not start. */
const recordEnd = ({ report, error, isReportStored = false }: RunEnding, { telemetry }: Metrics): void => {
  if (isReportStored) return
  const { event, over } = telemetry({ limiters: () => [] })
  if (report) event({ type: 'run-finished', report })
  over?.(error)
}

/**
 * Serves the metrics, and those of this process, at `/metrics` on loopback until it is closed. Rejects with a
 * `UsageError` if the port is not available.
 */
export const serveMetrics = async (
  port: number,
  { registry }: Pick<Metrics, 'registry'>,
  folder: { readonly out: string },
): Promise<{ readonly close: () => void }> => {
  const { createServer } = await import('node:http')
  const { createProcessMetrics } = await import('../../telemetry/prometheus.js')
  const ofProcess = createProcessMetrics(toLabels(folder))
  const server = createServer((request, response) => {
    if (request.url !== '/metrics')
      return void response.writeHead(404, { 'content-type': 'text/plain' }).end('not found; use /metrics\n')
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
    throw new UsageError(
      `--metrics: port ${port} is not available: ${describeNetworkError(error)}; choose another port`,
    )
  })
  return {
    close: () => {
      server.close()
      server.closeAllConnections()
    },
  }
}
