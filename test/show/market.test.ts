import { describe, expect, it } from 'vitest'
import { addDays } from '../../src/model/trading-day.js'
import { readMarket } from '../../src/show/market.js'
import { readWholeList } from '../../src/show/whole-lists.js'
import { duckdb } from '../tables/support.js'
import { candleFile, marketWith, openFolder, report, stock } from './support.js'

const [BEFORE, TODAY] = ['2026-02-11', '2026-02-12'] as const

const three = (changes: readonly [number, number, number]) => ({
  '.scripstream/report.json': report({ 'all-ohlcv': ['success'] }),
  'master_isin_map.json': ['A', 'B', 'C'].map((symbol, place) => stock(symbol, `INE00000000${place}`)),
  ...Object.fromEntries(
    ['A', 'B', 'C'].map((symbol, place) => [
      `ohlcv_data/${symbol}.csv`,
      candleFile([
        [BEFORE, 100, 1e6],
        [TODAY, 100 + (changes[place] as number), 1e6],
      ]),
    ]),
  ),
})

describe.skipIf(!duckdb)('the market', () => {
  it('counts advances and declines', async () => {
    const market = await readMarket(marketWith(three([5, -3, 0])))
    expect(market.breadth).toMatchObject({
      listed: 3,
      traded: 3,
      advances: 1,
      declines: 1,
      unchanged: 1,
      medianChangePct: 0,
    })
    expect(market.breadth.turnoverCr).toBeCloseTo(30.2, 9)
    expect(market.breadth.about.day).toBe(TODAY)
    expect(market.breadth.sessions).toEqual([
      [BEFORE, 0, 0],
      [TODAY, 1, 1],
    ])
  })

  it('and its sectors are narrowed to a universe: futures and options, own stocks, an index; whatever a name contains', async () => {
    const files = three([5, -3, 0])
    const [first, ...others] = files['master_isin_map.json']
    const folder = marketWith({ ...files, 'master_isin_map.json': [{ ...first, FnoFlag: 1 }, ...others] })
    const read = async (universe: string) => {
      const { listed, traded, advances, declines, sessions } = (await readMarket(folder, universe)).breadth
      const stocks = (await readWholeList(folder, `sectors/${universe}`))?.rows.map((row) => row[2])
      return { breadth: [listed, traded, advances, declines, sessions.length], stocks }
    }
    expect(await read('F&O')).toEqual({ breadth: [1, 1, 1, 0, 0], stocks: ['1'] })
    expect(await read('mine:B,C')).toEqual({ breadth: [2, 2, 0, 1, 0], stocks: ['2'] })
    for (const nobody of ['NIFTY 50', 'mine:', "mine:' OR true --", "' OR true --"])
      expect(await read(nobody)).toEqual({ breadth: [3, 0, 0, 0, 0], stocks: [] })
    expect(await readWholeList(folder, 'stocks/F&O')).toBeUndefined()
  })

  it('leaves averages and highs out where the history is too short, instead of calling them zero', async () => {
    const { breadth } = await readMarket(marketWith(three([5, -3, 0])))
    expect(breadth).not.toHaveProperty('above50Pct')
    expect(breadth).not.toHaveProperty('above200Pct')
  })

  it('stays on the session that most stocks have while a run fetches the next one, and leaves out those that have it', async () => {
    const files = three([5, -3, 0])
    const next = candleFile([
      [BEFORE, 100],
      [TODAY, 105],
      ['2026-02-13', 200],
    ])
    const { breadth } = await readMarket(marketWith({ ...files, 'ohlcv_data/A.csv': next }))
    expect(breadth).toMatchObject({ about: { day: TODAY }, traded: 2, advances: 0 })
  })

  it('says that the newest candles are not up to date, and nothing if they are older than the run for another reason', async () => {
    const stale = [
      {
        stream: 'all-ohlcv',
        output: 'candles',
        newest: TODAY,
        expected: '2026-02-13',
        sessions: 1,
        shownBy: ['deals'],
      },
    ]
    const readAbout = async (more: object) => {
      const stored = report({ 'all-ohlcv': ['success'] }, { asOf: '2026-02-13T14:30:00.000Z', ...more })
      return (await readMarket(marketWith({ ...three([5, -3, 0]), '.scripstream/report.json': stored })))
        .breadth.about
    }
    const problem = 'candles end at 2026-02-12, expected 2026-02-13 (deals of that day exist)'
    expect(await readAbout({ stale })).toMatchObject({ day: TODAY, problem })
    expect((await readAbout({})).problem).toBeUndefined()
  })

  it('has the last closes of each index in order, and averages of the stocks that have enough candles', async () => {
    const rows = (from: number, days: number) =>
      Array.from({ length: days }, (_, place) => [addDays(TODAY, place + 1 - days), from + place] as const)
    const index = (symbol: string) => ({
      Sym: symbol,
      DispSym: symbol,
      Sid: 13,
      Exch: 'IDX',
      Seg: 'I',
      Inst: 'IDX',
    })
    const folder = marketWith({
      ...three([5, -3, 0]),
      'ohlcv_data/A.csv': candleFile(rows(100, 900)),
      'all_indices_list.json': ['FIRST', 'NEXT', 'UNORDERED'].map(index),
      'ohlcv_data/indices/FIRST.csv': candleFile(rows(500, 300)),
      'ohlcv_data/indices/NEXT.csv': candleFile(rows(9_000, 300)),
      'ohlcv_data/indices/UNORDERED.csv': candleFile(rows(20, 400).toReversed()),
    })
    const { breadth, indices } = await readMarket(folder)
    expect(indices.rows.map(({ closes }) => closes.slice(-3))).toEqual([
      [797, 798, 799],
      [9_297, 9_298, 9_299],
      [417, 418, 419],
    ])
    // Only the first stock has enough candles.
    expect(breadth).toMatchObject({ above200Pct: 100, newHighs: 1 })
  })

  it('has the new highs of 52 weeks of a stock that trades rarely', async () => {
    const rare = (high: number) =>
      candleFile([
        ['2025-02-06', 200],
        ['2025-06-02', high],
        ['2026-02-11', 94],
        [TODAY, 95],
      ])
    const folder = marketWith({
      '.scripstream/report.json': report({ 'all-ohlcv': ['success'] }),
      'master_isin_map.json': [stock('A', 'INE000000000'), stock('B', 'INE000000001')],
      'ohlcv_data/A.csv': rare(90),
      'ohlcv_data/B.csv': rare(99),
    })
    expect((await readMarket(folder)).breadth.newHighs).toBe(1)
  })

  it('without candles says why', async () => {
    const folder = marketWith({
      'master_isin_map.json': [stock('A')],
      '.scripstream/report.json': report({ 'all-ohlcv': ['failed', { error: 'ticks is down (503)' }] }),
    })
    const { breadth } = await readMarket(folder)
    expect(breadth).toMatchObject({
      traded: 0,
      about: { problem: 'all-ohlcv failed in the last run: ticks is down' },
    })
    expect(breadth.about).not.toHaveProperty('day')
  })

  it('without a folder is empty, and says so', async () => {
    const folder = openFolder('/nowhere/at/all')
    expect((await readMarket(folder)).breadth).toMatchObject({
      listed: 0,
      about: { problem: 'there is no master list' },
    })
  })
})
