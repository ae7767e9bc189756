import { accessSync, constants } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { catchError, defer, forkJoin, map, type Observable, of } from 'rxjs'
import { UsageError } from '../../model/errors.js'
import type { Settings } from '../../model/settings.js'
import { describeFileError } from '../../storage/file-system.js'
import { readRunRecords } from '../../storage/run-records.js'
import type { Metrics } from '../../telemetry/prometheus.js'
import type { RunCommandContext } from './flags.js'

/** Metrics of several output folders on one machine must differ in a label. */
export const toMetricLabels = ({ out }: Pick<Settings, 'out'>) => ({ folder: resolve(out) })

/** Creates the metrics of the command if somebody reads them; emits once. The last success is that of the runs of the folder. */
export const openMetrics = ({ flags, settings }: Omit<RunCommandContext, 'metrics'>): Observable<Metrics | undefined> =>
  defer(() => {
    const { metricsFile, metricsPush } = settings
    if (flags.metrics === undefined && metricsFile === undefined && metricsPush === undefined) return of(undefined)
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
