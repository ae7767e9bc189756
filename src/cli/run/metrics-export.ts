import { accessSync, constants } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { catchError, concatMap, defer, forkJoin, from, map, type Observable, of } from 'rxjs'
import { UsageError } from '../../model/errors.js'
import { createRedactor } from '../../model/redact.js'
import { describeFileError, writeFileAtomically } from '../../storage/file-system.js'
import { readRunRecords } from '../../storage/run-records.js'
import type { Metrics } from '../../telemetry/prometheus.js'
import { printWarning } from '../terminal/print.js'
import { clean } from '../terminal/text.js'
import type { RunCommandContext } from './flags.js'
import type { RunEnding } from './follow-run.js'

/**
 * Writes the metrics of an ended command into their file. What fails is a warning on stderr and in the log, and changes nothing else. Emits
 * once and never errors.
 */
export const exportMetrics = (ended: RunEnding, { settings, metrics, io, log }: RunCommandContext): Observable<unknown> =>
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

/** Metrics of several output folders on one machine must differ in a label. */
export const toMetricLabels = ({ out }: { readonly out: string }) => ({ folder: resolve(out) })

/** Creates the metrics of the command if somebody reads them; emits once. The last success is that of the runs of the folder. */
export const openMetrics = ({ flags, settings }: Omit<RunCommandContext, 'metrics'>): Observable<Metrics | undefined> =>
  defer(() => {
    const { metricsFile } = settings
    if (flags.metrics === undefined && metricsFile === undefined) return of(undefined)
    if (metricsFile !== undefined) checkMetricsFile(metricsFile)
    const lastSuccess$ = defer(() => readRunRecords(settings.out)).pipe(
      map(({ runs }) => runs.findLast(({ outcome }) => outcome === 'complete')?.finishedAt),
      catchError(() => of(undefined)),
    )
    return forkJoin([lastSuccess$, import('../../telemetry/prometheus.js')]).pipe(
      map(([lastSuccess, { createMetrics }]) =>
        createMetrics({
          labels: toMetricLabels(settings),
          lastSuccessAt: lastSuccess === undefined ? undefined : Date.parse(lastSuccess),
        }),
      ),
    )
  })

const checkMetricsFile = (file: string): void => {
  try {
    accessSync(dirname(resolve(file)), constants.W_OK)
  } catch (error) {
    throw new UsageError(`the metrics file ${file} cannot be written: ${describeFileError(error)}`)
  }
}
