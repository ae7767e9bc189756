import type { RunEvent } from '../model/event.js'
import { omitUndefined } from '../model/row.js'
import type { Telemetry } from '../pipeline/telemetry.js'

type Attributes = Readonly<Record<string, string | number | boolean>>

/** The part of an OpenTelemetry span that is used. Instants are epoch milliseconds. */
interface Span {
  setAttributes(attributes: Record<string, string | number | boolean>): unknown
  setStatus(status: { code: number; message?: string }): unknown
  end(at?: number): void
}

/** The part of `@opentelemetry/api` that is used. The app passes it in, so that scripstream does not depend on it. */
export interface TracingApi<Context, Own extends Span> {
  readonly context: { active(): Context }
  readonly trace: {
    getTracer(name: string): {
      startSpan(name: string, options: { startTime: number; attributes: Record<string, string | number | boolean> }, context: Context): Own
    }
    setSpan(context: Context, span: Own): Context
  }
}

const FAILED = 2

/**
 * Traces runs: a span for each run, in it one for each stream, in that one for each request, with endpoint, service and status. Spans go
 * to the tracer provider that the app has registered.
 */
export const spans =
  <Context, Own extends Span>({ context, trace }: TracingApi<Context, Own>): Telemetry =>
  () => {
    const tracer = trace.getTracer('scripstream')
    const streams = new Map<string, { readonly span: Span; readonly within: Context }>()
    let run: { readonly span: Span; readonly within: Context } | undefined
    const begin = (name: string, at: number, attributes: Attributes, within: Context) => {
      const span = tracer.startSpan(name, { startTime: at, attributes: { ...attributes } }, within)
      return { span, within: trace.setSpan(within, span) }
    }
    const end = (span: Span, at: number, failure: string | undefined): void => {
      if (failure !== undefined) span.setStatus({ code: FAILED, message: failure })
      span.end(at)
    }
    const over = (): void => {
      for (const { span } of streams.values()) span.end()
      run?.span.end()
    }
    const finish = ({ report }: RunEvent & { type: 'run-finished' }): void => {
      const at = Date.parse(report.finishedAt)
      for (const { span } of streams.values()) end(span, at, 'the run ended before this stream')
      streams.clear()
      run?.span.setAttributes({ 'scripstream.outcome': report.outcome, 'scripstream.stocks': report.stocks })
      if (run) end(run.span, at, report.outcome === 'complete' ? undefined : (report.error ?? report.outcome))
      run = undefined
    }
    return {
      over,
      event(event) {
        if (event.type === 'run-started') run = begin('scripstream run', event.at, { 'scripstream.run': event.run }, context.active())
        else if (event.type === 'stream-started' && run)
          streams.set(event.stream, begin(event.stream, event.at, { 'scripstream.stream': event.stream }, run.within))
        else if (event.type === 'stream-finished') {
          const stream = streams.get(event.stream)
          stream?.span.setAttributes({ 'scripstream.outcome': event.outcome })
          if (stream) end(stream.span, event.at, event.outcome === 'success' ? undefined : (event.error ?? event.outcome))
          streams.delete(event.stream)
        } else if (event.type === 'run-finished') finish(event)
      },
      request({ stream, endpoint, at, ms, status, bytes, failure }) {
        const within = streams.get(stream)?.within ?? run?.within
        if (within === undefined) return
        const { span } = begin(
          `${endpoint.method} ${endpoint.name}`,
          at,
          {
            'http.request.method': endpoint.method,
            'url.template': endpoint.path,
            'scripstream.host': endpoint.host,
            'http.response.body.size': bytes,
            ...omitUndefined({ 'http.response.status_code': status, 'error.type': failure }),
          },
          within,
        )
        end(span, at + ms, failure)
      },
    }
  }
