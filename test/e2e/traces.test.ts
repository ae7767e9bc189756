import { mkdirSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { json } from 'node:stream/consumers'
import { expect, it } from 'vitest'
import { serveHttp } from '../http/support.js'
import { temporaryFolder } from '../support/folders.js'
import { provider, run } from './command.js'

const { resolve } = createRequire(import.meta.url)

interface ExportedSpan {
  readonly name: string
  readonly kind: number
  readonly id: string
  readonly parent?: string
  readonly run?: string
}

/**
 * A stand-in for the SDK in the current folder, which is too large for the development dependencies: it exports to the address in the
 * standard variable when it is shut down, in a few fields.
 */
const installSdk = (cwd: string): void => {
  const folder = join(cwd, 'node_modules/@opentelemetry/sdk-node')
  mkdirSync(folder, { recursive: true })
  writeFileSync(
    join(folder, 'index.js'),
    `const api = require(${JSON.stringify(resolve('@opentelemetry/api'))})
    const { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } = require(${JSON.stringify(resolve('@opentelemetry/sdk-trace-base'))})
    exports.NodeSDK = class {
      exporter = new InMemorySpanExporter()
      constructor(options) { this.options = options }
      start() { api.trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(this.exporter)] })) }
      async shutdown() {
        const spans = this.exporter.getFinishedSpans().map((span) => ({
          name: span.name, kind: span.kind, id: span.spanContext().spanId,
          parent: span.parentSpanContext?.spanId, run: span.attributes['scripstream.run'],
        }))
        const body = JSON.stringify({ service: this.options.serviceName, spans })
        const { ok } = await fetch(process.env.OTEL_EXPORTER_OTLP_ENDPOINT + '/v1/traces', { method: 'POST', body })
        if (!ok) api.diag.error(JSON.stringify({ message: 'refused', code: 401 }))
      }
    }`,
  )
}

/** A collector of traces. */
const serveCollector = async (status = 200) => {
  const received: { readonly service?: string; readonly spans: readonly ExportedSpan[] }[] = []
  const { url } = await serveHttp(async (request, response) => {
    received.push((await json(request)) as (typeof received)[0])
    response.writeHead(status).end()
  })
  return { received, url }
}

const ARGS = ['run', '--only', 'master-data,market-news', '--json', '--progress', 'none']

it('run exports its spans, nested and with the id of the run, before it ends, if the environment asks for it', async () => {
  const cwd = temporaryFolder()
  installSdk(cwd)
  const [{ env }, { received, url }] = [await provider(), await serveCollector()]
  const { code, stdout, stderr } = await run(ARGS, { cwd, env: { ...env, OTEL_EXPORTER_OTLP_ENDPOINT: url } })
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  const report = JSON.parse(stdout) as { readonly run: string; readonly scripts: Record<string, { readonly requests: number }> }
  const [{ service, spans } = { spans: [] }] = received
  expect(service).toBe('scripstream')
  expect(new Set(spans.map((span) => span.run))).toEqual(new Set([report.run]))
  const ids = new Map(spans.map((span) => [span.id, span.name]))
  const requests = spans.filter(({ kind }) => kind === 2)
  expect(requests).toHaveLength((report.scripts['master-data']?.requests ?? 0) + (report.scripts['market-news']?.requests ?? 0))
  expect(new Set(requests.map(({ parent = '' }) => ids.get(parent)))).toEqual(new Set(['master-data', 'market-news']))
  expect(spans.filter(({ parent }) => parent === undefined).map(({ name }) => name)).toEqual(['scripstream run'])
})

it('run says what to install if the SDK is missing, and that spans were not exported; the exit code stays', async () => {
  const { env } = await provider()
  const cwd = temporaryFolder()
  const missing = await run(ARGS, { cwd, env: { ...env, OTEL_TRACES_EXPORTER: 'otlp' } })
  expect(missing.code).toBe(0)
  expect(missing.stderr).toBe(
    'warning: there are no traces: OTEL_TRACES_EXPORTER is set, but the SDK of OpenTelemetry is not installed: npm install @opentelemetry/api @opentelemetry/sdk-node\n',
  )
  installSdk(cwd)
  const { url } = await serveCollector(401)
  const refused = await run([...ARGS, '--fresh'], { cwd, env: { ...env, OTEL_EXPORTER_OTLP_ENDPOINT: url } })
  expect(refused.code).toBe(0)
  expect(refused.stderr).toContain('warning: not all traces were exported (OTEL_EXPORTER_OTLP_ENDPOINT): refused, 401\n')
})
