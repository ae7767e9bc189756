import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { EMPTY, firstValueFrom, lastValueFrom, Subject, tap } from 'rxjs'
import { afterAll, beforeAll, beforeEach, describe, expect, it, test } from 'vitest'
import { folder } from '../../sinks/folder.js'
import { type Bounds, sumBounds } from '../../src/cli/plan/bounds.js'
import { estimateFootprint, estimateRunTime, estimateTime, measureLatency, measureRateLimit } from '../../src/cli/plan/estimate.js'
import { createForecast, type Forecast, type ForecastInput } from '../../src/cli/plan/forecast.js'
import type { Demand } from '../../src/cli/plan/requests.js'
import { runProgram } from '../../src/cli/program.js'
import { createCollector, type RunOptions } from '../../src/collector.js'
import { Settings } from '../../src/model/settings.js'
import { type Simulator, serveSimulator } from '../../src/simulator/index.js'
import { streams } from '../../streams/index.js'
import { createTestDependencies, createTestIo, defineTestStream, scriptReport } from './support.js'

const EVENING = Date.parse('2026-02-12T20:00:00+05:30')
const NEXT_EVENING = EVENING + 24 * 3_600_000
const STOCKS = 12

let simulator: Simulator
let now = EVENING
const out = mkdtempSync(join(tmpdir(), 'scripstream-'))
beforeAll(async () => {
  const endpoints = streams.flatMap((stream) => stream.endpoints)
  simulator = await serveSimulator({ endpoints, stocks: STOCKS, candleDays: 20, asOf: () => now })
})
afterAll(async () => {
  rmSync(out, { recursive: true })
  await simulator.close()
})
beforeEach(() => simulator.control({ reset: true, faults: [] }))

const settingsOf = (changes: Partial<Settings> = {}): Settings => ({ ...Settings.parse({ ...simulator.settings, out }), ...changes })

const planned = (run: ForecastInput['run'] = {}, changes: Partial<Settings> = {}): Promise<Forecast> =>
  firstValueFrom(
    createForecast({
      ...{ streams, settings: settingsOf(changes), stored: folder(out).stored, stocks: STOCKS, latency: undefined, now },
      run: { asOf: now, ...run },
    }),
  )

const ran = (run: RunOptions = {}, changes: Partial<Settings> = {}) =>
  lastValueFrom(createCollector({ settings: settingsOf(changes) }).run({ asOf: now, ...run }))

/** The planned requests of each endpoint, by name. */
const callsIn = ({ streams: all }: Forecast): ReadonlyMap<string, Bounds> => {
  const spans = all.flatMap(({ demand: { calls } }) => [...calls].map(([{ name }, span]) => [name, span] as const))
  return new Map(spans.map(([name]) => [name, sumBounds(spans.flatMap(([other, span]) => (other === name ? [span] : [])))]))
}

/** Checks the sent requests against a plan: each endpoint within its bounds. */
const expectAsked = (forecast: Forecast): number => {
  const { endpoints, violations, unknown } = simulator.stats()
  expect([violations, unknown]).toEqual([[], []])
  const calls = callsIn(forecast)
  const asked = Object.entries(endpoints).map(([name, { requests }]) => [name, requests] as const)
  expect(asked.filter(([name]) => !calls.has(name))).toEqual([])
  for (const [name, { least, most }] of calls) {
    const requests = endpoints[name]?.requests ?? 0
    expect(requests, name).toBeGreaterThanOrEqual(least)
    expect(requests, name).toBeLessThanOrEqual(most)
  }
  return asked.reduce((total, [, requests]) => total + requests, 0)
}

const requestsOf = (forecast: Forecast, name: string): Bounds | undefined =>
  forecast.streams.find(({ stream }) => stream.name === name)?.requests

const same = (value: number): Bounds => ({ least: value, most: value })

describe('a plan', () => {
  it('counts the requests of a first run exactly', async () => {
    await ran({ only: ['all-indices'] })
    simulator.control({ reset: true })
    const forecast = await planned()
    expect(simulator.stats().endpoints).toEqual({})
    await ran()
    const total = expectAsked(forecast)
    const indices = simulator.market.indices.length
    expect(Object.fromEntries(forecast.streams.map(({ stream: { name }, requests }) => [name, requests]))).toMatchObject({
      'master-data': same(1),
      'fundamental-data': same(STOCKS),
      'listing-dates': same(1),
      'company-filings': same(2 * STOCKS),
      'new-announcements': same(STOCKS),
      'advanced-indicators': same(STOCKS),
      'market-news': same(STOCKS),
      'corporate-actions': same(2),
      'surveillance-lists': { least: 2, most: 7 },
      'circuit-stocks': { least: 2, most: 6 },
      'bulk-block-deals': { least: 3, most: 49 },
      'incremental-price-bands': { least: 1, most: 8 },
      'complete-price-bands': { least: 1, most: 8 },
      'all-indices': same(1),
      'all-ohlcv': same(STOCKS),
      'indices-ohlcv': same(indices),
    })
    expect(forecast.streams.map(({ stream: { name } }) => name)).toEqual(streams.map(({ name }) => name))
    const all = sumBounds(forecast.streams.map(({ requests }) => requests))
    expect(total).toBeGreaterThanOrEqual(all.least)
    expect(total).toBeLessThanOrEqual(all.most)
    expect(forecast.stocks?.known).toBe('given')
  }, 30_000)

  it('has no requests after a complete run, unless it starts from scratch', async () => {
    const forecast = await planned()
    expect(forecast.streams).toEqual([])
    expect(forecast.resume.finishedBefore).toBeDefined()
    const fresh = await planned({ fresh: true })
    expect(requestsOf(fresh, 'market-news')).toEqual(same(STOCKS))
    // The candles of the day are already stored.
    expect(requestsOf(fresh, 'all-ohlcv')).toEqual(same(0))
  })

  it('counts the requests of a run on some streams and stocks, by the settings', async () => {
    const symbols = simulator.market.stocks.slice(0, 2).map(({ Symbol: symbol }) => symbol)
    const forecast = await planned({ only: ['market-news', 'all-ohlcv', 'company-filings'], symbols }, { forceUpdate: false })
    expect(forecast.streams.map(({ stream: { name }, requests }) => [name, requests])).toEqual([
      ['master-data', same(1)],
      ['company-filings', same(0)],
      ['market-news', same(2)],
      ['all-ohlcv', same(0)],
    ])
    await ran({ only: ['market-news', 'all-ohlcv', 'company-filings'], symbols }, { forceUpdate: false })
    // A stock without filings has no file, so it is requested again.
    expect(expectAsked(forecast)).toBe(3)
    await expect(planned({ symbols: ['NOBODY'] })).rejects.toThrow('unknown symbols: ')
  })

  it('counts the requests of the second day, and of resuming an unfinished run', async () => {
    now = NEXT_EVENING
    const forecast = await planned({ skip: ['indices-ohlcv'] })
    expect(requestsOf(forecast, 'all-ohlcv')).toEqual(same(STOCKS))
    const stop = new Subject<void>()
    const collector = createCollector({ settings: settingsOf({ workers: { 'market-news': 1 } }) })
    const run$ = collector.events({ asOf: now, stop, skip: ['indices-ohlcv'] }).pipe(
      tap((event) => {
        if (event.type === 'settled' && event.stream === 'market-news') stop.next()
      }),
    )
    expect(await lastValueFrom(run$)).toMatchObject({ report: { outcome: 'interrupted' } })
    const before = simulator.stats().endpoints
    simulator.control({ reset: true })
    const rest = await planned({ skip: ['indices-ohlcv'] })
    expect(rest.resume.continues).toBeDefined()
    expect(requestsOf(rest, 'master-data')).toEqual(same(0))
    expect(requestsOf(rest, 'fundamental-data')).toEqual(same(0))
    const news = requestsOf(rest, 'market-news')?.least ?? 0
    expect(news).toBeGreaterThan(0)
    expect(news).toBeLessThan(STOCKS)
    await ran({ skip: ['indices-ohlcv'] })
    expectAsked(rest)
    const after = simulator.stats().endpoints
    expect(after.news?.requests).toBe(news)
    // Both runs together send the planned requests of the whole day.
    for (const [name, { least, most }] of callsIn(forecast))
      if (least === most) expect((before[name]?.requests ?? 0) + (after[name]?.requests ?? 0), name).toBe(least)
  }, 30_000)
})

describe('the time of a plan', () => {
  const stream = (name: string, phase: 'core' | 'enrichment' | 'candles', of = 'master-data') =>
    defineTestStream({
      name,
      phase,
      workers: 10,
      work: { ...(of === '' ? {} : { of }), parts: [], each: () => EMPTY },
    })
  const demandOf = (name: string, requests: Bounds, rounds = requests, most: Bounds = same(1)): Demand => {
    const one = { ...stream(name, 'enrichment'), endpoints: streams[0].endpoints }
    return {
      stream: one,
      items: 100,
      inPlace: 0,
      known: 'stored',
      calls: new Map(one.endpoints.map((endpoint) => [endpoint, requests])),
      rounds,
      longest: most,
    }
  }

  test('of a stream is its rounds divided among its workers, at least its longest item and within the rate limit', () => {
    expect(estimateTime(demandOf('news', same(100)), { workers: 10, latencyMs: 50 })).toEqual(same(500))
    expect(estimateTime(demandOf('filings', same(200), same(100)), { workers: 10, latencyMs: 50 })).toEqual(same(500))
    const deals = demandOf('deals', { least: 3, most: 9 }, { least: 3, most: 9 }, { least: 3, most: 9 })
    expect(estimateTime(deals, { workers: 10, latencyMs: 50 })).toEqual({ least: 150, most: 450 })
    expect(estimateTime(demandOf('news', same(100)), { workers: 10, latencyMs: 50, perSecond: 20 })).toEqual(same(5_000))
  })

  test('of a run is phase 1 stream by stream, then the longest parallel chain', () => {
    const timed = [
      { stream: stream('one', 'core'), time: same(10) },
      { stream: stream('two', 'core'), time: same(20) },
      { stream: stream('list', 'enrichment', ''), time: { least: 1, most: 500 } },
      { stream: stream('news', 'enrichment'), time: same(100) },
      { stream: stream('after', 'candles', 'list'), time: same(70) },
    ]
    expect(estimateRunTime(timed)).toEqual({ least: 130, most: 600 })
    expect(estimateRunTime(timed.slice(0, 1))).toEqual(same(10))
    expect(estimateRunTime([])).toEqual(same(0))
  })

  test('uses the latency of the last run if it is conclusive', () => {
    const [news, filings] = [demandOf('news', same(100)), demandOf('filings', same(200), same(100))]
    const items = { success: 80, empty: 15, skipped: 20, rate_limit: 0, error: 5 }
    const shown = { news: scriptReport({ durationMs: 1_000, requests: 100, items }), filings: scriptReport({ durationMs: 3_000, items }) }
    expect(measureLatency({ scripts: shown }, [news, filings], () => 10)).toBe(100)
    expect(measureLatency({ scripts: shown }, [news, filings], () => 40)).toBeUndefined()
    const partial = { news: scriptReport({ outcome: 'partial', durationMs: 1_000, items }) }
    expect(measureLatency({ scripts: partial }, [news], () => 10)).toBe(100)
    const mostLost = { news: scriptReport({ outcome: 'partial', durationMs: 1_000, items: { ...items, success: 5, error: 80 } }) }
    expect(measureLatency({ scripts: mostLost }, [news], () => 10)).toBeUndefined()
    const limited = { news: scriptReport({ durationMs: 2_000, requests: 110, rateLimited: 10, items }) }
    expect(measureLatency({ scripts: limited }, [news], () => 10)).toBeUndefined()
    expect(measureRateLimit({ scripts: limited }, news.stream)).toBe(50)
    expect(measureRateLimit({ scripts: shown }, news.stream)).toBeUndefined()
  })

  test('comes with a size: from the last run by its items, else from a captured run', () => {
    const demand = demandOf('market-news', same(100))
    const items = { success: 40, empty: 10, skipped: 0, rate_limit: 0, error: 0 }
    const last = { scripts: { 'market-news': scriptReport({ bytes: 5_000, items }) } }
    expect(estimateFootprint(demand, 100, last)).toEqual({ bytes: 10_000, from: 'last run' })
    expect(estimateFootprint(demand, 100, undefined)).toEqual({ bytes: 1_330_000, from: 'captured' })
    expect(estimateFootprint(demandOf('own-stream', same(1)), 100, undefined)).toBeUndefined()
  })
})

describe('the command', () => {
  const empty = mkdtempSync(join(tmpdir(), 'scripstream-'))
  afterAll(() => rmSync(empty, { recursive: true }))
  const dependencies = createTestDependencies(undefined, {
    streams,
    loadSettings: ({ flags }) => Settings.parse({ urls: { news: 'https://news.test/base' }, ...flags }),
    storage: (settings) => folder(settings.out),
  })
  const told = async (args: readonly string[], columns: number) => {
    const io = createTestIo({ out: { columns } })
    await runProgram(['plan', '--out', empty, ...args], io, dependencies)
    expect(io.err.text()).toBe('')
    return io.out.text()
  }

  it.each([80, 200])('fits into %i columns, and states its assumptions', async (columns) => {
    const text = await told([], columns)
    expect(text.split('\n').filter((line) => line.length > columns)).toEqual([])
    const flat = text.replace(/\s+/g, ' ')
    expect(flat).toContain('Stocks: 2,775 assumed, the folder has no master list')
    expect(flat).toContain('indices-ohlcv: 194 items assumed')
    expect(flat).toContain('Time: 100 ms per request (assumed')
    expect(text).toMatch(/^ {2}company-filings +5,550 +20 +14s +236 MB {2}static$/m)
    expect(text).toMatch(/^news +2,775 {2}news\.test$/m)
  })

  it('prints the same as JSON, uses the given figures, and writes nothing', async () => {
    const plan = JSON.parse(await told(['--json', '--stocks', '300', '--latency', '40', '--only', 'market-news'], 80))
    expect(plan).toMatchObject({
      stocks: { number: 300, known: 'given' },
      latency: { ms: 40, from: 'given' },
      requests: { least: 301, most: 301 },
      // One request for the list, then 300 by 15 workers.
      ms: { least: 840, most: 840 },
      services: [
        { service: 'analytics', at: null, requests: { least: 1, most: 1 } },
        { service: 'news', at: 'news.test', requests: { least: 300, most: 300 } },
      ],
      streams: [{ name: 'master-data' }, { name: 'market-news', bytes: 300 * 13_300, bytesFrom: 'captured' }],
    })
    expect(() => rmSync(join(empty, '.scripstream'))).toThrow('ENOENT')
  })

  it('treats an unreadable list as missing, and says so', async () => {
    mkdirSync(empty, { recursive: true })
    writeFileSync(join(empty, 'master_data_response.json'), '[{"Sym":')
    const text = await told(['--only', 'market-news'], 200)
    expect(text).toContain('2,775 assumed')
    expect(text).toContain('master_data_response.json')
  })
})
