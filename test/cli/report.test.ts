import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { briefHtml } from '../../src/cli/brief/html.js'
import { runProgram } from '../../src/cli/program.js'
import { addDays } from '../../src/model/trading-day.js'
import type { Brief } from '../../src/show/brief.js'
import { readWholeMarket } from '../../src/show/index.js'
import { streams } from '../../streams/registry.js'
import { candleFile, marketWith, report, stock } from '../show/support.js'
import { temporaryFolder } from '../support/folders.js'
import { createTestDependencies, createTestIo } from './support.js'

const HOSTILE = '<img src=x onerror=alert(1)>'
const [BEFORE, TODAY] = ['2026-02-11', '2026-02-12'] as const

const folder = marketWith({
  'master_isin_map.json': [stock(HOSTILE, 'INE000000001'), stock('B', 'INE000000002')],
  'ohlcv_data/B.csv': candleFile([
    [BEFORE, 100, 1e6],
    [TODAY, 110, 1e6],
  ]),
  'bulk_block_deals.json': [{ date: TODAY, sym: HOSTILE, bs: 'B', qty: 1e6, avgprice: 100, cname: '"quoted" & <b>bold</b>', deal: 'BULK' }],
  '.scripstream/report.json': report({ 'circuit-stocks': ['failed', { error: 'static answered 503' }] }),
})

const day: Brief = {
  ...{ folder: folder.root, run: 'r', asOf: '2026-02-12T14:30:00.000Z', durationMs: 1, stocks: 2, outcome: 'complete' },
  ...{ outputs: [], changes: [], counts: {}, rewritten: [], since: null, wrongSymbols: [], notes: [] },
}
const read = async (brief: Brief = day, market = folder): Promise<string> => briefHtml(brief, await readWholeMarket(market))

describe('the market in the report', () => {
  it('counts, and names the movers and deals of the day', async () => {
    const html = await read()
    expect(html).toContain('<h2>Market of 12 Feb 2026</h2>')
    expect(html).toContain('1 stock rose, 0 fell, 0 unchanged (1 of 2 have a candle)')
    expect(html).toContain('<tr><td>B</td><td class="n">110.00</td><td class="n">+10.00 %</td>')
    expect(html).toContain('<td class="n">10.00</td>')
  })

  it('says what the volume is compared with', async () => {
    const days = Array.from({ length: 21 }, (_, place) => [addDays(TODAY, place - 20), 100 + place, place === 20 ? 5e6 : 1e6] as const)
    const busy = marketWith({ 'master_isin_map.json': [stock('B')], 'ohlcv_data/B.csv': candleFile(days) })
    const html = await read(day, busy)
    expect(html).toContain('<td class="n">5.0 ×</td>')
    expect(html).toContain('Volume: how many times the average of the 20 sessions before.')
  })

  it('escapes what the provider wrote, and says what is missing instead of showing zero', async () => {
    const html = await read()
    expect(html).toContain('&lt;img src=x onerror=alert(1)&gt;')
    expect(html).toContain('&quot;quoted&quot; &amp; &lt;b&gt;bold&lt;/b&gt; bought')
    expect(html).not.toMatch(/<(?:img|b|script)\b/)
    expect(html).toContain('<p class="note">circuit-stocks failed in the last run: static answered 503</p>')
    expect(html).not.toContain('0 stocks are at their limit')
  })

  it('has days, quantities and prices as people in India write them', async () => {
    const detail = 'X bought 12,34,567 at 1440.5 on 2026-02-12 (bulk, 178 crore)'
    const changes: Brief['changes'] = [
      { symbol: 'B', isWatched: false, changes: [{ section: 'deals', symbol: 'B', change: 'new', detail }] },
    ]
    const html = await read({ ...day, changes, counts: { deals: 1 }, since: { asOf: '2026-02-11T14:30:00.000Z' } })
    expect(html).toContain('X bought 12,34,567 at ₹ 1,440.50 on 12 Feb 2026')
    expect(html).toContain('Changed since 11 Feb 2026 20:00 IST')
    expect(html).not.toMatch(/\d{4}-\d\d-\d\d/)
  })

  it('needs nothing from elsewhere: no script, no address that a reader would load', async () => {
    const html = await read()
    expect(html).not.toMatch(/<(?:script|link|img|iframe)|@import|url\(/)
    expect(html).toContain(`content="default-src 'none'; style-src 'unsafe-inline'"`)
  })

  it('is written to the file that is named, with the day of the run in its name', async () => {
    const [io, place] = [createTestIo(), temporaryFolder()]
    const args = ['brief', '--out', folder.root, '--format', 'html', '--no-verify', '--to', join(place, 'market-DAY.html')]
    expect(await runProgram(args, io, createTestDependencies(undefined, { streams }))).toBe(0)
    expect(readdirSync(place)).toEqual(['market-2026-02-12.html'])
    expect(io.out.text().replace(/\s+/g, ' ')).toContain(`Written to ${place}`)
    expect(readFileSync(join(place, 'market-2026-02-12.html'), 'utf8')).toContain('<h2>Market of 12 Feb 2026</h2>')
  })
})
