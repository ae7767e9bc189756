import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { countWeekdays, findDueSession } from '../../src/market/calendar.js'
import { addDays, type Day, type MarketCalendar, toDay, toInstant } from '../../src/model/trading-day.js'

const without = (...days: readonly Day[]): MarketCalendar => ({ holidays: new Set(days), sessions: {} })
const days = fc.integer({ min: 0, max: 20_000 }).map((number) => addDays('1994-11-03', number))
const instants = fc.integer({ min: toInstant('1994-11-03'), max: toInstant('2060-01-01') })
/** Holidays close to the day of an instant, up to whole weeks of them. */
const cases = fc
  .tuple(instants, fc.uniqueArray(fc.integer({ min: 0, max: 15 }), { maxLength: 12 }))
  .map(([instant, back]) => ({
    instant,
    holidays: new Set(back.map((number) => addDays(toDay(instant), -number))),
  }))
const isWeekend = (day: Day): boolean => [0, 6].includes(new Date(`${day}T00:00:00Z`).getUTCDay())

// 12 February 2026 is a Thursday.
describe('the session due at an instant', () => {
  it.each([
    ['a weekday after the opening', '2026-02-12', '09:15', '2026-02-12'],
    ['a weekday before the opening', '2026-02-12', '09:14', '2026-02-11'],
    ['a Saturday', '2026-02-14', '12:00', '2026-02-13'],
    ['a Sunday', '2026-02-15', '23:59', '2026-02-13'],
    ['a Monday before the opening', '2026-02-16', '09:00', '2026-02-13'],
    ['midnight after a session', '2026-02-13', '00:00', '2026-02-12'],
  ])('of %s', (_, day, time, session) => expect(findDueSession(toInstant(day, time))).toBe(session))

  it('of a holiday is the session before, also over a weekend', () => {
    expect(findDueSession(toInstant('2026-02-12', '20:00'), without('2026-02-12'))).toBe('2026-02-11')
    expect(findDueSession(toInstant('2026-02-16', '20:00'), without('2026-02-16', '2026-02-13'))).toBe(
      '2026-02-12',
    )
  })

  it('is no weekend, no holiday, and has opened', () => {
    fc.assert(
      fc.property(cases, ({ instant, holidays }) => {
        const session = findDueSession(instant, { holidays, sessions: {} })
        expect(isWeekend(session)).toBe(false)
        expect(holidays.has(session)).toBe(false)
        expect(toInstant(session, '09:15')).toBeLessThanOrEqual(instant)
      }),
    )
  })

  it('is the newest of these: every later day is closed or has not opened', () => {
    fc.assert(
      fc.property(cases, ({ instant, holidays }) => {
        for (
          let day = addDays(findDueSession(instant, { holidays, sessions: {} }), 1);
          day <= toDay(instant);
          day = addDays(day, 1)
        )
          expect(isWeekend(day) || holidays.has(day) || toInstant(day, '09:15') > instant).toBe(true)
      }),
    )
  })

  it('never goes back as time passes', () => {
    fc.assert(
      fc.property(instants, fc.integer({ min: 0, max: 864_000_000 }), (instant, later) => {
        expect(findDueSession(instant + later) >= findDueSession(instant)).toBe(true)
      }),
    )
  })

  it('changes at 09:15 in India, and at no other minute', () => {
    fc.assert(
      fc.property(days, (day) => {
        const [before, opened] = ['09:14', '09:15'].map((time) => findDueSession(toInstant(day, time)))
        expect(before === opened).toBe(isWeekend(day))
        expect(findDueSession(toInstant(addDays(day, 1), '09:14'))).toBe(opened)
      }),
    )
  })
})

it('counts the weekdays from a day on, before another one', () => {
  fc.assert(
    fc.property(days, fc.integer({ min: 0, max: 20 }), (from, count) => {
      const weekdays = Array.from({ length: count }, (_, index) => addDays(from, index)).filter(
        (day) => !isWeekend(day),
      )
      expect(countWeekdays(from, addDays(from, count))).toBe(weekdays.length)
    }),
  )
})
