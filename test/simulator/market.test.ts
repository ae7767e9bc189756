import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { computeCheckDigit } from '../../src/model/stock.js'
import { toInstant } from '../../src/model/trading-day.js'
import { createMarket } from '../../src/simulator/index.js'

const asOf = toInstant('2026-02-12', '20:00')
const marketOf = (stocks: number, seed = 1) => createMarket({ seed, stocks, asOf, exchange: 'NSE' })

describe('the simulated market', () => {
  it('knows the check digits of real ISINs', () => {
    const real = ['INE002A01018', 'INE467B01029', 'INE009A01021', 'INE101A01026', 'US0378331005']
    expect(real.map((isin) => computeCheckDigit(isin.slice(0, -1)))).toEqual(
      real.map((isin) => Number(isin.at(-1))),
    )
  })

  it('lists up to 50,000 stocks with unique symbols, ISINs and Sids', () => {
    const { stocks } = marketOf(50_000)
    expect(stocks).toHaveLength(50_000)
    for (const field of ['Symbol', 'ISIN', 'Sid', 'Name'] as const)
      expect(new Set(stocks.map((stock) => stock[field])).size).toBe(50_000)
    expect(new Set(stocks.map((stock) => stock.Symbol.toLowerCase())).size).toBe(50_000)
    expect(
      stocks.filter(
        ({ ISIN }) =>
          !/^INE\d{3}[A-Z]01\d\d\d$/.test(ISIN) ||
          computeCheckDigit(ISIN.slice(0, -1)) !== Number(ISIN.at(-1)),
      ),
    ).toEqual([])
    expect(stocks.filter((stock) => !/^[A-Z0-9&-]{1,14}$/.test(stock.Symbol))).toEqual([])
  })

  it('has the symbols that people type', () => {
    const symbols = marketOf(50).stocks.map(({ Symbol: symbol }) => symbol)
    expect(symbols).toEqual(expect.arrayContaining(['TCS', 'INFY', 'RELIANCE', 'HDFCBANK', 'M&M']))
  })

  it('rejects more stocks than it has names for', () => {
    expect(() => marketOf(50_001)).toThrow(RangeError)
    expect(marketOf(0).stocks).toEqual([])
  })

  it('has derivatives on about the two hundred largest stocks', () => {
    const largest = marketOf(2_775).largest(0, 2_775)
    const withDerivatives = largest.filter(({ FnoFlag }) => FnoFlag === 1)
    expect(withDerivatives.length).toBeGreaterThan(150)
    expect(withDerivatives.length).toBeLessThan(350)
    expect(largest.slice(0, withDerivatives.length)).toEqual(withDerivatives)
  })

  it('has the awkward symbols among the first few', () => {
    const symbols = marketOf(10).stocks.map((stock) => stock.Symbol)
    expect(symbols).toEqual(
      expect.arrayContaining(['M&M', 'M&MFIN', 'BAJAJ-AUTO', '360ONE', '20MICRONS', 'J&KBANK']),
    )
  })

  it('starts a longer list like a shorter one', () => {
    expect(marketOf(500).stocks.slice(0, 50)).toEqual(marketOf(50).stocks)
  })

  it('is the same for the same seed, and different for another', () => {
    expect(marketOf(40)).toEqual(
      expect.objectContaining({ stocks: marketOf(40).stocks, sheet: marketOf(3).sheet }),
    )
    expect(marketOf(40, 2).stocks).not.toEqual(marketOf(40).stocks)
    expect(marketOf(1, 2).sheet).not.toEqual(marketOf(1).sheet)
  })

  it('has 194 indices; two share a symbol, and some have names that break naive code', () => {
    const { indices } = marketOf(1)
    expect(indices).toHaveLength(194)
    expect(new Set(indices.map(({ Sid }) => Sid)).size).toBe(194)
    const repeated = indices.filter(({ Sym }, i) => indices.findIndex((other) => other.Sym === Sym) !== i)
    expect(repeated.map(({ Sym }) => Sym)).toEqual(['CAPINS'])
    for (const sign of [' ', '/', ':', '%', '('])
      expect(indices.some(({ DispSym }) => DispSym.includes(sign))).toBe(true)
    expect(indices.some(({ Sym }) => /[a-z]/.test(Sym) && Sym.includes(' '))).toBe(true)
  })

  it('finds stocks by ISIN and Sid, and indices by Sid', () => {
    const market = marketOf(2_775)
    for (const stock of market.stocks) {
      expect(market.stockByIsin(stock.ISIN)).toBe(stock)
      expect(market.stockBySid(stock.Sid)).toBe(stock)
      expect(market.indexBySid(stock.Sid)).toBeUndefined()
    }
    for (const index of market.indices) expect(market.indexBySid(String(index.Sid))).toBe(index)
  })

  it('gives the same random numbers for a key in any order of calls', () => {
    const market = marketOf(1)
    const first = market.random('news', 'INE1').next()
    market.random('deals').next()
    expect(market.random('news', 'INE1').next()).toBe(first)
    expect(market.random('news', 'INE2').next()).not.toBe(first)
  })

  it('keeps random numbers within their range', () => {
    fc.assert(
      fc.property(
        fc.integer(),
        fc.integer({ min: -1_000, max: 1_000 }),
        fc.nat(1_000),
        fc.nat(4),
        (key, least, width, digits) => {
          const random = marketOf(0).random(key)
          const whole = random.int(least, least + width)
          expect(Number.isInteger(whole) && whole >= least && whole <= least + width).toBe(true)
          const decimal = random.decimal(least, least + width + 1, digits)
          expect(decimal >= least && decimal < least + width + 1).toBe(true)
          expect(Number(decimal.toFixed(digits))).toBe(decimal)
        },
      ),
      { numRuns: 20 },
    )
  })
})
