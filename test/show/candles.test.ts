import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { addDays } from '../../src/model/trading-day.js'
import type { ChartWishes } from '../../src/show/candles.js'
import type { MarketFolder } from '../../src/show/folder.js'
import { readCandles } from '../../src/show/stock.js'
import { collected, duckdb, objectsOf } from '../tables/support.js'
import { candleFile, candleLine, marketWith, openFolder, stock } from './support.js'

const DAYS = ['2026-02-02', '2026-02-03', '2026-02-04', '2026-02-05', '2026-02-06'] as const

const oneStock = (candles: string, more: Readonly<Record<string, object>> = {}) =>
  marketWith({ 'master_isin_map.json': [stock('A')], 'ohlcv_data/A.csv': candles, ...more })

describe('the candles of the page', () => {
  it('are in order, each day once, and say what was put in order', async () => {
    const rows = [
      [DAYS[1], 2],
      [DAYS[0], 1],
      [DAYS[2], 3],
      [DAYS[1], 2.5],
    ] as const
    const candles = await readCandles(oneStock(candleFile(rows)), 'A', {})
    expect(candles).toMatchObject({ days: DAYS.slice(0, 3), close: [1, 2.5, 3] })
    expect(candles?.cleaned).toEqual([
      '1 candle repeats a day: the last one in the file is shown',
      'the days were not in order',
    ])
  })

  it('leave out impossible days, and say so', async () => {
    const text = `${candleFile([[DAYS[0], 1]])}${candleLine(DAYS[1], [5, 4, 6, 5])}${candleLine(DAYS[2], [3, 4, 2, 3])}`
    const candles = await readCandles(oneStock(text), 'A', {})
    expect(candles).toMatchObject({ days: [DAYS[0], DAYS[2]], cleaned: ['1 impossible candle is left out'] })
  })

  it('of a damaged file are those before and after the damage', async () => {
    const candles = await readCandles(
      oneStock(`${candleFile([[DAYS[0], 1]])}not a candle\n${candleLine(DAYS[2], [3, 4, 2, 3])}17706`),
      'A',
      {},
    )
    expect(candles).toMatchObject({
      days: [DAYS[0], DAYS[2]],
      cleaned: ['the file is damaged: line 3 is no candle'],
    })
  })

  it('of a file in good order need no remark', async () => {
    const candles = await readCandles(
      oneStock(
        candleFile([
          [DAYS[0], 1],
          [DAYS[1], 2],
        ]),
      ),
      'A',
      {},
    )
    expect(candles?.cleaned).toEqual([])
  })

  it('of a stock without a file are none, with the reason', async () => {
    const candles = await readCandles(marketWith({ 'master_isin_map.json': [stock('A')] }), 'A', {})
    expect(candles).toMatchObject({
      days: [],
      about: { problem: 'not fetched yet: no run has finished in this folder' },
    })
  })

  it.skipIf(!duckdb)('are divided by a split that the provider has not applied, or as stored', async () => {
    const folder = oneStock(
      candleFile([
        [DAYS[0], 100],
        [DAYS[1], 102],
        [DAYS[2], 10.3],
      ]),
      {
        'history_corporate_actions.json': [
          { Sym: 'A', CorpAct: [{ ActType: 'SPLIT', ExDate: DAYS[2], Note: '1:10' }] },
        ],
      },
    )
    expect(await readCandles(folder, 'A', {})).toMatchObject({
      close: [10, 10.2, 10.3],
      volume: [10_000, 10_000, 1000],
      isAdjusted: true,
    })
    expect(await readCandles(folder, 'A', { isStored: true })).toMatchObject({
      close: [100, 102, 10.3],
      volume: [1000, 1000, 1000],
    })
  })
})

describe.skipIf(!duckdb)('the averages of a chart', () => {
  const LAST = '2026-02-12'
  /** Candles of closes 1, 2, 3 …, some days apart. */
  const rising = (count: number, daysApart: number): string =>
    candleFile(
      Array.from({ length: count }, (_, place) => [
        addDays(LAST, (place + 1 - count) * daysApart),
        place + 1,
      ]),
    )
  const lastAverages = async (folder: MarketFolder, wishes: ChartWishes = {}) =>
    (await readCandles(folder, 'A', wishes))?.averages.map(({ values }) => values.at(-1))

  it('are of sessions within 420 days, as the screener has them: not of 200 candles in 600 days', async () => {
    expect(await lastAverages(oneStock(rising(200, 2)))).toEqual([175.5, 100.5])
    expect(await lastAverages(oneStock(rising(200, 3)))).toEqual([175.5, null])
    expect(await lastAverages(oneStock(rising(49, 1)))).toEqual([null, null])
  })

  it('are of sessions beside the candles of weeks, too', async () => {
    const folder = oneStock(rising(210, 1))
    expect(await lastAverages(folder, { isWeekly: true })).toEqual(await lastAverages(folder))
  })

  it('are in the rupees of the prices that are shown', async () => {
    const split = {
      'history_corporate_actions.json': [
        { Sym: 'A', CorpAct: [{ ActType: 'SPLIT', ExDate: LAST, Note: '1:10' }] },
      ],
    }
    const rows = Array.from({ length: 60 }, (_, place) => [addDays(LAST, place - 59), 100] as const)
    const folder = oneStock(candleFile([...rows.slice(0, -1), [LAST, 10]]), split)
    const read = async (isStored: boolean) =>
      (await readCandles(folder, 'A', { isStored }))?.averages[0]?.values.slice(-2)
    expect(await read(false)).toEqual([10, 10])
    expect(await read(true)).toEqual([100, 10])
  })
})

describe('the candles of weeks', () => {
  it('are one for each week from Monday on, of its last session and at its Friday', async () => {
    const text = [...DAYS, '2026-02-09', '2026-02-10']
      .map((day, place) => candleLine(day, [10 + place, 20 + place, 5 - place / 10, 11 + place]))
      .join('')
    const weeks = await readCandles(oneStock(`${candleFile([['2026-01-30', 9]])}${text}`), 'A', {
      isWeekly: true,
    })
    expect(weeks).toMatchObject({
      days: ['2026-01-30', '2026-02-06', '2026-02-10'],
      weeks: ['2026-01-30', '2026-02-06', '2026-02-13'],
      open: [9, 10, 15],
      high: [9.18, 24, 26],
      low: [8.82, 4.6, 4.4],
      close: [9, 15, 17],
    })
  })

  it('are at the same places for a stock whose weeks end on other sessions, one of them on a Sunday', async () => {
    const days = ['2026-01-29', '2026-02-01', '2026-02-05', '2026-02-09']
    const weeks = await readCandles(oneStock(candleFile(days.map((day) => [day, 1]))), 'A', {
      isWeekly: true,
    })
    expect(weeks).toMatchObject({
      days: days.slice(1),
      weeks: ['2026-01-30', '2026-02-06', '2026-02-13'],
    })
  })
})

describe.skipIf(!duckdb)('adjusted candles of the page', () => {
  let market: Awaited<ReturnType<typeof collected>>
  beforeAll(async () => {
    market = await collected(16, 700)
  })
  afterAll(() => market.remove())

  it('are those of the view candles_adjusted', async () => {
    const folder = openFolder(market.out)
    const rows = await objectsOf(
      'select symbol, day, open, high, low, close, volume from candles_adjusted order by symbol, day',
      market.out,
    )
    const symbols = [...new Set(rows.map(({ symbol }) => String(symbol)))]
    expect(symbols.length).toBeGreaterThan(10)
    for (const symbol of symbols) {
      const candles = await readCandles(folder, symbol, {})
      const own = rows.filter((row) => row.symbol === symbol)
      expect(candles?.days, symbol).toEqual(own.map(({ day }) => day))
      for (const name of ['open', 'high', 'low', 'close', 'volume'] as const)
        for (const [place, value] of (candles?.[name] ?? []).entries())
          expect(Math.abs(value - Number(own[place]?.[name])), `${symbol} ${name} ${place}`).toBeLessThan(
            1e-5,
          )
    }
  })

  it('have the averages of the screener at their end', async () => {
    const folder = openFolder(market.out)
    for (const { symbol, sma_50_inr, sma_200_inr } of await objectsOf(
      'select symbol, sma_50_inr, sma_200_inr from screener',
      market.out,
    )) {
      const { averages = [] } = (await readCandles(folder, String(symbol), {})) ?? {}
      for (const [place, expected] of [sma_50_inr, sma_200_inr].entries())
        expect(averages[place]?.values.at(-1) ?? null, `${symbol} ${place}`).toEqual(
          expected === null ? null : expect.closeTo(Number(expected), 2),
        )
    }
  })
})
