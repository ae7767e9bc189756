import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { lastValueFrom, of, Subject, tap } from 'rxjs'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { folder } from '../../sinks/folder.js'
import { runProgram } from '../../src/cli/program.js'
import { createForecast, type Forecast, type ForecastInput } from '../../src/cli/run/forecast.js'
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

const estimated = (run: RunOptions = {}, changes: Partial<Settings> = {}): Promise<Forecast> =>
  createForecast({
    streams,
    settings: settingsOf(changes),
    stored: folder(out).stored,
    simulated: STOCKS,
    requestMs: { least: 40, most: 80 },
    now,
    run: { asOf: now, ...run },
  })

const ran = (run: RunOptions = {}) =>
  lastValueFrom(
    createCollector<readonly StreamDefinition[]>({ settings: settingsOf() }).run({ asOf: now, ...run }),
  )

const requestsIn = ({ streams: all }: Forecast) =>
  Object.fromEntries(all.map(({ name, requests }) => [name, requests]))
const requestsSent = () =>
  Object.fromEntries(
    Object.entries(simulator.stats().endpoints).map(([name, { requests }]) => [name, requests]),
  )
const filesIn = (path: string) =>
  readdirSync(path, { recursive: true, encoding: 'utf8' }).map((name) => [
    name,
    statSync(join(path, name)).mtimeMs,
  ])

describe('an estimate', () => {
  it('of a first run goes by the stream definitions: fallbacks are not counted', async () => {
    const forecast = await estimated()
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
    expect(await estimated()).toMatchObject({
      finishedBefore: expect.any(String),
      streams: [],
      requests: 0,
      leastMs: 0,
      mostMs: 0,
    })
    const fresh = await estimated({ fresh: true })
    expect(requestsIn(fresh)).toMatchObject({
      'market-news': STOCKS,
      'bulk-block-deals': requests,
      'all-ohlcv': STOCKS,
    })
    expect(fresh.stocks).toBe(STOCKS)
    expect(simulator.stats().endpoints).toEqual({})
    expect(filesIn(out)).toEqual(before)
  })

  it('can be of some streams and stocks', async () => {
    const symbols = simulator.market.stocks.map(({ Symbol: symbol }) => symbol)
    const chosen = symbols.slice(0, 2)
    const run = { only: ['company-filings', 'market-news'], symbols: chosen }
    expect(requestsIn(await estimated(run))).toEqual({
      'master-data': 1,
      'company-filings': 4,
      'market-news': 2,
    })
    await expect(estimated({ symbols: ['NOBODY'] })).rejects.toThrow('unknown symbol: ')
  })

  it('can be of the next day, and names an unfinished run that is resumed', async () => {
    now += DAY_MS
    expect(requestsIn(await estimated())).toMatchObject({ 'all-ohlcv': STOCKS, 'market-news': STOCKS })
    const stop = new Subject<void>()
    const collector = createCollector({ settings: settingsOf({ workers: { 'market-news': 1 } }) })
    const run$ = collector.events({ asOf: now, stop }).pipe(
      tap((event) => {
        if (event.type === 'item-finished' && event.stream === 'market-news') stop.next()
      }),
    )
    expect(await lastValueFrom(run$)).toMatchObject({ report: { outcome: 'interrupted' } })
    expect((await estimated()).continues).not.toBeNull()
    await ran()
  })

  it('has only the failed items of a run that ended', async () => {
    now += DAY_MS
    const items = simulator.market.stocks.slice(0, 2).map(({ ISIN }) => ISIN)
    simulator.control({ faults: [{ on: 'news', mode: 'status', status: 404, items }] })
    expect(await ran()).toMatchObject({ outcome: 'partial' })
    const rest = await estimated()
    expect([rest.isRemainder, requestsIn(rest)]).toEqual([true, { 'master-data': 1, 'market-news': 2 }])
    simulator.control({ faults: [], reset: true })
    await ran()
    expect(requestsSent()).toEqual({ master: 1, news: 2 })
  })

  it('has only the failed items of a run that is resumed', async () => {
    now += DAY_MS
    const [one] = simulator.market.stocks.map(({ ISIN }) => ISIN)
    await ran()
    simulator.control({ faults: [{ on: 'news', mode: 'status', status: 404, items: [one ?? ''] }] })
    const part = { only: ['market-news', 'fundamental-data'], fresh: true }
    expect(await ran(part)).toMatchObject({ outcome: 'partial', isResumable: true })
    const rest = await estimated({ only: part.only })
    expect([rest.continues, requestsIn(rest)]).toEqual([expect.any(String), { 'market-news': 1 }])
    simulator.control({ faults: [], reset: true })
    await ran({ only: part.only })
    expect(requestsSent()).toEqual({ news: 1 })
  })
})

describe('the figures of a stream', () => {
  const ITEMS = { success: 80, empty: 15, skipped: 0, rate_limit: 0, error: 5 }
  const estimate = async (
    script: Parameters<typeof scriptReport>[0] | undefined,
    changes: Partial<ForecastInput> = {},
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
      simulated: 60,
      requestMs: { least: 40, most: 80 },
      now,
      run: { only: ['company-filings'] },
      ...changes,
    }
    const { requests, bytes, leastMs, mostMs } = (await createForecast(input)).streams[1] ?? {}
    return [requests, bytes, leastMs, mostMs]
  }

  it('are those of the last run only if it lost few items and took none over', async () => {
    const captured = [120, 5_100_000, 240, 480]
    expect(await estimate(undefined)).toEqual(captured)
    const last = { requests: 260, retries: 10, bytes: 5_000, durationMs: 5_200 }
    expect(await estimate(last)).toEqual([150, 3_000, 2_400, 4_500])
    expect(await estimate({ ...last, takenOver: 20 })).toEqual(captured)
    expect(await estimate({ ...last, items: { ...ITEMS, success: 5, error: 80 } })).toEqual(captured)
  })
})

describe('run --dry-run', () => {
  const empty = temporaryFolder()
  const dependencies = createTestDependencies(undefined, {
    streams,
    loadSettings: ({ flags }) => Settings.parse({ urls: { news: 'https://news.test/base' }, ...flags }),
    storage: (settings) => folder(settings.out),
    createCollector: () => expect.unreachable(),
  })
  const print = async (args: readonly string[], columns: number) => {
    const io = createTestIo({ out: { columns } })
    const code = await runProgram(['run', '--dry-run', '--out', empty, ...args], io, dependencies)
    expect([code, io.err.text()]).toEqual([0, ''])
    return io.out.text()
  }

  it.each([80, 200])(
    'is a paragraph of %i columns with streams, requests, time, disk space and assumptions',
    async (columns) => {
      const text = await print([], columns)
      expect(text.split('\n').filter((line) => line.length > columns || /^ /.test(line))).toEqual([])
      const flat = text.trim().replace(/\s+/g, ' ')
      const running = streams.filter(({ optional }) => !optional).length
      const named = `${running} streams \\(master-data, fundamental-data, listing-dates and ${running - 3} more\\)`
      const expected = `^A run into \\S+ as of 1970-01-01 05:30 IST would send about \\d\\d,\\d{3} requests for ${named} in \\S+ to \\S+, and write about \\d+ MB; [\\d.,]+ [GT]B are free\\. The figures are those of`
      expect(flat).toMatch(new RegExp(expected))
      expect(flat).toContain('all-indices: 194 items assumed')
      // The address of a fallback is needed, too.
      expect(flat).toMatch(/addresses that are not set: SCRIPSTREAM_ANALYTICS_URL.*SCRIPSTREAM_WEB_URL/)
      expect(flat).not.toContain('SCRIPSTREAM_NEWS_URL')
      expect(flat).toMatch(/ No request was sent\.$/)
    },
  )

  it('prints the same as JSON, follows the flags of the run, and writes nothing', async () => {
    const flags = ['--only', 'market-news', '--symbols', 'A,B', '--serve', '--log-file', join(empty, 'log')]
    expect(JSON.parse(await print(['--json', ...flags], 80))).toMatchObject({
      stocks: 2,
      requests: 3,
      // One request for the list, then one for each stock at once.
      leastMs: 100,
      mostMs: 600,
      unset: ['SCRIPSTREAM_ANALYTICS_URL'],
      streams: [{ name: 'master-data' }, { name: 'market-news', bytes: 2 * 13_300 }],
    })
    expect(readdirSync(empty)).toEqual([])
  })

  it('treats an unreadable list as missing, and says so', async () => {
    writeFileSync(join(empty, 'master_data_response.json'), '[{"Sym":')
    const text = await print(['--only', 'market-news'], 200)
    expect(text).toContain('master-data: 2,775 items assumed')
    expect(text).toContain('master_data_response.json')
  })

  it('is an error with 2 for a wrong name', async () => {
    const io = createTestIo()
    expect(await runProgram(['run', '--dry-run', '--with', 'nothing'], io, dependencies)).toBe(2)
    expect([io.out.text(), io.err.text()]).toEqual(['', expect.stringContaining('unknown stream "nothing"')])
  })
})
