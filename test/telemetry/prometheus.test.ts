import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { lastValueFrom, of, throwError } from 'rxjs'
import { describe, expect, it, onTestFinished } from 'vitest'
import { memory } from '../../sinks/memory.js'
import { serveMetrics } from '../../src/cli/run/metrics-server.js'
import { createCollector } from '../../src/collector.js'
import { TransportError, UsageError } from '../../src/model/errors.js'
import { createMetrics } from '../../src/telemetry/prometheus.js'
import { note } from '../http/support.js'
import { ALPHA, EVENING, SETTINGS } from '../streams/support.js'

const portOf = (server: ReturnType<typeof createServer>): Promise<number> =>
  new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port)))

const freePort = async (): Promise<number> => {
  const server = createServer()
  const port = await portOf(server)
  await new Promise((resolve) => server.close(resolve))
  return port
}

describe('the metrics of a run', () => {
  it('are served during the run and count its events', async () => {
    const port = await freePort()
    const { telemetry, close } = await serveMetrics(port)
    const { event, request } = telemetry()
    event({ type: 'items-known', stream: 'news', total: 3 })
    for (const _ of [1, 2, 3]) event({ type: 'requested', stream: 'news' })
    event({ type: 'rate-limited', stream: 'news' })
    event({ type: 'host-paused', at: 0, hosts: ['static'], why: 'refuses', since: 0, until: 9 })
    event({ type: 'item-finished', stream: 'news', item: 'A', status: 'success' })
    event({ type: 'stream-finished', at: 9, stream: 'news', outcome: 'partial' })
    request({ stream: 'news', endpoint: note, at: 0, ms: 30, status: 200, bytes: 70, failure: undefined })
    request({ stream: 'news', endpoint: note, at: 0, ms: 30, status: 429, bytes: 0, failure: 'rate_limit' })
    const response = await fetch(`http://127.0.0.1:${port}/metrics`)
    const text = await response.text()
    expect(response.headers.get('content-type')).toMatch(/^text\/plain/)
    for (const line of [
      `scripstream_requests_total{host="static",endpoint="${note.name}",status="200"} 1`,
      `scripstream_requests_total{host="static",endpoint="${note.name}",status="rate_limit"} 1`,
      `scripstream_response_bytes_total{host="static",endpoint="${note.name}"} 70`,
      'scripstream_requests_in_flight{stream="news"} 1',
      'scripstream_items_total{stream="news",status="success"} 1',
      'scripstream_streams_total{stream="news",outcome="partial"} 1',
      'scripstream_items_expected{stream="news"} 3',
      'scripstream_rate_limited_total{stream="news"} 1',
      'scripstream_host_holds_total{host="static",why="refuses"} 1',
      'scripstream_host_held{host="static"} 1',
      `scripstream_request_duration_seconds_count{host="static",endpoint="${note.name}"} 2`,
    ])
      expect(text).toContain(`\n${line}\n`)
    expect((await fetch(`http://127.0.0.1:${port}/`)).status).toBe(404)
    close()
    await expect(fetch(`http://127.0.0.1:${port}/metrics`)).rejects.toThrow()
  })

  it('contain no secret, whatever the provider answers', async () => {
    const secret = 'CANARY-token-1234'
    const { registry, telemetry } = await createMetrics()
    let requests = 0
    const collector = createCollector({
      settings: { ...SETTINGS, sheetId: secret, headers: { authorization: secret }, retries: 0 },
      storage: memory(new Map()),
      transport: ({ body }) => {
        if (body?.includes('"Isin"')) return of({ status: 200, body: Buffer.from(JSON.stringify({ data: [ALPHA] })) })
        requests += 1
        return requests % 2 === 0 ? throwError(() => new TransportError('reset', secret)) : of({ status: 200, body: Buffer.from(secret) })
      },
      clock: () => EVENING,
      telemetry,
    })
    await lastValueFrom(collector.run({ asOf: EVENING }))
    const text = await registry.metrics()
    expect(text).toContain('endpoint="sheet"')
    expect(text).not.toContain(secret)
  })

  it('report a port that is in use', async () => {
    const server = createServer()
    onTestFinished(() => void server.close())
    const port = await portOf(server)
    const failure = await serveMetrics(port).catch((error: unknown) => error)
    expect(failure).toBeInstanceOf(UsageError)
    expect((failure as Error).message).toContain(`--metrics: port ${port} is not available`)
  })
})
