import { describe, expect, it } from 'vitest'
import { isRow, type Row } from '../../src/model/row.js'
import { toInstant } from '../../src/model/trading-day.js'
import { createTimeline } from '../../src/simulator/market.js'
import { streams } from '../../streams/registry.js'

const asOf = toInstant('2026-02-12', '09:20')
const marketAt = createTimeline({ seed: 1, stocks: 300, asOf, exchange: 'NSE' })
const market = marketAt(asOf)

/** The simulated answer of an endpoint. */
const answer = (name: string, input: unknown, of = market): unknown => {
  const endpoint = streams.flatMap(({ endpoints }) => endpoints).find((one) => one.name === name)
  return (endpoint?.sample as ((given: unknown, from: typeof market) => unknown) | undefined)?.(input, of)
}
const rowsOf = (document: unknown): readonly Row[] => {
  const data = isRow(document) ? document.data : undefined
  return (Array.isArray(data) ? data : [data]).filter(isRow)
}

describe('simulated answers', () => {
  it('have no stock at both circuit limits, and some at each', () => {
    const [upper, lower] = ['LiveData.UpperCircuitBreak', 'LiveData.LowerCircuitBreak'].map(
      (field) => new Set(rowsOf(answer('circuit', { data: { params: [{ field }] } })).map(({ Sym }) => Sym)),
    )
    expect(upper?.size).toBeGreaterThan(2)
    expect(lower?.size).toBeGreaterThan(2)
    expect([...(upper ?? [])].filter((symbol) => lower?.has(symbol))).toEqual([])
  })

  it('have profits below the revenue, and shareholdings of 100 %', () => {
    for (const { ISIN: isin } of market.stocks) {
      for (const record of rowsOf(answer('fundamental', { data: { isin } }))) {
        const { incomeStat_cq: income, sHp: holding } = record as Record<string, Record<string, string>>
        const list = (table: Record<string, string> | undefined, key: string): readonly number[] =>
          table?.[key]?.split('|').map(Number) ?? []
        for (const [index, profit] of list(income, 'NET_PROFIT').entries())
          expect(profit).toBeLessThan(list(income, 'REVENUE')[index] ?? 0)
        const shares = ['FII', 'DII', 'PROMOTER', 'PUBLIC'].map((key) => list(holding, key)[0] ?? 0)
        expect(shares.reduce((sum, share) => sum + share, 0)).toBe(100)
      }
    }
  })

  it('have the change of a stock at a limit that its price band has', () => {
    const bands = new Map(
      String(answer('sec_list', { date: '12022026' }, marketAt(toInstant('2026-02-12', '20:00'))))
        .split('\n')
        .map((line) => [line.split(',')[0], line.split(',')[3]] as const),
    )
    for (const [field, sign] of [
      ['LiveData.UpperCircuitBreak', 1] as const,
      ['LiveData.LowerCircuitBreak', -1] as const,
    ])
      for (const { Sym, PPerchange, Ltp } of rowsOf(answer('circuit', { data: { params: [{ field }] } }))) {
        // The last whole paisa within the band.
        const [percent, band] = [Number(PPerchange) * sign, Number(bands.get(String(Sym)))]
        const paisa = (0.01 / Number(Ltp)) * (100 + Number(PPerchange))
        expect(percent).toBeLessThan(band + 1e-9)
        expect(percent).toBeGreaterThan(band - paisa)
      }
  })

  it('have earnings that fit the price, the P/E, the market cap and the sector of the stock', () => {
    const master = new Map(rowsOf(answer('master', undefined)).map((row) => [row.Isin, row]))
    const records = market.stocks.flatMap((stock) =>
      rowsOf(answer('fundamental', { data: { isin: stock.ISIN } })).map(
        (record) => [stock, record as Record<string, Record<string, string>>] as const,
      ),
    )
    for (const [stock, { incomeStat_cq, TTM_cy, CV }] of records) {
      const [pe, eps] = [Number(CV?.PE), Number(TTM_cy?.EPS)]
      const { Pe, Mcap } = master.get(stock.ISIN) ?? {}
      const close = market.candles(stock.Sid, 0, asOf / 1_000).c.at(-1) ?? 0
      const addUp = (key: string): number =>
        (incomeStat_cq?.[key] ?? '')
          .split('|')
          .slice(0, 4)
          .reduce((sum, figure) => sum + Number(figure), 0)
      expect([pe, null]).toContain(Pe)
      expect(pe).toBeCloseTo(close / eps, 1)
      expect(addUp('EPS')).toBeCloseTo(eps, 2)
      // In shares: what the company is worth at its price, and what it earns at its earnings a share.
      const shares = Number(Mcap) / close
      const profit = addUp('NET_PROFIT')
      expect(Math.abs(profit / shares - eps)).toBeLessThan(0.03 + (eps * 0.03) / profit)
      expect(CV?.SECTOR).toBe(stock.sector)
    }
    expect(new Set(market.stocks.map(({ sector }) => sector)).size).toBeGreaterThan(15)
  })

  it('have no times in the future', () => {
    const now = '2026-02-12 09:20:00'
    for (const { ISIN: isin } of market.stocks) {
      const times = [
        ...rowsOf(answer('company_filings', { data: { isin } })).map(({ news_date }) => news_date),
        ...rowsOf(answer('announcements', { data: { isin } })).map(({ date }) => date),
      ]
      for (const time of times) expect(String(time) <= now).toBe(true)
    }
  })
})
