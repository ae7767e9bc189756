import * as api from '@opentelemetry/api'
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base'
import { lastValueFrom, of } from 'rxjs'
import { expect, it, onTestFinished } from 'vitest'
import { memory } from '../../sinks/memory.js'
import { createCollector } from '../../src/collector.js'
import { spans } from '../../src/pipeline/spans.js'
import { EVENING, SETTINGS } from '../streams/support.js'

const SECRET = 'CANARY-token-1234'

it('a run is traced: its streams within it, their requests within them, with their status and no secret', async () => {
  const exporter = new InMemorySpanExporter()
  api.trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }))
  onTestFinished(() => api.trace.disable())
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
  const told = exporter.getFinishedSpans().map(({ name, attributes, status }) => ({ name, attributes, status }))
  expect(JSON.stringify(told)).not.toContain(SECRET)
})
