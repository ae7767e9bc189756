import { accessSync, constants } from 'node:fs'
import { hostname } from 'node:os'
import { dirname, resolve } from 'node:path'
import { catchError, concatMap, defer, forkJoin, from, map, type Observable, of } from 'rxjs'
import { UsageError } from '../../model/errors.js'
import { createRedactor } from '../../model/redact.js'
import { describeFileError, writeFileAtomically } from '../../storage/file-system.js'
import { readRunRecords } from '../../storage/run-records.js'
import type { Metrics } from '../../telemetry/prometheus.js'
import { deliver, describeDelivery, giveUpAfter } from '../send.js'
import { printWarning } from '../terminal/print.js'
import { clean } from '../terminal/text.js'
import type { RunCommandContext } from './flags.js'
import type { RunEnding } from './follow-run.js'

/**
 * Writes and pushes the metrics of an ended command. What fails is a warning on stderr and in the log, and changes nothing else. Emits once
 * and never errors.
 */
export const exportMetrics = (ended: RunEnding, context: RunCommandContext): Observable<unknown> =>
  defer(() => {
    const { settings, metrics } = context
    const { metricsFile, metricsPush } = settings
    if (metrics === undefined || (metricsFile === undefined && metricsPush === undefined)) return of(undefined)
    recordEnd(ended, metrics)
    return from(metrics.registry.metrics()).pipe(
      concatMap((text) =>
        forkJoin([
          metricsFile === undefined
            ? of(undefined)
            : defer(() => writeFileAtomically(metricsFile, [text])).pipe(
                warnIfFailed(`the metrics file ${metricsFile} was not written`, describeFileError, context),
              ),
          metricsPush === undefined
            ? of(undefined)
            : push(text, metricsPush, ended, context).pipe(
                warnIfFailed(`the metrics were not pushed to ${new URL(metricsPush).host}`, describeDelivery, context),
              ),
        ]),
      ),
    )
  })

/** The run has told its metrics how it ended, unless it was cut off or did not start. */
const recordEnd = ({ report, error, isReportStored = false }: RunEnding, { telemetry }: Metrics): void => {
  if (isReportStored) return
  const { event, over } = telemetry({ limiters: () => [] })
  if (report) event({ type: 'run-finished', report })
  over?.(error)
}

const MAX_PUSH_MS = 10_000
/** After a signal, a service manager kills what does not end. */
const MAX_PUSH_MS_AFTER_SIGNAL = 4_000

/** PUT: what an earlier run pushed is replaced as a whole. */
const push = (text: string, address: string, { signal }: RunEnding, { settings, io }: RunCommandContext): Observable<unknown> => {
  const url = new URL(address)
  const { username, password } = url
  const headers = {
    'content-type': 'text/plain; version=0.0.4',
    ...(username === '' ? {} : { authorization: `Basic ${Buffer.from(decodeURIComponent(`${username}:${password}`)).toString('base64')}` }),
  }
  const request = { method: 'PUT', url: toPushAddress(url, settings), headers, body: text } as const
  return deliver(() => request, { io }).pipe(giveUpAfter(signal === undefined ? MAX_PUSH_MS : MAX_PUSH_MS_AFTER_SIGNAL, io))
}

/** An address with a path of its own (`…/metrics/job/mine`) stays as it is; otherwise the group is that of machine and folder. */
export const toPushAddress = (url: URL, settings: { readonly out: string }): string => {
  const { origin, pathname, search } = url
  if (pathname.includes('/metrics/job')) return `${origin}${pathname}${search}`
  const folder = Buffer.from(toMetricLabels(settings).folder).toString('base64url')
  const group = `job/scripstream/instance/${encodeURIComponent(hostname())}/folder@base64/${folder}`
  return `${origin}${pathname.replace(/\/$/, '')}/metrics/${group}${search}`
}

const warnIfFailed =
  (what: string, describe: (error: unknown) => string, { settings, io, log }: RunCommandContext) =>
  (sent$: Observable<unknown>): Observable<unknown> =>
    sent$.pipe(
      catchError((error: unknown) => {
        const text = clean(createRedactor(settings)(`${what}: ${describe(error)}`))
        log?.warn({ reason: text }, 'metrics-failed')
        printWarning(text, io.stderr)
        return of(undefined)
      }),
    )

/** Metrics of several output folders on one machine must differ in a label. */
export const toMetricLabels = ({ out }: { readonly out: string }) => ({ folder: resolve(out) })

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
