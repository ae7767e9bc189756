import * as api from '@opentelemetry/api'
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base'
import { lastValueFrom, NEVER, of } from 'rxjs'
import { expect, it, onTestFinished } from 'vitest'
import { memory } from '../../sinks/memory.js'
import { createCollector } from '../../src/collector.js'
import { spans } from '../../src/telemetry/opentelemetry.js'
import { ALPHA, BETA, EVENING, SETTINGS } from '../streams/support.js'

const SECRET = 'CANARY-token-1234'

const exporting = (): InMemorySpanExporter => {
  const exporter = new InMemorySpanExporter()
  api.trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }))
  onTestFinished(() => api.trace.disable())
  return exporter
}

it('a run is traced: its streams within it, their requests within them, with their status and no secret', async () => {
  const exporter = exporting()
  const collector = createCollector({
    settings: { ...SETTINGS, headers: { authorization: SECRET }, retries: 0 },
    storage: memory(new Map()),
    transport: () => of({ status: 403, body: Buffer.from(SECRET) }),
    clock: () => EVENING,
    telemetry: spans(api),
  })
  const report = await lastValueFrom(collector.run({ only: ['master-data'] }))
  expect(report.outcome).toBe('failed')
  const [request, stream, run] = exporter.getFinishedSpans()
  expect([request?.name, stream?.name, run?.name]).toEqual(['POST master', 'master-data', 'scripstream run'])
  expect([request?.parentSpanContext?.spanId, stream?.parentSpanContext?.spanId, run?.parentSpanContext]).toEqual([
    stream?.spanContext().spanId,
    run?.spanContext().spanId,
    undefined,
  ])
  expect(request?.attributes).toMatchObject({ 'http.response.status_code': 403, 'error.type': 'http_403', 'scripstream.host': 'analytics' })
  expect([request, stream, run].map((span) => span?.status.code)).toEqual([2, 2, 2])
  const finished = exporter.getFinishedSpans().map(({ name, attributes, status }) => ({ name, attributes, status }))
  expect(JSON.stringify(finished)).not.toContain(SECRET)
})

it('a stream that lost some of its items is traced as partial', async () => {
  const exporter = exporting()
  const collector = createCollector({
    settings: { ...SETTINGS, retries: 0 },
    storage: memory(new Map()),
    transport: ({ url, body }) => {
      if (url.includes('fetchdt')) return of({ status: 200, body: Buffer.from(JSON.stringify({ data: [ALPHA, BETA] })) })
      return of(body?.includes(BETA.Isin) ? { status: 404, body: Buffer.from('') } : { status: 200, body: Buffer.from('{"data":null}') })
    },
    clock: () => EVENING,
    telemetry: spans(api),
  })
  await lastValueFrom(collector.run({ only: ['new-announcements'] }))
  const stream = exporter.getFinishedSpans().find(({ name }) => name === 'new-announcements')
  expect(stream).toMatchObject({ attributes: { 'scripstream.outcome': 'partial' }, status: { code: 2, message: 'partial' } })
})

it('an interrupted run ends its spans, those of its streams and of its cancelled requests', () => {
  const exporter = exporting()
  const collector = createCollector({
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
  expect([...ended.keys()].sort()).toEqual(['POST master', 'master-data', 'scripstream run'])
  const [request, stream] = [ended.get('POST master'), ended.get('master-data')]
  expect(request?.attributes).toMatchObject({ 'error.type': 'cancelled' })
  expect(request?.parentSpanContext?.spanId).toBe(stream?.spanContext().spanId)
})
