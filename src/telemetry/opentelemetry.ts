import type { FinishedRequest, Follower, StartedRequest, Telemetry } from '../engine/event-bus.js'
import { ROWS_VERSION } from '../engine/run-identity.js'
import { formatError } from '../model/errors.js'
import type { RunEvent } from '../model/event.js'
import { omitUndefined } from '../model/row.js'

type Attributes = Record<string, string | number | boolean>

/** The part of an OpenTelemetry span that is used. Instants are epoch milliseconds. */
export interface Span {
  setAttributes(attributes: Attributes): unknown
  setStatus(status: { code: number; message?: string }): unknown
  end(at?: number): void
}

/**
 * The part of `@opentelemetry/api` that is used. The app passes it in, so that scripstream does not depend on
 * it.
 */
export interface TracingApi<Context, Own extends Span> {
  readonly context: {
    active(): Context
    with(context: Context, action: () => void): unknown
  }
  readonly trace: {
    getTracer(
      name: string,
      version?: string,
    ): {
      startSpan(
        name: string,
        options: { kind: number; startTime: number; attributes: Attributes },
        context: Context,
      ): Own
    }
    setSpan(context: Context, span: Own): Context
  }
}

// The values of `SpanKind` and `SpanStatusCode`.
const INTERNAL = 0
const CLIENT = 2
const FAILED = 2

/**
 * Traces runs: a span for each run, in it one for each stream, in that one for each attempt of a request,
 * with the attributes of the semantic conventions for HTTP clients. A request is sent within the context of
 * its span, so that the instrumentation of undici nests. Spans go to the tracer provider that the app has
 * registered.
 *
 * @example
 * import * as api from '@opentelemetry/api'
 * createCollector({ settings, telemetry: spans(api) })
 */
export const spans =
  <Context, Own extends Span>(api: TracingApi<Context, Own>): Telemetry =>
  () =>
    traceRun(api)

interface Open<Context> {
  readonly span: Span
  /** The context of what happens within the span. */
  readonly within: Context
}

interface OwnFacts {
  readonly kind: number
  readonly attributes: Attributes
}

const traceRun = <Context, Own extends Span>({ context, trace }: TracingApi<Context, Own>): Follower => {
  const tracer = trace.getTracer('scripstream', ROWS_VERSION)
  const streams = new Map<string, Open<Context>>()
  let run: Open<Context> | undefined
  let id = ''
  const begin = (
    name: string,
    startTime: number,
    { kind, attributes }: OwnFacts,
    parent: Context,
  ): Open<Context> => {
    const span = tracer.startSpan(
      name,
      { kind, startTime, attributes: { 'scripstream.run': id, ...attributes } },
      parent,
    )
    return { span, within: trace.setSpan(parent, span) }
  }
  return {
    event(event) {
      if (event.type === 'run-started') {
        id = event.run
        run = begin('scripstream run', event.at, { kind: INTERNAL, attributes: {} }, context.active())
      } else if (event.type === 'stream-started' && run) {
        const facts = { kind: INTERNAL, attributes: { 'scripstream.stream': event.stream } }
        streams.set(event.stream, begin(event.stream, event.at, facts, run.within))
      } else if (event.type === 'stream-finished') {
        endStream(streams.get(event.stream), event)
        streams.delete(event.stream)
      } else if (event.type === 'run-finished') {
        endRunSpan(run, [...streams.values()], event)
        streams.clear()
        run = undefined
      }
    },
    begin(request) {
      const { endpoint, at, stream } = request
      const parent = streams.get(stream)?.within ?? run?.within ?? context.active()
      const facts = { kind: CLIENT, attributes: describeRequest(request) }
      const { span, within } = begin(`${endpoint.method} ${toTemplate(endpoint.path)}`, at, facts, parent)
      return { run: (send) => void context.with(within, send), end: (ended) => endRequest(span, ended) }
    },
    over(error) {
      const failure = error === undefined ? undefined : formatError(error)
      for (const { span } of [...streams.values(), ...(run ? [run] : [])]) end(span, undefined, failure)
    },
  }
}

const endStream = (
  stream: Open<unknown> | undefined,
  { at, outcome, error }: RunEvent & { type: 'stream-finished' },
): void => {
  if (stream === undefined) return
  stream.span.setAttributes({ 'scripstream.outcome': outcome })
  end(stream.span, at, outcome === 'success' ? undefined : (error ?? outcome))
}

const endRunSpan = (
  run: Open<unknown> | undefined,
  streams: readonly Open<unknown>[],
  { report: { finishedAt, outcome, stocks, error } }: RunEvent & { type: 'run-finished' },
): void => {
  const at = Date.parse(finishedAt)
  for (const { span } of streams) end(span, at, 'the run ended before this stream')
  run?.span.setAttributes({ 'scripstream.outcome': outcome, 'scripstream.stocks': stocks })
  if (run) end(run.span, at, outcome === 'complete' ? undefined : (error ?? outcome))
}

const endRequest = (
  span: Span,
  { at, ms, status, bytes, failure }: Omit<FinishedRequest, 'stream'>,
): void => {
  const type = status !== undefined && status >= 400 ? String(status) : failure
  span.setAttributes({
    'http.response.body.size': bytes,
    ...omitUndefined({
      'http.response.status_code': status,
      'error.type': type,
      'scripstream.error.code': failure,
    }),
  })
  end(span, at + ms, failure)
}

const end = (span: Span, at: number | undefined, failure: string | undefined): void => {
  if (failure !== undefined) span.setStatus({ code: FAILED, message: failure })
  span.end(at)
}

const toTemplate = (path: string): string => path.replace(/\?.*/s, '')

/** https://opentelemetry.io/docs/specs/semconv/http/http-spans/#http-client-span */
const describeRequest = ({ stream, endpoint, url, item, attempt }: StartedRequest): Attributes => ({
  'http.request.method': endpoint.method,
  'url.full': url,
  'url.template': toTemplate(endpoint.path),
  ...(URL.canParse(url) && describeServer(new URL(url))),
  ...(attempt > 0 && { 'http.request.resend_count': attempt }),
  'scripstream.stream': stream,
  'scripstream.host': endpoint.host,
  'scripstream.endpoint': endpoint.name,
  'scripstream.item': item,
})

const describeServer = ({ hostname, port, protocol }: URL): Attributes => ({
  'server.address': hostname,
  'server.port': port === '' ? (protocol === 'http:' ? 80 : 443) : Number(port),
})
