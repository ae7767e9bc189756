import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  addDays,
  addMonths,
  formatCompactDmy,
  formatDashedDmy,
  hasNotTraded,
  readDay,
  toDay,
  toInstant,
} from '../../src/model/trading-day.js'

const india = new Intl.DateTimeFormat('en-CA', {
  timeZone: 'Asia/Kolkata',
  year: 'numeric',
  month: '2-digit',
  day: '2-digit',
})
const wall = new Intl.DateTimeFormat('en-GB', {
  timeZone: 'Asia/Kolkata',
  hour: '2-digit',
  minute: '2-digit',
  hourCycle: 'h23',
})

const DAY_MS = 86_400_000
const instants = fc.integer({ min: Date.parse('1946-01-01'), max: Date.parse('2100-01-01') })
const days = instants.map((instant) => toDay(instant))

describe('a day in India', () => {
  it('is the date in India at any instant', () => {
    fc.assert(
      fc.property(instants, (instant) => toDay(instant) === india.format(instant)),
      { numRuns: 5_000 },
    )
  })

  it.each([
    ['2026-02-12T18:29:59.999Z', '2026-02-12'],
    ['2026-02-12T18:30:00Z', '2026-02-13'],
    ['2026-02-12T00:00:00Z', '2026-02-12'],
  ])('at %s is %s', (instant, day) => expect(toDay(Date.parse(instant))).toBe(day))

  it('starts at midnight in India, and has any time of day', () => {
    const clock = fc.tuple(fc.integer({ min: 0, max: 23 }), fc.integer({ min: 0, max: 59 }))
    fc.assert(
      fc.property(days, clock, (day, [hours, minutes]) => {
        const time = `${String(hours).padStart(2, '0')}:${String(minutes).padStart(2, '0')}`
        expect(wall.format(toInstant(day, time))).toBe(time)
        expect(toDay(toInstant(day, time))).toBe(day)
        expect(toInstant(day)).toBe(toInstant(day, '00:00'))
      }),
    )
  })
})

describe('adding days', () => {
  it('crosses months, years and leap days in both directions', () => {
    expect(addDays('2026-02-28', 1)).toBe('2026-03-01')
    expect(addDays('2024-02-28', 1)).toBe('2024-02-29')
    expect(addDays('2026-01-01', -1)).toBe('2025-12-31')
    fc.assert(
      fc.property(days, fc.integer({ min: -3_000, max: 3_000 }), (day, count) => {
        expect(addDays(day, count)).toBe(india.format(toInstant(day, '12:00') + count * DAY_MS))
        expect(addDays(addDays(day, count), -count)).toBe(day)
      }),
    )
  })
})

describe('adding months', () => {
  it.each([
    ['2026-01-31', 1, '2026-02-28'],
    ['2024-01-31', 1, '2024-02-29'],
    ['2025-12-31', 2, '2026-02-28'],
    ['2026-02-28', 2, '2026-04-28'],
    ['2024-02-29', -24, '2022-02-28'],
    ['2026-03-31', -1, '2026-02-28'],
    ['2026-02-12', 2, '2026-04-12'],
    ['2026-02-12', -24, '2024-02-12'],
    ['2026-11-30', 2, '2027-01-30'],
  ])('to %s, %i of them, is %s', (day, months, expected) => expect(addMonths(day, months)).toBe(expected))

  it('keeps the day, or uses the last day of the month', () => {
    fc.assert(
      fc.property(days, fc.integer({ min: -60, max: 60 }), (day, months) => {
        const sum = addMonths(day, months)
        const monthsOf = (text: string): number => Number(text.slice(0, 4)) * 12 + Number(text.slice(5, 7))
        expect(monthsOf(sum)).toBe(monthsOf(day) + months)
        if (sum.slice(8) !== day.slice(8)) expect(addDays(sum, 1).slice(8)).toBe('01')
        expect(sum.slice(8) <= day.slice(8)).toBe(true)
      }),
    )
  })
})

describe('reading a day', () => {
  it.each([
    ['2026-02-12', '2026-02-12'],
    ['2026-02-12 19:28:12', '2026-02-12'],
    ['2026-02-12T00:00:00', '2026-02-12'],
    ['2024-02-29', '2024-02-29'],
  ])('accepts %j', (text, day) => expect(readDay(text)).toBe(day))

  it.each([
    '2024-02-30',
    '2026-02-29',
    '2026-13-01',
    '2026-00-10',
    '2026-04-31',
    '2026-04-00',
    '2026-2-1',
    '2026-02-123',
    '12-02-2026',
    ' 2026-02-12',
    '',
    'NA',
    'soon',
    null,
    undefined,
    20_260_212,
    {},
    ['2026-02-12'],
  ])('rejects %j', (text) => expect(readDay(text)).toBeUndefined())

  it('accepts every real day', () => fc.assert(fc.property(days, (day) => readDay(day) === day)))
})

describe('a day in a request', () => {
  it('is DD-MM-YYYY for deals and DDMMYYYY for archive files', () => {
    expect(formatDashedDmy('2026-02-03')).toBe('03-02-2026')
    expect(formatCompactDmy('2026-02-03')).toBe('03022026')
  })
})

it.each([
  ['2025-07-04', '2026-02-12', true],
  ['2026-02-04', '2026-02-12', true],
  ['2026-02-05', '2026-02-12', false],
  ['2026-02-05', undefined, false],
])('the price of %s on %s: no trade since, %s', (priceDay, day, expected) =>
  expect(hasNotTraded(priceDay, day)).toBe(expected),
)
