import type * as Api from '@opentelemetry/api'
import { catchError, concatMap, defer, map, type Observable, of, throwError } from 'rxjs'
import type { Telemetry } from '../../engine/event-bus.js'
import { formatError } from '../../model/errors.js'
import { requireOptional } from '../../model/optional-package.js'
import { spans } from '../../telemetry/opentelemetry.js'
import type { ProcessIo } from '../dependencies.js'
import { giveUpAfter } from '../notify/send.js'
import { printWarning } from '../terminal/terminal.js'
import { clean } from '../terminal/text.js'

const MAX_FLUSH_MS = 5_000
const REGISTER = 'NODE_OPTIONS="--require @opentelemetry/auto-instrumentations-node/register"'

/** The variable of OpenTelemetry that asks for traces, if one does. */
export const findTracesVariable = (env: ProcessIo['env']): string | undefined => {
  if (env.OTEL_SDK_DISABLED?.toLowerCase() === 'true' || env.OTEL_TRACES_EXPORTER === 'none') return undefined
  const names = ['OTEL_EXPORTER_OTLP_ENDPOINT', 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'OTEL_TRACES_EXPORTER']
  return names.find((name) => env[name] !== undefined && env[name] !== '')
}

/** The API, and what sends the spans that wait; undefined if no SDK is registered in this process. */
const findSdk = (): { readonly api: typeof Api; readonly flush: () => Promise<void> } | undefined => {
  try {
    const api = requireOptional<typeof Api>('@opentelemetry/api', 'no API')
    const provider = api.trace.getTracerProvider() as {
      readonly getDelegate?: () => { readonly forceFlush?: () => Promise<void> }
    }
    const delegate = provider.getDelegate?.()
    return delegate?.forceFlush && { api, flush: async () => delegate.forceFlush?.() }
  } catch {
    return undefined
  }
}

/**
 * Why there are no traces, although the environment asks for them; undefined if there are some, or none are
 * wanted.
 */
export const findMissingSdk = (env: ProcessIo['env']): string | undefined => {
  const variable = findTracesVariable(env)
  return variable === undefined || findSdk()
    ? undefined
    : `${variable} is set, but no SDK is registered: ${REGISTER}`
}

/**
 * Traces what `use` runs if the environment asks for it and an SDK of OpenTelemetry is registered, and
 * exports the last spans before the end passes. What goes wrong with the traces is a warning, and changes
 * nothing else.
 */
export const whileTracing = <T>(
  io: ProcessIo,
  use: (telemetry: Telemetry | undefined) => Observable<T>,
): Observable<T> =>
  defer(() => {
    const missing = findMissingSdk(io.env)
    if (missing !== undefined) printWarning(`there are no traces: ${missing}`, io.stderr)
    const sdk = findTracesVariable(io.env) === undefined ? undefined : findSdk()
    if (sdk === undefined) return use(undefined)
    const flush$ = defer(sdk.flush).pipe(
      giveUpAfter(MAX_FLUSH_MS, io),
      catchError((error: unknown) =>
        of(printWarning(`not all traces were exported: ${clean(formatError(error))}`, io.stderr)),
      ),
    )
    return use(spans(sdk.api)).pipe(
      catchError((error: unknown) => flush$.pipe(concatMap(() => throwError(() => error)))),
      concatMap((result) => flush$.pipe(map(() => result))),
    )
  })
