import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import prometheus, { Registry } from 'prom-client'
import { lastValueFrom, of, throwError } from 'rxjs'
import { describe, expect, it, onTestFinished } from 'vitest'
import { memory } from '../../sinks/memory.js'
import { serveMetrics } from '../../src/cli/run/metrics.js'
import type { LiveRun } from '../../src/engine/event-bus.js'
import type { LimiterStatus } from '../../src/limiter/limiter-registry.js'
import { TransportError, UsageError } from '../../src/model/errors.js'
import type { Drift, RunReport } from '../../src/model/report.js'
import { createMetrics, type Metrics } from '../../src/telemetry/prometheus.js'
import { runReport, scriptReport } from '../cli/support.js'
import { note } from '../http/support.js'
import { ALPHA, EVENING, SETTINGS, withSheet } from '../streams/support.js'
import { createQuickCollector } from '../support/limits.js'

const portOf = (server: ReturnType<typeof createServer>): Promise<number> =>
  new Promise((resolve) =>
    server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port)),
  )

const freePort = async (): Promise<number> => {
  const server = createServer()
  const port = await portOf(server)
  await new Promise((resolve) => server.close(resolve))
  return port
}

const RUN_AT = Date.parse('2026-02-12T14:30:00Z')
const none: Pick<LiveRun, 'limiters'> = { limiters: () => [] }

/** The samples of some metrics, without the rest of their names: `requests_total{host="static"} 1`. */
const read = async ({ registry }: Metrics, ...names: readonly string[]): Promise<readonly string[]> => {
  const lines = (await registry.metrics()).split('\n')
  return lines
    .filter((line) =>
      names.some(
        (name) => line.startsWith(`scripstream_${name}{`) || line.startsWith(`scripstream_${name} `),
      ),
    )
    .map((line) => line.replace('scripstream_', ''))
}

describe('the metrics of a run', () => {
  it('have the HTTP status and the outcome of requests as labels of their own, and no status without a reply', async () => {
    const metrics = createMetrics()
    const { request } = metrics.telemetry(none)
    const sent = {
      stream: 'news',
      endpoint: { ...note, name: 'n' },
      at: 0,
      ms: 30,
      status: 200,
      bytes: 7,
      failure: undefined,
    }
    request?.(sent)
    request?.({ ...sent, failure: 'parse' })
    request?.({ ...sent, status: 429, failure: 'rate_limit' })
    request?.({ ...sent, status: undefined, ms: 30_000, failure: 'deadline' })
    request?.({ ...sent, status: undefined, ms: 5, failure: 'cancelled' })
    expect(await read(metrics, 'requests_total')).toEqual([
      'requests_total{host="static",endpoint="n",status="200",outcome="success"} 1',
      'requests_total{host="static",endpoint="n",status="200",outcome="parse"} 1',
      'requests_total{host="static",endpoint="n",status="429",outcome="rate_limit"} 1',
      'requests_total{host="static",endpoint="n",outcome="deadline"} 1',
      'requests_total{host="static",endpoint="n",outcome="cancelled"} 1',
    ])
    // A request that timed out took its time; a cancelled one says nothing about its host.
    expect(await read(metrics, 'request_duration_seconds_count', 'request_duration_seconds_sum')).toEqual([
      'request_duration_seconds_sum{host="static",endpoint="n",status="200"} 0.06',
      'request_duration_seconds_count{host="static",endpoint="n",status="200"} 2',
      'request_duration_seconds_sum{host="static",endpoint="n",status="429"} 0.03',
      'request_duration_seconds_count{host="static",endpoint="n",status="429"} 1',
      'request_duration_seconds_sum{host="static",endpoint="n"} 30',
      'request_duration_seconds_count{host="static",endpoint="n"} 1',
    ])
  })

  it('say how the last run ended, what is missing and what has changed, until the next run ends', async () => {
    const metrics = createMetrics({ lastSuccessAt: RUN_AT - 86_400_000 })
    const finish = (facts: Partial<RunReport>): void =>
      metrics.telemetry(none).event({ type: 'run-finished', report: runReport(facts) })
    const names = [
      'run_outcome',
      'run_duration_seconds',
      'last_success_timestamp_seconds',
      'items_missing',
      'sessions_behind',
      'drift_changes',
    ]
    const news = scriptReport({
      outcome: 'partial',
      items: { ...scriptReport().items, success: 2, error: 3 },
    })
    const drift: Drift = {
      stream: 'market-news',
      endpoint: 'news',
      kind: 'new',
      field: 'data[].x',
      example: 'A',
      answers: 9,
      of: 9,
      records: 9,
      ofRecords: 9,
    }
    const late = {
      stream: 'all-ohlcv',
      output: 'candles',
      newest: '2026-02-11',
      expected: '2026-02-12',
      shownBy: ['deals'],
    }
    finish({
      outcome: 'partial',
      scripts: {
        'master-data': scriptReport(),
        'market-news': news,
        'all-ohlcv': news,
        deals: scriptReport({ outcome: 'skipped' }),
      },
      missing: { 'market-news': 3, 'all-ohlcv': 'all', deals: 1 },
      newest: { 'all-ohlcv': '2026-02-10', deals: '2026-02-12' },
      stale: [
        { ...late, sessions: 1 },
        { ...late, newest: '2026-02-10', sessions: 2 },
      ],
      drift: [drift, { ...drift, field: 'y', rare: true }, { ...drift, field: 'z', accepted: true }],
    })
    expect(await read(metrics, ...names)).toEqual([
      'run_outcome{outcome="complete"} 0',
      'run_outcome{outcome="partial"} 1',
      'run_outcome{outcome="failed"} 0',
      'run_outcome{outcome="interrupted"} 0',
      'run_duration_seconds 12',
      `last_success_timestamp_seconds ${RUN_AT / 1_000 - 86_400}`,
      'items_missing{stream="master-data"} 0',
      'items_missing{stream="market-news"} 3',
      'items_missing{stream="all-ohlcv"} 5',
      'items_missing{stream="deals"} 1',
      'sessions_behind{stream="master-data"} 0',
      'sessions_behind{stream="market-news"} 0',
      'sessions_behind{stream="all-ohlcv"} 2',
      'sessions_behind{stream="deals"} 0',
      'drift_changes{stream="master-data"} 0',
      'drift_changes{stream="market-news"} 1',
      'drift_changes{stream="all-ohlcv"} 0',
    ])
    finish({})
    expect(await read(metrics, ...names)).toEqual([
      'run_outcome{outcome="complete"} 1',
      'run_outcome{outcome="partial"} 0',
      'run_outcome{outcome="failed"} 0',
      'run_outcome{outcome="interrupted"} 0',
      'run_duration_seconds 12',
      `last_success_timestamp_seconds ${RUN_AT / 1_000 + 12}`,
      'items_missing{stream="master-data"} 0',
      'sessions_behind{stream="master-data"} 0',
      'drift_changes{stream="master-data"} 0',
    ])
  })

  it.each([
    [new Error('disk full'), 'failed'],
    [undefined, 'interrupted'],
  ])('count a run that ended without a report, by %s, as %s', async (error, outcome) => {
    const metrics = createMetrics()
    metrics.telemetry(none).over?.(error)
    expect(await read(metrics, 'run_outcome')).toContain(`run_outcome{outcome="${outcome}"} 1`)
    const { event, over } = metrics.telemetry(none)
    event({ type: 'run-finished', report: runReport() })
    over?.()
    expect(await read(metrics, 'run_outcome')).toContain('run_outcome{outcome="complete"} 1')
  })

  it('read the limiters of runs while they last, and measure how long hosts are held', async () => {
    const metrics = createMetrics()
    const status = {
      inFlight: 2,
      waiting: 5,
      maxInFlight: 8,
      maxPerSecond: Number.POSITIVE_INFINITY,
      isHeld: true,
      circuit: 'half-open',
    }
    const limiters = [
      status,
      { ...status, inFlight: 1, waiting: 3, endpoint: 'n', isHeld: false, circuit: 'closed' },
    ].map((one) => ({
      ...(one as LimiterStatus),
      hosts: ['static'],
    }))
    const { event, over } = metrics.telemetry({ limiters: () => limiters })
    const gauges = [
      'requests_in_flight',
      'requests_waiting',
      'host_held',
      'circuit_state',
      'limiter_requests_in_flight_limit',
    ]
    expect(await read(metrics, ...gauges, 'limiter_requests_per_second_limit')).toEqual([
      'requests_in_flight{host="static"} 2',
      'requests_waiting{host="static"} 5',
      'requests_waiting{host="static",endpoint="n"} 3',
      'limiter_requests_in_flight_limit{host="static"} 8',
      'limiter_requests_in_flight_limit{host="static",endpoint="n"} 8',
      'limiter_requests_per_second_limit{host="static"} +Inf',
      'limiter_requests_per_second_limit{host="static",endpoint="n"} +Inf',
      'host_held{host="static"} 1',
      'host_held{host="static",endpoint="n"} 0',
      'circuit_state{host="static"} 1',
      'circuit_state{host="static",endpoint="n"} 0',
    ])
    event({
      type: 'run-started',
      at: 0,
      run: 'r',
      asOf: 0,
      streams: [{ name: 'a', state: 'waiting', hosts: ['static', 'news'] }],
    })
    const pause = { hosts: ['static'], why: 'down', since: 0, until: 0 } as const
    event({ type: 'host-paused', at: 1_000, ...pause })
    event({ type: 'host-paused', at: 3_000, ...pause })
    event({ type: 'host-paused', at: 4_000, ...pause, endpoint: 'n' })
    event({ type: 'host-resumed', at: 6_000, hosts: ['static'] })
    event({ type: 'run-finished', report: runReport({ finishedAt: new Date(9_000).toISOString() }) })
    over?.()
    expect(await read(metrics, 'host_held_seconds_total', 'host_holds_total', ...gauges)).toEqual([
      'host_holds_total{host="static",why="down"} 1',
      'host_holds_total{host="static",endpoint="n",why="down"} 1',
      'host_held_seconds_total{host="static"} 5',
      'host_held_seconds_total{host="news"} 0',
      'host_held_seconds_total{host="static",endpoint="n"} 5',
    ])
  })

  it("are created in an app's registry, with process metrics only on request", async () => {
    const registry = new Registry()
    const metrics = createMetrics({ registry })
    expect(metrics.registry).toBe(registry)
    metrics.telemetry(none).event({ type: 'run-finished', report: runReport() })
    expect(await registry.metrics()).toMatch(/^scripstream_stocks 500$/m)
    expect(await registry.metrics()).not.toMatch(/^(process|nodejs)_/m)
    expect(await createMetrics({ processMetrics: true }).registry.metrics()).toMatch(
      /^process_cpu_seconds_total/m,
    )
  })

  it('are served during the run and count its events', async () => {
    const port = await freePort()
    const metrics = createMetrics({ labels: { folder: '/data' } })
    const { close } = await serveMetrics(port, metrics, { out: '/data' })
    const { event, request } = metrics.telemetry(none)
    event({ type: 'items-known', stream: 'news', total: 3 })
    event({ type: 'rate-limited', stream: 'news' })
    event({ type: 'host-paused', at: 0, hosts: ['static'], why: 'refuses', since: 0, until: 9 })
    event({ type: 'item-finished', stream: 'news', item: 'A', status: 'success' })
    event({ type: 'stream-finished', at: 9, stream: 'news', outcome: 'partial' })
    request?.({ stream: 'news', endpoint: note, at: 0, ms: 30, status: 200, bytes: 70, failure: undefined })
    const response = await fetch(`http://127.0.0.1:${port}/metrics`)
    const text = await response.text()
    expect(response.headers.get('content-type')).toMatch(/^text\/plain/)
    for (const line of [
      `scripstream_requests_total{host="static",endpoint="${note.name}",status="200",outcome="success"} 1`,
      `scripstream_response_bytes_total{host="static",endpoint="${note.name}"} 70`,
      'scripstream_items_total{stream="news",status="success"} 1',
      'scripstream_streams_total{stream="news",outcome="partial"} 1',
      'scripstream_items_expected{stream="news"} 3',
      'scripstream_rate_limited_total{stream="news"} 1',
      'scripstream_host_holds_total{host="static",why="refuses"} 1',
    ])
      expect(text).toContain(`\n${line.replace('}', ',folder="/data"}')}\n`)
    expect(text).toMatch(/^process_resident_memory_bytes\{folder="\/data"\} \d+$/m)
    expect(await metrics.registry.metrics()).not.toMatch(/^(process|nodejs)_/m)
    expect((await fetch(`http://127.0.0.1:${port}/`)).status).toBe(404)
    close()
    await expect(fetch(`http://127.0.0.1:${port}/metrics`)).rejects.toThrow()
  })

  it('contain no secret, whatever the provider answers', async () => {
    const secret = 'CANARY-token-1234'
    const { registry, telemetry } = createMetrics()
    let requests = 0
    const collector = createQuickCollector({
      settings: { ...SETTINGS, options: withSheet(secret), headers: { authorization: secret }, retries: 0 },
      storage: memory(new Map()),
      transport: ({ body }) => {
        if (body?.includes('"Isin"'))
          return of({ status: 200, body: Buffer.from(JSON.stringify({ data: [ALPHA] })) })
        requests += 1
        return requests % 2 === 0
          ? throwError(() => new TransportError('reset', secret))
          : of({ status: 200, body: Buffer.from(secret) })
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
    const failure = await serveMetrics(port, createMetrics(), { out: '/data' }).catch(
      (error: unknown) => error,
    )
    expect(failure).toBeInstanceOf(UsageError)
    expect((failure as Error).message).toContain(`--metrics: port ${port} is not available`)
  })
})

describe('the metrics of several collectors', () => {
  const status = (inFlight: number) =>
    ({
      limiters: () => [
        {
          hosts: ['static'],
          inFlight,
          waiting: 0,
          maxInFlight: 9,
          maxPerSecond: 9,
          isHeld: false,
          circuit: 'closed',
        },
      ],
    }) as never

  it('share a registry by the label of each', async () => {
    const registry = new Registry()
    const [one, other] = ['a', 'b'].map((collector) => createMetrics({ registry, collector }))
    const all = [one, other] as [Metrics, Metrics]
    const followers = all.map(({ telemetry }, index) => telemetry(status(index + 1)))
    followers.forEach(({ event }, index) => {
      event({ type: 'retried', stream: 'news', item: 'A' })
      event({
        type: 'run-finished',
        report: runReport({ scripts: { news: scriptReport({ durationMs: 1_000 * (index + 1) }) } }),
      })
    })
    const names = [
      'retries_total',
      'requests_in_flight',
      'stream_duration_seconds',
      'last_success_timestamp_seconds',
    ]
    const before = await read(all[0], ...names)
    expect(before).toEqual(
      expect.arrayContaining([
        'retries_total{stream="news",collector="a"} 1',
        'retries_total{stream="news",collector="b"} 1',
        'requests_in_flight{host="static",collector="a"} 1',
        'requests_in_flight{host="static",collector="b"} 2',
        'stream_duration_seconds{stream="news",collector="a"} 1',
        'stream_duration_seconds{stream="news",collector="b"} 2',
      ]),
    )
    // The figures of a run replace those of its own collector.
    followers[1]?.event({ type: 'run-finished', report: runReport({ scripts: {} }) })
    expect(await read(all[0], 'stream_duration_seconds')).toEqual([
      'stream_duration_seconds{stream="news",collector="a"} 1',
    ])
  })

  it.each([
    [undefined, undefined],
    [undefined, 'b'],
    ['a', undefined],
    ['a', 'a'],
  ])('need a registry or a name each: %s and %s', (one, other) => {
    const registry = new Registry()
    createMetrics({ registry, collector: one })
    expect(() => createMetrics({ registry, collector: other })).toThrow(UsageError)
  })
})

it('the app can pass its prom-client', async () => {
  const { Registry: Own } = prometheus
  let created = 0
  class Counted extends Own {
    constructor() {
      super()
      created += 1
    }
  }
  const metrics = createMetrics({ client: { ...prometheus, Registry: Counted } })
  expect(created).toBe(1)
  expect(await metrics.registry.metrics()).toContain('scripstream_stocks 0')
})
