import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { toDayNumber } from '../../src/market/candle-file.js'
import { compareSeries, isErrorFactor, isMultiple, isOtherInstrument } from '../../src/market/candle-rules.js'
import type { Candle } from '../../src/model/candle.js'

const DAY = 86_400
const FIRST = Date.parse('2025-01-01T00:00:00+05:30') / 1_000

const paise = (price: number): number => Math.round(price * 100) / 100
const seriesOf = (closes: readonly number[], stamp = 0): readonly Candle[] =>
  closes.map((close, place): Candle => [FIRST + place * DAY + stamp, close, close, close, close, 1])
const stored = (closes: readonly number[]): ReadonlyMap<number, number> =>
  new Map(seriesOf(closes).map(([time, , , , close]) => [toDayNumber(time), close]))

/** Closes that move by up to 3 % a day, always by enough to be compared. */
const walk = fc
  .tuple(
    fc.integer({ min: 50, max: 5_000 }),
    fc.array(fc.tuple(fc.boolean(), fc.integer({ min: 5, max: 30 })), { minLength: 60, maxLength: 120 }),
  )
  .map(([start, moves]) => {
    let price = start
    return moves.map(([isUp, permille]) => {
      price = isUp ? price * (1 + permille / 1_000) : price / (1 + permille / 1_000)
      return paise(price)
    })
  })

describe('an answered history', () => {
  it('is the stored series, whatever the factor, up to any day', () => {
    const factor = fc.constantFrom(100, 10, 2, 1, 0.9, 2 / 3, 0.5, 0.2, 0.1)
    const property = fc.property(walk, factor, fc.nat(120), (closes, k, until) => {
      const answered = closes.map((close, place) => (place < until ? paise(close * k) : close))
      expect(isOtherInstrument(compareSeries(stored(closes), seriesOf(answered)))).toBe(false)
    })
    fc.assert(property, { seed: 1 })
  })

  it('is the stored series if a third of its days were corrected', () => {
    const property = fc.property(walk, (closes) => {
      const answered = closes.map((close, place) => (place % 6 === 0 ? paise(close * 1.01) : close))
      expect(isOtherInstrument(compareSeries(stored(closes), seriesOf(answered)))).toBe(false)
    })
    fc.assert(property, { seed: 2 })
  })

  it('is another series if its moves differ', () => {
    const property = fc.property(walk, walk, (closes, others) => {
      const likeness = compareSeries(stored(closes), seriesOf(others))
      fc.pre(likeness.same < likeness.moves / 5)
      expect(isOtherInstrument(likeness)).toBe(true)
    })
    fc.assert(property, { seed: 3 })
    fc.assert(
      fc.property(walk, (closes) =>
        isOtherInstrument(compareSeries(stored(closes), seriesOf([...closes].reverse()))),
      ),
      { seed: 4, numRuns: 20 },
    )
  })

  it('is compared day by day, whatever the time of its timestamps', () => {
    const closes = Array.from({ length: 30 }, (_, place) => 100 + (place % 7) * 3)
    expect(compareSeries(stored(closes), seriesOf(closes, 9 * 3_600))).toMatchObject({
      factor: 1,
      moves: 29,
      same: 29,
    })
  })

  it('decides nothing if few days are in both, or nothing moves', () => {
    const ten = Array.from({ length: 10 }, (_, place) => 100 + place * 5)
    expect(isOtherInstrument(compareSeries(stored(ten), seriesOf([...ten].reverse())))).toBe(false)
    const flat = Array.from({ length: 50 }, () => 100)
    expect(isOtherInstrument(compareSeries(stored(flat), seriesOf(flat.map((_, place) => 50 + place))))).toBe(
      false,
    )
    expect(compareSeries(new Map(), seriesOf(ten))).toEqual({ factor: 1, moves: 0, same: 0 })
    expect(compareSeries(stored(ten), [])).toEqual({ factor: 1, moves: 0, same: 0 })
  })

  it('has the factor of most of its days', () => {
    const closes = Array.from({ length: 30 }, (_, place) => 100 + place)
    const answered = closes.map((close, place) => (place < 20 ? close / 2 : close))
    expect(compareSeries(stored(closes), seriesOf(answered)).factor).toBe(0.5)
    expect(compareSeries(stored(closes), seriesOf(closes.map(() => 0))).factor).toBe(0)
  })
})

describe('a factor', () => {
  it.each([
    { factor: 1, says: [false, false] },
    { factor: 1.005, says: [false, false] },
    { factor: 0.5, says: [true, false] },
    { factor: 1.02, says: [true, false] },
    { factor: 10, says: [true, false] },
    { factor: 0.02, says: [true, false] },
    { factor: 100, says: [true, true] },
    { factor: 0.01, says: [true, true] },
    { factor: 0, says: [true, true] },
  ])('of $factor is a multiple, and an error: $says', ({ factor, says }) => {
    expect([isMultiple(factor), isErrorFactor(factor)]).toEqual(says)
  })
})
