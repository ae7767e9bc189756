import { hostname } from 'node:os'
import { catchError, concatMap, defer, forkJoin, from, type Observable, of } from 'rxjs'
import { createRedactor } from '../../model/redact.js'
import type { Settings } from '../../model/settings.js'
import { writeFileAtomically } from '../../storage/atomic-file.js'
import { describeFileError } from '../../storage/file-system.js'
import type { Metrics } from '../../telemetry/prometheus.js'
import type { EndedCommand } from '../notify/payload.js'
import { deliver, describeDelivery, giveUpAfter } from '../send.js'
import { printWarning } from '../terminal/print.js'
import { clean } from '../terminal/text.js'
import type { RunCommandContext } from './flags.js'
import { toMetricLabels } from './metrics.js'

type Ended = Pick<EndedCommand, 'report' | 'error' | 'signal' | 'isReportStored'>

/**
 * Writes and pushes the metrics of an ended command. What fails is a warning on stderr and in the log, and changes nothing else. Emits once
 * and never errors.
 */
export const exportMetrics = (ended: Ended, context: RunCommandContext): Observable<unknown> =>
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
const recordEnd = ({ report, error, isReportStored = false }: Ended, { telemetry }: Metrics): void => {
  if (isReportStored) return
  const { event, over } = telemetry({ limiters: () => [] })
  if (report) event({ type: 'run-finished', report })
  over?.(error)
}

const MAX_PUSH_MS = 10_000
/** After a signal, a service manager kills what does not end. */
const MAX_PUSH_MS_AFTER_SIGNAL = 4_000

/** PUT: what an earlier run pushed is replaced as a whole. */
const push = (text: string, address: string, { signal }: Ended, { settings, io }: RunCommandContext): Observable<unknown> => {
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
export const toPushAddress = (url: URL, settings: Pick<Settings, 'out'>): string => {
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
