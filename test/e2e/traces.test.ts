import { writeFileSync } from 'node:fs'
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
 * A stand-in for what registers the SDK, which is too large for the development dependencies: it exports to
 * the standard address, in a few fields.
 */
const writeRegister = (cwd: string): string => {
  const file = join(cwd, 'register.cjs')
  writeFileSync(
    file,
    `const api = require(${JSON.stringify(resolve('@opentelemetry/api'))})
    const { BasicTracerProvider, BatchSpanProcessor } = require(${JSON.stringify(resolve('@opentelemetry/sdk-trace-base'))})
    const exporter = {
      async export(all, done) {
        const spans = all.map((span) => ({
          name: span.name, kind: span.kind, id: span.spanContext().spanId,
          parent: span.parentSpanContext?.spanId, run: span.attributes['scripstream.run'],
        }))
        const { ok } = await fetch(process.env.OTEL_EXPORTER_OTLP_ENDPOINT + '/v1/traces', { method: 'POST', body: JSON.stringify({ spans }) })
        done(ok ? { code: 0 } : { code: 1, error: new Error('refused') })
      },
      async shutdown() {},
    }
    api.trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new BatchSpanProcessor(exporter)] }))`,
  )
  return `--require ${file}`
}

/** A collector of traces. */
const serveCollector = async (status = 200) => {
  const received: { readonly spans: readonly ExportedSpan[] }[] = []
  const { url } = await serveHttp(async (request, response) => {
    received.push((await json(request)) as (typeof received)[0])
    response.writeHead(status).end()
  })
  return { received, url }
}

const ARGS = ['run', '--only', 'master-data,market-news', '--json', '--progress', 'none']

it('run exports its spans, nested and with the id of the run, before it ends, if the environment asks for it', async () => {
  const cwd = temporaryFolder()
  const NODE_OPTIONS = writeRegister(cwd)
  const [{ env }, { received, url }] = [await provider(), await serveCollector()]
  const { code, stdout, stderr } = await run(ARGS, {
    cwd,
    env: { ...env, NODE_OPTIONS, OTEL_EXPORTER_OTLP_ENDPOINT: url },
  })
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  const report = JSON.parse(stdout) as {
    readonly run: string
    readonly scripts: Record<string, { readonly requests: number }>
  }
  const spans = received.flatMap((batch) => batch.spans)
  expect(new Set(spans.map((span) => span.run))).toEqual(new Set([report.run]))
  const ids = new Map(spans.map((span) => [span.id, span.name]))
  const requests = spans.filter(({ kind }) => kind === 2)
  expect(requests).toHaveLength(
    (report.scripts['master-data']?.requests ?? 0) + (report.scripts['market-news']?.requests ?? 0),
  )
  expect(new Set(requests.map(({ parent = '' }) => ids.get(parent)))).toEqual(
    new Set(['master-data', 'market-news']),
  )
  expect(spans.filter(({ parent }) => parent === undefined).map(({ name }) => name)).toEqual([
    'scripstream run',
  ])
})

it('run says what to do if no SDK is registered, and that spans were not exported; the exit code stays', async () => {
  const { env } = await provider()
  const cwd = temporaryFolder()
  const missing = await run(ARGS, { cwd, env: { ...env, OTEL_TRACES_EXPORTER: 'otlp' } })
  expect(missing.code).toBe(0)
  expect(missing.stderr).toMatch(
    /^warning: there are no traces: OTEL_TRACES_EXPORTER is set, but no SDK is registered: NODE_OPTIONS=/,
  )
  const { url } = await serveCollector(401)
  const variables = { ...env, NODE_OPTIONS: writeRegister(cwd), OTEL_EXPORTER_OTLP_ENDPOINT: url }
  const refused = await run([...ARGS, '--fresh'], { cwd, env: variables })
  expect(refused.code).toBe(0)
  expect(refused.stderr).toContain('warning: not all traces were exported: ')
})
