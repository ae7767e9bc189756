import { describe, expect, it } from 'vitest'
import { findNewestWeekday } from '../../src/market/calendar.js'
import { describeLag } from '../../src/market/candle-checks.js'
import { SESSION_END, toInstant } from '../../src/model/trading-day.js'

// 12 February 2026 is a Thursday.
it.each([
  { day: '2026-02-12', time: '15:29', last: '2026-02-11' },
  { day: '2026-02-12', time: '15:30', last: '2026-02-12' },
  { day: '2026-02-13', time: '20:00', last: '2026-02-13' },
  { day: '2026-02-14', time: '20:00', last: '2026-02-13' },
  { day: '2026-02-15', time: '20:00', last: '2026-02-13' },
  { day: '2026-02-16', time: '08:00', last: '2026-02-13' },
  { day: '2026-02-16', time: '23:59', last: '2026-02-16' },
])('the last weekday whose session is over on $day at $time is $last', ({ day, time, last }) => {
  expect(findNewestWeekday(toInstant(day, time), SESSION_END)).toBe(last)
})

describe('the text about series that end', () => {
  const afterClose = toInstant('2026-02-12', '20:00')
  const lagOf = (newest: Readonly<Record<string, number>>, now = afterClose) => describeLag(new Map(Object.entries(newest)), now)

  it('a day early names the day', () => {
    expect(lagOf({ '2026-02-11': 2_771, '2025-12-31': 2 })).toBe(
      'all 2,773 series end before 2026-02-12, the last weekday: the newest candle is of 2026-02-11 (a holiday, or the provider is late)',
    )
  })

  it('a day early appears if less than half of them are current', () => {
    expect(lagOf({ '2026-02-11': 6, '2026-02-12': 4 })).toContain('6 of 10 series end before 2026-02-12')
    expect(lagOf({ '2026-02-11': 1 })).toContain('the only series ends before 2026-02-12')
    expect(lagOf({ '2026-02-11': 5, '2026-02-12': 5 })).toBeUndefined()
  })

  it('with the last session is absent, also for a weekend, and without series', () => {
    expect(lagOf({ '2026-02-12': 90, '2026-02-11': 10 })).toBeUndefined()
    expect(lagOf({ '2026-02-11': 10 }, toInstant('2026-02-12', '12:00'))).toBeUndefined()
    expect(lagOf({ '2026-02-13': 10 }, toInstant('2026-02-15', '12:00'))).toBeUndefined()
    expect(lagOf({ '2026-02-14': 10 }, toInstant('2026-02-15', '12:00'))).toBeUndefined()
    expect(lagOf({})).toBeUndefined()
  })
})
