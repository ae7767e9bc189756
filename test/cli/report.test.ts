import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { briefHtml } from '../../src/cli/brief/html.js'
import { runProgram } from '../../src/cli/program.js'
import type { Brief } from '../../src/show/brief.js'
import { readMorning } from '../../src/show/index.js'
import { streams } from '../../streams/registry.js'
import { candleFile, marketWith, report, stock } from '../show/support.js'
import { temporaryFolder } from '../support/folders.js'
import { createTestDependencies, createTestIo } from './support.js'

const HOSTILE = '<IMG SRC=X ONERROR=ALERT(1)>'
const [BEFORE, TODAY] = ['2026-02-11', '2026-02-12'] as const

const folder = marketWith({
  'master_isin_map.json': [stock(HOSTILE, 'INE000000001'), stock('B', 'INE000000002')],
  'ohlcv_data/B.csv': candleFile([
    [BEFORE, 100, 1e6],
    [TODAY, 110, 1e6],
  ]),
  'bulk_block_deals.json': [
    {
      date: TODAY,
      sym: HOSTILE,
      bs: 'B',
      qty: 1e6,
      avgprice: 100,
      cname: '"quoted" & <b>bold</b>',
      deal: 'BULK',
    },
  ],
  '.scripstream/report.json': report({ 'circuit-stocks': ['failed', { error: 'static answered 503' }] }),
})

const day: Brief = {
  folder: folder.root,
  run: 'r',
  asOf: '2026-02-12T14:30:00.000Z',
  durationMs: 1,
  stocks: 2,
  outcome: 'complete',
  outputs: [],
  changes: [],
  counts: {},
  rewritten: [],
  since: null,
  wrongSymbols: [],
  notes: [],
}
const read = async (brief: Brief = day, market = folder): Promise<string> =>
  briefHtml(brief, await readMorning(market, ['B', HOSTILE]))

describe('the market in the report', () => {
  it('counts, shows your stocks, and says it beside the subject of the mail', async () => {
    const html = await read()
    expect(html).toContain('<h1>12 Feb 2026</h1>')
    expect(html).toContain('1 stock rose, 0 fell, 0 unchanged (1 of 2 have a candle)')
    expect(html).toContain('<tr><td>B Ltd</td><td class="n">110.00</td><td class="n u">+10.0 %</td>')
    expect(html).toMatch(/<div class="pre">1 rose, 0 fell · \d of your 2 stocks in the news/)
  })

  it('fits a mail with the names of a whole watchlist, and prints', async () => {
    const stocks = Array.from({ length: 200 }, (_, place) =>
      stock(`S${place}`, `INE${String(place).padStart(9, '0')}`, 'N'.repeat(80)),
    )
    const large = marketWith({
      'master_isin_map.json': stocks,
      'bulk_block_deals.json': stocks.map(({ Symbol: sym }) => ({
        date: TODAY,
        sym,
        bs: 'B',
        qty: 1e6,
        avgprice: 100,
        cname: 'C'.repeat(200),
        deal: 'BULK',
      })),
      '.scripstream/report.json': report({}),
    })
    const html = briefHtml(
      day,
      await readMorning(
        large,
        stocks.map((one) => one.Symbol),
      ),
    )
    expect(html.length).toBeLessThan(28_000)
    expect(html).toContain('@media print')
  })

  it('escapes what the provider wrote, and says what is missing instead of showing zero', async () => {
    const html = await read()
    expect(html).toContain('&lt;IMG SRC=X')
    expect(html).toContain('BULK purchase by &quot;quoted&quot; &amp; &lt;b&gt;bold&lt;/b&gt;')
    expect(html).not.toMatch(/<(?:img|script)\b/i)
    expect(html).not.toContain('<h2>Indices of')
  })

  it('has days as people write them, and quantities and prices as all texts have them', async () => {
    const detail = 'X bought 1,234,567 at ₹ 1,440.50 on 2026-02-12 (bulk, ₹ 178 crore)'
    const changes: Brief['changes'] = [
      { symbol: 'B', isWatched: false, changes: [{ section: 'deals', symbol: 'B', change: 'new', detail }] },
    ]
    const html = await read({
      ...day,
      changes,
      counts: { deals: 1 },
      since: { asOf: '2026-02-11T14:30:00.000Z' },
    })
    expect(html).toContain('X bought 1,234,567 at ₹ 1,440.50 on 12 Feb 2026 (bulk, ₹ 178 crore)')
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
    const args = ['brief', '--out', folder.root, '--format', 'html', '--to', join(place, 'market-DAY.html')]
    expect(await runProgram(args, io, createTestDependencies(undefined, { streams }))).toBe(0)
    expect(readdirSync(place)).toEqual(['market-2026-02-12.html'])
    expect(io.out.text().replace(/\s+/g, ' ')).toContain(`Written to ${place}`)
    expect(readFileSync(join(place, 'market-2026-02-12.html'), 'utf8')).toContain('<h1>12 Feb 2026</h1>')
  })
})
