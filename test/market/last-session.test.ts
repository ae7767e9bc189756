import { expect, it } from 'vitest'
import { findNewestSession } from '../../src/market/calendar.js'
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
  expect(findNewestSession(toInstant(day, time), SESSION_END)).toBe(last)
})
