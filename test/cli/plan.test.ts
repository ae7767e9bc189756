import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { lastValueFrom, of, Subject, tap } from 'rxjs'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { folder } from '../../sinks/folder.js'
import { createForecast, type Forecast, type PlanInput } from '../../src/cli/plan/forecast.js'
import { runProgram } from '../../src/cli/program.js'
import { createCollector, type RunOptions } from '../../src/collector.js'
import type { StreamDefinition } from '../../src/engine/define-stream.js'
import { Settings } from '../../src/model/settings.js'
import { type Simulator, serveSimulator } from '../../src/simulator/index.js'
import { streams } from '../../streams/registry.js'
import { temporaryFolder } from '../support/folders.js'
import { createTestDependencies, createTestIo, scriptReport } from './support.js'

const DAY_MS = 24 * 3_600_000
const STOCKS = 12

let simulator: Simulator
let now = Date.parse('2026-02-12T20:00:00+05:30')
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

const settingsOf = (changes: Partial<Settings> = {}): Settings => ({
  ...Settings.parse({ ...simulator.settings, out }),
  ...changes,
})

const planned = (run: PlanInput['run'] = {}, changes: Partial<Settings> = {}): Promise<Forecast> =>
  createForecast({
    streams,
    settings: settingsOf(changes),
    stored: folder(out).stored,
    stocks: STOCKS,
    latency: undefined,
    now,
    run: { asOf: now, ...run },
  })

const ran = (run: RunOptions = {}) =>
  lastValueFrom(
    createCollector<readonly StreamDefinition[]>({ settings: settingsOf() }).run({ asOf: now, ...run }),
  )

const requestsIn = ({ streams: all }: Forecast) =>
  Object.fromEntries(all.map(({ name, requests }) => [name, requests]))
const filesIn = (path: string) =>
  readdirSync(path, { recursive: true, encoding: 'utf8' }).map((name) => [
    name,
    statSync(join(path, name)).mtimeMs,
  ])

describe('a plan', () => {
  it('estimates a first run from the stream definitions: fallbacks are not counted', async () => {
    const forecast = await planned()
    expect(requestsIn(forecast)).toMatchObject({
      'master-data': 1,
      'fundamental-data': STOCKS,
      'listing-dates': 1,
      'company-filings': 2 * STOCKS,
      'new-announcements': STOCKS,
      'advanced-indicators': STOCKS,
      'market-news': STOCKS,
      'corporate-actions': 2,
      'surveillance-lists': 2,
      'circuit-stocks': 2,
      'bulk-block-deals': 49,
      'incremental-price-bands': 1,
      'complete-price-bands': 1,
      'all-indices': 1,
      'all-ohlcv': STOCKS,
      'indices-ohlcv': 194,
    })
    expect(forecast.notes).toEqual(['all-indices: 194 items assumed, the folder has no such list.'])
  })

  it('has no streams after a complete run; from scratch, each stream costs what it cost', async () => {
    await ran()
    const { requests } = simulator.stats().endpoints.deal ?? {}
    const before = filesIn(out)
    simulator.control({ reset: true })
    expect(await planned()).toMatchObject({
      finishedBefore: expect.any(String),
      streams: [],
      requests: 0,
      ms: 0,
    })
    const fresh = await planned({ fresh: true })
    expect(requestsIn(fresh)).toMatchObject({
      'market-news': STOCKS,
      'bulk-block-deals': requests,
      'all-ohlcv': STOCKS,
    })
    expect(fresh.stocks).toBe(STOCKS)
    expect(simulator.stats().endpoints).toEqual({})
    expect(filesIn(out)).toEqual(before)
  })

  it('estimates a run on some streams and stocks', async () => {
    const symbols = simulator.market.stocks.map(({ Symbol: symbol }) => symbol)
    const chosen = symbols.slice(0, 2)
    const run = { only: ['company-filings', 'market-news'], symbols: chosen }
    expect(requestsIn(await planned(run))).toEqual({
      'master-data': 1,
      'company-filings': 4,
      'market-news': 2,
    })
    await expect(planned({ symbols: ['NOBODY'] })).rejects.toThrow('unknown symbol: ')
  })

  it('estimates the next day, and names an unfinished run that is resumed', async () => {
    now += DAY_MS
    expect(requestsIn(await planned())).toMatchObject({ 'all-ohlcv': STOCKS, 'market-news': STOCKS })
    const stop = new Subject<void>()
    const collector = createCollector({ settings: settingsOf({ workers: { 'market-news': 1 } }) })
    const run$ = collector.events({ asOf: now, stop }).pipe(
      tap((event) => {
        if (event.type === 'item-finished' && event.stream === 'market-news') stop.next()
      }),
    )
    expect(await lastValueFrom(run$)).toMatchObject({ report: { outcome: 'interrupted' } })
    expect((await planned()).continues).not.toBeNull()
    await ran()
  })

  it('estimates only the failed items of a run that ended', async () => {
    now += DAY_MS
    const items = simulator.market.stocks.slice(0, 2).map(({ ISIN }) => ISIN)
    simulator.control({ faults: [{ on: 'news', mode: 'status', status: 404, items }] })
    expect(await ran()).toMatchObject({ outcome: 'partial' })
    const rest = await planned()
    expect([rest.isRemainder, requestsIn(rest)]).toEqual([true, { 'master-data': 1, 'market-news': 2 }])
  })
})

describe('the figures of a stream', () => {
  const ITEMS = { success: 80, empty: 15, skipped: 0, rate_limit: 0, error: 5 }
  const estimate = async (
    script: Parameters<typeof scriptReport>[0] | undefined,
    changes: Partial<PlanInput> = {},
  ) => {
    const report = { scripts: script && { 'company-filings': scriptReport({ items: ITEMS, ...script }) } }
    const nothing = folder(temporaryFolder()).stored
    const stored = {
      ...nothing,
      document: (file: string) => (file.endsWith('report.json') ? of(report) : nothing.document(file)),
    }
    const settings = settingsOf({ out: '/nowhere', workers: { 'company-filings': 10 } })
    const input = {
      streams,
      settings,
      stored,
      stocks: 60,
      latency: undefined,
      now,
      run: { only: ['company-filings'] },
      ...changes,
    }
    const { requests, bytes, ms } = (await createForecast(input)).streams[1] ?? {}
    return [requests, bytes, ms]
  }

  it('are those of the last run only if it lost few items and took none over', async () => {
    expect(await estimate(undefined)).toEqual([120, 5_100_000, 600])
    expect(await estimate(undefined, { latency: 50 })).toEqual([120, 5_100_000, 300])
    const last = { requests: 260, retries: 10, bytes: 5_000, durationMs: 5_200 }
    expect(await estimate(last)).toEqual([150, 3_000, 3_000])
    expect(await estimate(last, { latency: 50 })).toEqual([150, 3_000, 375])
    expect(await estimate({ ...last, takenOver: 20 })).toEqual([120, 5_100_000, 600])
    expect(await estimate({ ...last, items: { ...ITEMS, success: 5, error: 80 } })).toEqual([
      120, 5_100_000, 600,
    ])
  })
})

describe('the command', () => {
  const empty = temporaryFolder()
  const dependencies = createTestDependencies(undefined, {
    streams,
    loadSettings: ({ flags }) => Settings.parse({ urls: { news: 'https://news.test/base' }, ...flags }),
    storage: (settings) => folder(settings.out),
  })
  const printPlan = async (args: readonly string[], columns: number) => {
    const io = createTestIo({ out: { columns } })
    await runProgram(['plan', '--out', empty, ...args], io, dependencies)
    expect(io.err.text()).toBe('')
    return io.out.text()
  }

  it.each([80, 200])('fits into %i columns, and states its assumptions', async (columns) => {
    const text = await printPlan([], columns)
    expect(text.split('\n').filter((line) => line.length > columns)).toEqual([])
    const flat = text.replace(/\s+/g, ' ')
    expect(flat).toContain('all-indices: 194 items assumed')
    expect(flat).toContain('Missing addresses, which the run needs: SCRIPSTREAM_ANALYTICS_URL')
    // The address of a fallback is needed, too.
    expect(flat).toContain('SCRIPSTREAM_WEB_URL')
    expect(flat).not.toContain('SCRIPSTREAM_NEWS_URL')
    expect(text).toMatch(/^company-filings +2,775 +5,550 +14s +236 MB$/m)
  })

  it('prints the same as JSON, uses the given figures, and writes nothing', async () => {
    const plan = JSON.parse(
      await printPlan(['--json', '--stocks', '300', '--latency', '40', '--only', 'market-news'], 80),
    )
    expect(plan).toMatchObject({
      stocks: 300,
      requests: 301,
      // One request for the list, then 300 by 15 workers.
      ms: 840,
      streams: [{ name: 'master-data' }, { name: 'market-news', bytes: 300 * 13_300 }],
    })
    expect(() => rmSync(join(empty, '.scripstream'))).toThrow('ENOENT')
  })

  it('treats an unreadable list as missing, and says so', async () => {
    mkdirSync(empty, { recursive: true })
    writeFileSync(join(empty, 'master_data_response.json'), '[{"Sym":')
    const text = await printPlan(['--only', 'market-news'], 200)
    expect(text).toContain('master-data: 2,775 items assumed')
    expect(text).toContain('master_data_response.json')
  })
})
