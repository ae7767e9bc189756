import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { CandleColumns, SampleMarket } from '../../src/model/market.js'
import { addDays, toDay, toInstant } from '../../src/model/trading-day.js'
import { createMarket, createTimeline } from '../../src/simulator/market.js'

const options = { seed: 7, stocks: 60, asOf: toInstant('2026-02-12', '20:00'), exchange: 'NSE' }
const marketAt = createTimeline(options)
const market = marketAt(options.asOf)
const seconds = (day: string, time?: string) => toInstant(day, time) / 1_000
const all = ({ asOf, candles }: SampleMarket, sid: string) => candles(sid, 215_634_600, asOf / 1_000)
const rows = ({ Time, o, h, l, c, v }: CandleColumns) =>
  Time.map((at, i) => [at, o[i], h[i], l[i], c[i], v[i]].map(Number))
const sidAt = (rank: number, of = market) => of.stocks[rank % of.stocks.length]?.Sid ?? ''
const anySid = fc.nat(market.stocks.length - 1).map((rank) => sidAt(rank))

describe('trading days', () => {
  it('are weekdays except for rare special sessions, about 250 a year', () => {
    const days = market.tradingDays('2016-01-01', '2025-12-31')
    const weekend = days.filter((day) => [0, 6].includes(new Date(day).getUTCDay()))
    expect(days.length / 10).toBeGreaterThan(242)
    expect(days.length / 10).toBeLessThan(256)
    expect(weekend).toEqual(expect.arrayContaining(['2020-02-01', '2025-02-01']))
    expect(weekend.length).toBeLessThan(14)
    expect(days).toEqual([...new Set(days)].toSorted())
  })

  it('exclude the national holidays', () => {
    const days = new Set(market.tradingDays('1995-01-01', '2026-02-12'))
    expect(
      ['2026-01-26', '2025-08-15', '2025-10-02', '2025-12-25', '2025-05-01'].filter((day) => days.has(day)),
    ).toEqual([])
  })

  it('include both ends of the range and nothing after now', () => {
    expect(market.tradingDays('2026-02-10', '2026-02-11')).toEqual(['2026-02-10', '2026-02-11'])
    expect(market.tradingDays('2026-02-12', '2027-01-01')).toEqual(['2026-02-12'])
    expect(market.tradingDays('2026-02-13', '2027-01-01')).toEqual([])
    expect(marketAt(toInstant('2026-02-12', '09:14')).tradingDays('2026-02-12', '2026-02-12')).toEqual([])
    expect(marketAt(toInstant('2026-02-12', '09:15')).tradingDays('2026-02-12', '2026-02-12')).toEqual([
      '2026-02-12',
    ])
  })
})

describe('candles', () => {
  it('have low <= open and close <= high, positive, in whole paise and whole shares', () => {
    for (const { Sid } of [...market.stocks, ...market.indices]) {
      const wrong = rows(all(market, String(Sid))).filter(
        ([, o = 0, h = 0, l = 0, c = 0, v = -1]) =>
          !(l > 0 && l <= Math.min(o, c) && h >= Math.max(o, c) && Number.isInteger(v) && v >= 0) ||
          [o, h, l, c].some((price) => Number(price.toFixed(2)) !== price),
      )
      expect(wrong).toEqual([])
    }
  })

  it('are stamped with midnight in India on each trading day since the listing', () => {
    for (const { Sid, listedOn } of market.stocks) {
      const { Time } = all(market, Sid)
      expect(Time.map((at) => toDay(at * 1_000))).toEqual(market.tradingDays(listedOn, '2026-02-12'))
      expect(Time.every((at) => at === seconds(toDay(at * 1_000)))).toBe(true)
    }
  })

  it('are the same for a day in any requested range', () => {
    const day = fc.integer({ min: -12_000, max: 60 }).map((days) => addDays('2026-02-12', days))
    fc.assert(
      fc.property(anySid, day, day, (sid, a, b) => {
        const [start = 0, end = 0] = [a, b].toSorted().map((day) => seconds(day))
        const wanted = rows(all(market, sid)).filter(([at = 0]) => at >= start && at <= end)
        expect(rows(market.candles(sid, start, end))).toEqual(wanted)
      }),
    )
  })

  it('do not change when a day is added, even if the later day was requested first', () => {
    const later = toInstant('2026-03-20', '18:00')
    const alone = createMarket({ ...options, asOf: later })
    for (const rank of [0, 1, 2, 59]) {
      const before = rows(all(market, sidAt(rank)))
      const after = rows(all(marketAt(later), sidAt(rank)))
      expect(after.slice(0, before.length)).toEqual(before)
      expect(after.length).toBeGreaterThan(before.length)
      expect(rows(all(alone, sidAt(rank, alone)))).toEqual(after)
      expect(rows(all(marketAt(options.asOf), sidAt(rank)))).toEqual(before)
    }
  })

  it('end with the last day that has opened', () => {
    const last = (day: string, time: string) =>
      toDay((all(marketAt(toInstant(day, time)), sidAt(1)).Time.at(-1) ?? 0) * 1_000)
    expect(last('2026-02-12', '09:14')).toBe('2026-02-11')
    expect(last('2026-02-12', '09:15')).toBe('2026-02-12')
    expect(last('2026-02-14', '12:00')).toBe('2026-02-13')
  })

  it('of the current day change until 15:30, earlier ones do not', () => {
    const at = (time: string) => rows(all(marketAt(toInstant('2026-02-12', time)), sidAt(3)))
    const times = ['09:15', '10:00', '11:30', '13:00', '14:00', '15:29'].map(at)
    const final = at('15:30')
    expect(at('23:00')).toEqual(final)
    for (const rowsThen of times) {
      const [, o = 0, h = 0, l = 0, c = 0, v = 0] = rowsThen.at(-1) ?? []
      expect(rowsThen.slice(0, -1)).toEqual(final.slice(0, -1))
      expect(rowsThen.at(-1)).not.toEqual(final.at(-1))
      expect(l > 0 && l <= Math.min(o, c) && h >= Math.max(o, c) && v <= (final.at(-1)?.[5] ?? 0)).toBe(true)
    }
    const volumes = times.map((rowsThen) => rowsThen.at(-1)?.[5] ?? 0)
    expect(volumes).toEqual(volumes.toSorted((a, b) => a - b))
  })

  it('go back at most candleDays (2,500 by default), except for the first stock', () => {
    const lengths = (of: SampleMarket) => of.stocks.map(({ Sid }) => all(of, Sid).Time.length)
    const [longest = 0, ...others] = lengths(market)
    expect(longest).toBeGreaterThan(7_000)
    expect(Math.max(...others)).toBeLessThan(2_540)
    expect(others.filter((length) => length < 1_500).length).toBeGreaterThan(10)
    const short = createMarket({ ...options, candleDays: 30 })
    expect(Math.max(...lengths(short).slice(1))).toBeLessThan(70)
  })

  it('are all divided by the factor of a split from the opening of its day', () => {
    const split = market.stocks.filter((stock) => stock.split !== undefined)
    expect(split[0]).toBe(market.stocks[4])
    for (const { Sid, split: { on, factor } = { on: '', factor: 0 } } of split) {
      const until = addDays(on, -1)
      const upTo = (at: SampleMarket) => rows(at.candles(Sid, 215_634_600, seconds(until)))
      const before = upTo(marketAt(toInstant(on, '09:14')))
      const after = upTo(marketAt(toInstant(on, '09:15')))
      expect(before.length).toBeGreaterThan(0)
      const divided = before.map(([at, ...cells]) =>
        [
          at,
          ...cells.map((cell, place) =>
            place === 4 ? cell * factor : Math.round(Math.round(cell * 100) / factor) / 100,
          ),
        ].map(Number),
      )
      expect(after).toEqual(divided)
      expect(upTo(marketAt(toInstant(addDays(on, 700))))).toEqual(after)
      const [next] = rows(
        marketAt(toInstant(addDays(on, 10))).candles(Sid, seconds(on), seconds(addDays(on, 10))),
      )
      expect(next?.[1]).toBeLessThan(((before.at(-1)?.[4] ?? 0) / factor) * 1.05)
    }
  })

  it('have splits on fixed days, for one stock in fifty', () => {
    const many = (asOf: number) =>
      createMarket({ ...options, stocks: 2_000, asOf }).stocks.map(({ split }) => split)
    expect(many(toInstant('2027-05-01'))).toEqual(many(options.asOf))
    const splits = many(options.asOf).filter((split) => split !== undefined)
    expect(splits.length).toBeGreaterThan(20)
    expect(splits.length).toBeLessThan(80)
    expect(splits.every(({ on, factor }) => on >= '2026-02-13' && on < '2027-11-01' && factor > 1)).toBe(true)
  })

  it('are empty for an unknown Sid, an empty range, and a time before the exchange existed', () => {
    const none = { Time: [], o: [], h: [], l: [], c: [], v: [] }
    expect(market.candles('stale', 0, 2e9)).toEqual(none)
    expect(market.candles(sidAt(0), seconds('2026-02-13'), seconds('2026-02-20'))).toEqual(none)
    expect(market.candles(sidAt(0), seconds('2026-02-12'), seconds('2026-02-01'))).toEqual(none)
    const early = createMarket({ ...options, asOf: toInstant('1990-01-01') })
    expect(all(early, sidAt(0, early))).toEqual(none)
  })

  it('pass near the last traded price', () => {
    for (const { Sid, Ltp, listedOn } of market.stocks.filter((stock) => stock.listedOn < '2025-12-01')) {
      const { c } = market.candles(Sid, seconds('2025-12-31'), seconds('2025-12-31'))
      expect(listedOn < '2025-12-31' && Math.abs((c[0] ?? 0) - Ltp)).toBeLessThan(Ltp * 0.01)
    }
  })
})
