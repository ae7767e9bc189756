import { AsyncLocalStorage } from 'node:async_hooks'
import * as api from '@opentelemetry/api'
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base'
import { defer, lastValueFrom, NEVER, of, throwError } from 'rxjs'
import { expect, it, onTestFinished } from 'vitest'
import { memory } from '../../sinks/memory.js'
import { once } from '../../src/engine/define-stream.js'
import { TransportError } from '../../src/model/errors.js'
import { spans } from '../../src/telemetry/opentelemetry.js'
import { ALPHA, BETA, EVENING, SETTINGS, withSheet } from '../streams/support.js'
import { createQuickCollector } from '../support/limits.js'
import { tinyMaster } from '../support/tiny.js'

/** What the SDK of an app registers: a context that lasts through asynchronous calls. */
class AsyncContextManager implements api.ContextManager {
  readonly #storage = new AsyncLocalStorage<api.Context>()
  active = () => this.#storage.getStore() ?? api.ROOT_CONTEXT
  with<A extends unknown[], F extends (...args: A) => ReturnType<F>>(
    context: api.Context,
    fn: F,
    self?: ThisParameterType<F>,
    ...args: A
  ) {
    return this.#storage.run(context, () => fn.apply(self as never, args))
  }
  bind = <T>(_: api.Context, target: T): T => target
  enable = () => this
  disable = () => this
}

const SECRET = 'CANARY-token-1234'

const exporting = (): InMemorySpanExporter => {
  const exporter = new InMemorySpanExporter()
  api.trace.setGlobalTracerProvider(
    new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }),
  )
  onTestFinished(() => api.trace.disable())
  return exporter
}

it('a run is traced: its streams within it, their requests within them, with their status and no secret', async () => {
  const exporter = exporting()
  const collector = createQuickCollector({
    settings: { ...SETTINGS, headers: { authorization: SECRET }, retries: 0 },
    storage: memory(new Map()),
    transport: () => of({ status: 403, body: Buffer.from(SECRET) }),
    clock: () => EVENING,
    telemetry: spans(api),
  })
  const report = await lastValueFrom(collector.run({ only: ['master-data'] }))
  expect(report.outcome).toBe('failed')
  const [request, stream, run] = exporter.getFinishedSpans()
  expect([request?.name, stream?.name, run?.name]).toEqual([
    'POST /customscan/fetchdt',
    'master-data',
    'scripstream run',
  ])
  expect([
    request?.parentSpanContext?.spanId,
    stream?.parentSpanContext?.spanId,
    run?.parentSpanContext,
  ]).toEqual([stream?.spanContext().spanId, run?.spanContext().spanId, undefined])
  expect([request?.kind, stream?.kind, run?.kind]).toEqual([
    api.SpanKind.CLIENT,
    api.SpanKind.INTERNAL,
    api.SpanKind.INTERNAL,
  ])
  expect(request?.attributes).toEqual({
    'http.request.method': 'POST',
    'url.full': `${SETTINGS.urls.analytics}/customscan/fetchdt`,
    'url.template': '/customscan/fetchdt',
    'server.address': new URL(SETTINGS.urls.analytics).hostname,
    'server.port': 80,
    'http.response.status_code': 403,
    'http.response.body.size': SECRET.length,
    'error.type': '403',
    'scripstream.error.code': 'http_403',
    'scripstream.run': report.run,
    'scripstream.stream': 'master-data',
    'scripstream.host': 'analytics',
    'scripstream.endpoint': 'master',
    'scripstream.item': 'all',
  })
  expect([stream, run].map((span) => span?.attributes['scripstream.run'])).toEqual([report.run, report.run])
  expect([request, stream, run].map((span) => span?.status.code)).toEqual([2, 2, 2])
  const finished = exporter
    .getFinishedSpans()
    .map(({ name, attributes, status }) => ({ name, attributes, status }))
  expect(JSON.stringify(finished)).not.toContain(SECRET)
})

it('a stream that lost some of its items is traced as partial', async () => {
  const exporter = exporting()
  const collector = createQuickCollector({
    settings: { ...SETTINGS, retries: 0 },
    storage: memory(new Map()),
    transport: ({ url, body }) => {
      if (url.includes('fetchdt'))
        return of({ status: 200, body: Buffer.from(JSON.stringify({ data: [ALPHA, BETA] })) })
      return of(
        body?.includes(BETA.Isin)
          ? { status: 404, body: Buffer.from('') }
          : { status: 200, body: Buffer.from('{"data":null}') },
      )
    },
    clock: () => EVENING,
    telemetry: spans(api),
  })
  await lastValueFrom(collector.run({ only: ['new-announcements'] }))
  const stream = exporter.getFinishedSpans().find(({ name }) => name === 'new-announcements')
  expect(stream).toMatchObject({
    attributes: { 'scripstream.outcome': 'partial' },
    status: { code: 2, message: 'partial' },
  })
})

it('an interrupted run ends its spans, those of its streams and of its cancelled requests', () => {
  const exporter = exporting()
  const collector = createQuickCollector({
    settings: SETTINGS,
    storage: memory(new Map()),
    transport: () => NEVER,
    clock: () => EVENING,
    telemetry: spans(api),
  })
  const running = collector.run({ only: ['master-data'] }).subscribe()
  expect(exporter.getFinishedSpans()).toEqual([])
  running.unsubscribe()
  const ended = new Map(exporter.getFinishedSpans().map((span) => [span.name, span]))
  expect([...ended.keys()].sort()).toEqual(['POST /customscan/fetchdt', 'master-data', 'scripstream run'])
  const [request, stream] = [ended.get('POST /customscan/fetchdt'), ended.get('master-data')]
  expect(request?.attributes).toMatchObject({ 'error.type': 'cancelled' })
  expect(request?.parentSpanContext?.spanId).toBe(stream?.spanContext().spanId)
})

it('each attempt of a request is a span, sent within its context, and a secret in a path is masked', async () => {
  const exporter = exporting()
  api.context.setGlobalContextManager(new AsyncContextManager())
  onTestFinished(() => api.context.disable())
  const active: (string | undefined)[] = []
  const collector = createQuickCollector({
    settings: { ...SETTINGS, options: withSheet(SECRET), retries: 1 },
    storage: memory(new Map()),
    transport: () =>
      defer(() => {
        active.push(api.trace.getActiveSpan()?.spanContext().spanId)
        return throwError(() => new TransportError('deadline', 'no byte'))
      }),
    clock: () => EVENING,
    telemetry: spans(api),
  })
  await lastValueFrom(collector.run({ only: ['surveillance-lists'] }))
  const requests = exporter.getFinishedSpans().filter(({ kind }) => kind === api.SpanKind.CLIENT)
  expect(requests.length).toBeGreaterThan(3)
  expect(requests.map((span) => span.spanContext().spanId)).toEqual(active)
  expect(new Set(requests.map(({ attributes }) => attributes['http.request.resend_count']))).toEqual(
    new Set([undefined, 1]),
  )
  expect(requests[0]?.attributes).toMatchObject({
    'error.type': 'deadline',
    'url.template': '/spreadsheets/d/{sheetId}/gviz/tq',
  })
  expect(requests[0]?.attributes).not.toHaveProperty('http.response.status_code')
  expect(JSON.stringify(requests.map(({ attributes }) => attributes))).not.toContain(SECRET)
})

it('an error that ends a run ends its spans as failed', async () => {
  const exporter = exporting()
  const broken = { ...tinyMaster, work: once(() => throwError(() => new Error('a bug'))) }
  const collector = createQuickCollector({
    settings: { urls: { static: 'http://provider.test' } },
    streams: [broken],
    storage: memory(new Map()),
    transport: () => NEVER,
    telemetry: spans(api),
  })
  await expect(lastValueFrom(collector.run())).rejects.toThrow('a bug')
  expect(exporter.getFinishedSpans().map(({ name, status }) => [name, status.code])).toEqual([
    ['master-data', api.SpanStatusCode.ERROR],
    ['scripstream run', api.SpanStatusCode.ERROR],
  ])
})
