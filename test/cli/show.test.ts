import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { stockLines } from '../../src/cli/show.js'
import { layOut, measureLine } from '../../src/cli/terminal/terminal.js'
import { UsageError } from '../../src/model/errors.js'
import { readStockView } from '../../src/tables/stock-view.js'
import { streams } from '../../streams/registry.js'
import { collected, duckdb, folderWith } from '../tables/support.js'
import { toTexts } from './support.js'

describe.skipIf(!duckdb)('a stock at a glance', () => {
  let [out, remove] = ['', (): void => undefined]
  beforeAll(async () => {
    ;({ out, remove } = await collected(16, 300))
  })
  afterAll(() => remove())

  const read = (stock: string, root = out) => readStockView(root, { stock, streams, limit: 3 })
  const textOf = (view: Awaited<ReturnType<typeof read>>, columns = 100): string =>
    toTexts(stockLines(view), columns).join('\n')

  it('is found by symbol, ISIN and name', async () => {
    const view = await read('tcs')
    expect(view.facts.symbol).toBe('TCS')
    for (const text of [String(view.facts.isin), String(view.facts.name), 'NSE:TCS'])
      expect((await read(text)).facts).toEqual(view.facts)
    await expect(read('TCSS')).rejects.toThrow(UsageError)
  })

  it('has price, results, and at most three events of each kind', async () => {
    const view = await read('TCS')
    expect(textOf(view)).toMatch(
      /^TCS .*\n[\s\S]*Price of 2026-02-12\n[\s\S]*52 weeks [\d,.]+ -*#-* [\d,.]+\n[\s\S]*Results: Q3 FY26\n[\s\S]*News\n/,
    )
    const kinds = view.events.map(({ kind }) => kind)
    expect(kinds.length).toBeGreaterThan(3)
    for (const kind of kinds) expect(kinds.filter((one) => one === kind).length).toBeLessThanOrEqual(3)
    expect(new Set(view.events.map(({ isin }) => isin))).toEqual(new Set([view.facts.isin]))
    const finding = {
      check: 'large-moves',
      severity: 'warning',
      symbol: 'TCS',
      day: '2026-01-05',
      detail: 'the close jumps',
    } as const
    expect(textOf({ ...view, findings: [finding] } as typeof view)).toContain(
      'Findings\n  2026-01-05  the close jumps',
    )
  })

  it('says what may explain a large change below the price', async () => {
    const view = await read('TCS')
    const why = 'deal 12 Feb: BULK sale by A FUND'
    expect(textOf({ ...view, facts: { ...view.facts, why } })).toMatch(/ %\n {2}why deal 12 Feb: BULK sale/)
    expect(textOf({ ...view, facts: { ...view.facts, why: null } })).not.toContain('why')
  })

  it('fits 40, 80 and 200 columns', async () => {
    for (const symbol of ['TCS', 'RELIANCE']) {
      const lines = stockLines(await read(symbol))
      for (const columns of [40, 80, 200]) {
        const widths = layOut(lines, columns).map(measureLine)
        expect(widths.length).toBeGreaterThan(10)
        expect(Math.max(...widths)).toBeLessThanOrEqual(columns)
      }
    }
  })

  it('reads no file of another listed stock, and those of former symbols', async () => {
    const stock = (symbol: string, ISIN: string) => ({
      Symbol: symbol,
      ISIN,
      Name: symbol,
      Sid: symbol,
      FnoFlag: 0,
    })
    const news = (Title: string) => ({
      Symbol: 'OLD',
      ISIN: 'INE009A01021',
      News: [{ PublishDate: 1_770_000_000_000, Title }],
    })
    const some = folderWith({
      'master_isin_map.json': [stock('A', 'INE009A01021'), stock('B', 'INE467B01029')],
      'market_news/A_news.json': news('now'),
      'market_news/OLD_news.json': news('before'),
      'market_news/B_news.json': '{"torn',
    })
    expect((await read('A', some)).events.map(({ title }) => title).sort()).toEqual(['before', 'now'])
    await expect(read('B', some)).rejects.toThrow(/B_news\.json/)
  })

  it('leaves out what is unknown', async () => {
    const few = folderWith({
      'master_isin_map.json': [
        { Symbol: 'A', ISIN: 'INE009A01021', Name: 'A\u001b[31m', Sid: '1', FnoFlag: 0 },
      ],
    })
    expect(textOf(await read('A', few)).split('\n')).toEqual(['A  A  INE009A01021'])
  })
})
