import { describe, expect, it } from 'vitest'
import { findCandleFault, findImpossibleMove } from '../../src/market/candle-rules.js'
import type { Candle } from '../../src/model/candle.js'
import { groupDigits } from '../../src/model/format.js'

const DAY = 86_400
const candle = (
  change: Partial<Record<'time' | 'open' | 'high' | 'low' | 'close' | 'volume', number>> = {},
): Candle => {
  const { time = 0, open = 100, high = 110, low = 95, close = 105, volume = 1_000 } = change
  return [time, open, high, low, close, volume]
}
const flat = (price: number, time = DAY): Candle => [time, price, price, price, price, 0]

describe('a candle', () => {
  it.each([
    { one: candle() },
    { one: candle({ volume: 0 }) },
    { one: candle({ open: 95, close: 110 }) },
    { one: candle({ open: 110, close: 95 }) },
    { one: flat(0.05) },
  ])('is possible: $one', ({ one }) => expect(findCandleFault(one)).toBeUndefined())

  it.each([
    { change: { low: 0 }, fault: 'not above zero' },
    { change: { open: 0, high: 0, low: 0, close: 0, volume: 0 }, fault: 'not above zero' },
    { change: { open: -100, high: -95, low: -110, close: -105 }, fault: 'not above zero' },
    { change: { low: 100.05 }, fault: 'outside of low and high' },
    { change: { high: 104.95 }, fault: 'outside of low and high' },
    { change: { high: 95, low: 110 }, fault: 'outside of low and high' },
    { change: { close: 10_500 }, fault: 'outside of low and high' },
    { change: { volume: -1 }, fault: 'volume -1' },
    { change: { close: Number.NaN }, fault: 'not a number' },
    { change: { high: Number.POSITIVE_INFINITY }, fault: 'not a number' },
  ])('is impossible with $change', ({ change, fault }) =>
    expect(findCandleFault(candle(change))).toContain(fault),
  )
})

describe('the price move to a new candle', () => {
  const before = flat(100, 0)

  it.each([499, 300, 100, 50, 20, 12.05])('is possible from 100 to %d', (price) => {
    expect(findImpossibleMove(before, flat(price))).toBeUndefined()
  })

  it.each([10_000, 1_000, 500, 12, 10, 1])('is impossible from 100 to %d', (price) => {
    expect(findImpossibleMove(before, flat(price))).toBe(`from a close of 100 to ${groupDigits(price)}`)
  })

  it('is checked for each of the prices', () => {
    expect(findImpossibleMove(before, candle({ time: DAY, high: 10_000 }))).toContain('to 10,000')
    expect(findImpossibleMove(before, candle({ time: DAY, low: 1 }))).toContain('to 1')
  })

  it('may be anything after a long gap, within a rupee, or after a close of zero', () => {
    expect(findImpossibleMove(before, flat(10_000, 30 * DAY))).toBeUndefined()
    expect(findImpossibleMove(before, flat(10_000, 29 * DAY))).toBeDefined()
    expect(findImpossibleMove(flat(0.1, 0), flat(1.05))).toBeUndefined()
    expect(findImpossibleMove(flat(0, 0), flat(100))).toBeUndefined()
  })
})
