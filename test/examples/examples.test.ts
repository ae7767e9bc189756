import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { lastValueFrom, toArray } from 'rxjs'
import { createCollector } from 'scripstream'
import { describe, expect, it } from 'vitest'
import { insertNews } from '../../src/examples/01-one-stream.js'
import { collectMarket } from '../../src/examples/02-whole-run.js'
import { findMostTraded } from '../../src/examples/06-query.js'
import { testMarketNews } from '../../src/examples/07-marble-test.js'
import { runLogged } from '../../src/examples/08-metrics-and-logs.js'
import { testRefusals } from '../../src/examples/09-simulator-in-a-test.js'
import { testMarketNewsThroughFaults } from '../../src/examples/14-simulation.js'
import { temporaryFolder } from '../support/folders.js'
import { serveProvider } from './support.js'

describe('01: one stream', () => {
  it('inserts the rows of one stock after the other and emits a line for each', async () => {
    const { settings } = await serveProvider()
    let [active, most] = [0, 0]
    const inserted: string[] = []
    const lines$ = insertNews(
      { ...settings, workers: { 'market-news': 1 } },
      ['M&M', '360ONE'],
      async (symbol, news) => {
        active += 1
        most = Math.max(most, active)
        await new Promise((resolve) => setImmediate(resolve))
        inserted.push(...news.map(() => symbol))
        active -= 1
      },
    )
    const lines = await lastValueFrom(lines$.pipe(toArray()))
    expect(most).toBe(1)
    expect(lines.sort()).toEqual(
      ['360ONE', 'M&M'].map(
        (symbol) => `${symbol} success: ${inserted.filter((one) => one === symbol).length} news`,
      ),
    )
  })
})

describe('02: a whole run', () => {
  it('prints the end of each stream, names what is missing, and returns the files', async () => {
    const { settings } = await serveProvider([{ on: 'news', mode: 'status', status: 404, rate: 0.3 }])
    const lines: string[] = []
    const files = await collectMarket(settings, (line) => lines.push(line))
    expect(lines).toContain('20 stocks')
    expect(lines).toContain('company-filings: success')
    expect(lines).toContain('market-news: partial')
    expect(lines.some((line) => /^\S+: .*404/.test(line))).toBe(true)
    expect(lines.at(-1)).toBe('partial')
    expect([...files.keys()]).toContain('fundamental_data.json')
  })
})

describe('06: a query', () => {
  it('returns the stocks with the largest volume of the newest session', async () => {
    const { settings } = await serveProvider()
    const out = temporaryFolder()
    await lastValueFrom(createCollector({ settings: { ...settings, out } }).run({ only: ['all-ohlcv'] }))
    const rows = await findMostTraded(out)
    expect(Object.keys(rows[0] ?? {})).toEqual(['symbol', 'date', 'close', 'volume'])
    const volumes = rows.map(({ volume }) => Number(volume))
    expect(volumes).toHaveLength(3)
    expect(volumes).toEqual([...volumes].sort((left, right) => right - left))
  })
})

describe('07: a marble test', () => {
  it('passes', () => testMarketNews())
})

describe('08: logs and metrics', () => {
  it('logs the streams, and counts requests by endpoint and status', async () => {
    const { settings } = await serveProvider()
    const lines: { readonly msg: string; readonly stream?: string; readonly requests?: object }[] = []
    const metrics = await runLogged(settings, { write: (line) => lines.push(JSON.parse(line)) })
    expect(lines).toContainEqual(expect.objectContaining({ msg: 'stream-finished', stream: 'market-news' }))
    const [, count] =
      /^scripstream_requests_total\{.*endpoint="news",status="200",outcome="success"\} (\d+)$/m.exec(
        metrics,
      ) ?? []
    expect(lines.at(-1)?.requests).toMatchObject({ 'news 200': Number(count) })
  })
})

describe('09: the simulator in a test', () => {
  it('passes', () => testRefusals())
})

describe('the examples', () => {
  const folder = join(import.meta.dirname, '../../src/examples')
  const files = readdirSync(folder).filter((file) => file.endsWith('.ts'))
  const tests = readdirSync(import.meta.dirname)
    .map((file) => readFileSync(join(import.meta.dirname, file), 'utf8'))
    .join('\n')

  it.each(files)('%s is numbered, short, imports packages only, and is run by a test', (file) => {
    const text = readFileSync(join(folder, file), 'utf8')
    expect(file).toMatch(/^\d\d-[a-z-]+\.ts$/)
    expect(text).toMatch(/^\/\*\*.+?\*\/\nimport /s)
    expect(text.split('\n').length).toBeLessThanOrEqual(80)
    expect(text).not.toMatch(/from '\./)
    expect(tests).toContain(`/src/examples/${file.replace(/\.ts$/, '.js')}'`)
  })
})

describe('14: a simulation', () => {
  it('survives evenings with everything that can go wrong', async () => {
    const { seeds, requests, faults } = await testMarketNewsThroughFaults(10)
    expect({ seeds, hasFaults: Object.keys(faults).length > 0 }).toEqual({ seeds: 10, hasFaults: true })
    expect(requests).toBeGreaterThan(50)
  })
})
