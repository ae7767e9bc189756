import type * as Api from '@opentelemetry/api'
import { catchError, concatMap, defer, from, map, type Observable, of, throwError } from 'rxjs'
import type { Telemetry } from '../../engine/event-bus.js'
import { formatError, UsageError } from '../../model/errors.js'
import { requireOptional } from '../../model/optional-package.js'
import { spans } from '../../telemetry/opentelemetry.js'
import type { ProcessIo } from '../dependencies.js'
import { describeInstall } from '../install.js'
import { giveUpAfter } from '../notify/send.js'
import { printWarning } from '../terminal/print.js'
import { clean } from '../terminal/text.js'

/** The part of `@opentelemetry/sdk-node` that is used. It reads the other variables of OpenTelemetry by itself. */
interface Sdk {
  readonly NodeSDK: new (options: {
    readonly serviceName?: string
    readonly instrumentations: readonly never[]
  }) => { start(): void; shutdown(): Promise<void> }
}

/** The traces of the command. */
interface Tracing {
  readonly telemetry: Telemetry
  /** Exports what is left. */
  readonly close: () => Promise<unknown>
  /** The first error of an export. */
  readonly failure: () => string | undefined
}

const PACKAGES = ['@opentelemetry/api', '@opentelemetry/sdk-node'] as const
const MAX_CLOSE_MS = 5_000
/** A run has up to 1,200 requests a second. By default, the SDK sends 512 spans at a time and drops those beyond 2,048 that wait. */
const QUEUE_SIZE = '16384'

/** The variable of OpenTelemetry that asks for traces, if one does. */
export const findTracesVariable = (env: ProcessIo['env']): string | undefined => {
  if (env.OTEL_SDK_DISABLED?.toLowerCase() === 'true' || env.OTEL_TRACES_EXPORTER === 'none') return undefined
  const names = ['OTEL_EXPORTER_OTLP_ENDPOINT', 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'OTEL_TRACES_EXPORTER']
  return names.find((name) => env[name] !== undefined && env[name] !== '')
}

/**
 * Traces what `use` runs if the environment asks for it and the SDK of OpenTelemetry is installed, and exports the last spans before the
 * end passes. What goes wrong with the traces is a warning, and changes nothing else.
 */
export const whileTracing = <T>(io: ProcessIo, use: (telemetry: Telemetry | undefined) => Observable<T>): Observable<T> =>
  defer(() => {
    const variable = findTracesVariable(io.env)
    const tracing = variable === undefined ? undefined : startTracing(variable, io)
    if (tracing === undefined) return use(undefined)
    const close$ = defer(() => from(tracing.close())).pipe(
      giveUpAfter(MAX_CLOSE_MS, io),
      map(() => tracing.failure()),
      catchError((error: unknown) => of(tracing.failure() ?? formatError(error))),
      map((failure) => {
        if (failure !== undefined) printWarning(`not all traces were exported (${variable}): ${clean(failure)}`, io.stderr)
      }),
    )
    return use(tracing.telemetry).pipe(
      catchError((error: unknown) => close$.pipe(concatMap(() => throwError(() => error)))),
      concatMap((result) => close$.pipe(map(() => result))),
    )
  })

const startTracing = (variable: string, { env, stderr }: ProcessIo): Tracing | undefined => {
  try {
    const api = requireOptional<typeof Api>(PACKAGES[0], 'no API')
    const failures = collectFailures(api, env)
    return { telemetry: spans(api), close: startSdk(api, env), failure: () => failures.map(describeFailure)[0] }
  } catch (error) {
    const isMissing = error instanceof UsageError && !error.message.startsWith('cannot load')
    const why = isMissing ? `the SDK of OpenTelemetry is not installed: ${describeInstall(PACKAGES)}` : clean(formatError(error))
    printWarning(`there are no traces: ${variable} is set, but ${why}`, stderr)
    return undefined
  }
}

/** Starts the SDK, unless the user has started one already, such as by `node --require`. */
const startSdk = (api: typeof Api, env: ProcessIo['env']): Tracing['close'] => {
  const provider = api.trace.getTracerProvider() as { readonly getDelegate?: () => { readonly forceFlush?: () => Promise<void> } }
  const delegate = provider.getDelegate?.()
  if (delegate?.forceFlush) return async () => delegate.forceFlush?.()
  const { NodeSDK } = requireOptional<Sdk>(PACKAGES[1], 'no SDK')
  env.OTEL_BSP_MAX_QUEUE_SIZE ??= QUEUE_SIZE
  const isNamed = env.OTEL_SERVICE_NAME !== undefined || env.OTEL_RESOURCE_ATTRIBUTES?.includes('service.name=')
  const sdk = new NodeSDK({ instrumentations: [], ...(isNamed ? {} : { serviceName: 'scripstream' }) })
  sdk.start()
  return () => sdk.shutdown()
}

/** The list grows with the errors of the SDK, which only logs them. With OTEL_LOG_LEVEL, it prints them instead. */
const collectFailures = ({ diag, DiagLogLevel }: typeof Api, env: ProcessIo['env']): readonly string[] => {
  const failures: string[] = []
  const ignore = (): void => undefined
  const error = (text: string): void => void failures.push(text)
  if (env.OTEL_LOG_LEVEL === undefined)
    diag.setLogger({ error, warn: ignore, info: ignore, debug: ignore, verbose: ignore }, DiagLogLevel.ERROR)
  return failures
}

/** The SDK reports an error as JSON. */
const describeFailure = (text: string): string => {
  const [, message] = /"message":"((?:[^"\\]|\\.)*)"/.exec(text) ?? []
  const [, code] = /"code":"?([\w-]+)/.exec(text) ?? []
  return [message ?? text.slice(0, 200), code].filter((part) => part !== undefined && part !== '').join(', ')
}
