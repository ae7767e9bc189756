import { describe, expect, it } from 'vitest'
import { findPlace, type KnownSessions } from '../../src/market/calendar.js'

/** Thursday 2026-02-12 is the newest session; its evening is recorded. */
const DAYS = ['2026-02-09', '2026-02-10', '2026-02-11', '2026-02-12']
const without = (...days: readonly string[]) => ({ holidays: new Set(days), sessions: {} })
const toIndia = (time: string): number => Date.parse(`${time.replace(' ', 'T')}:00+05:30`)

/**
 * The timing of what was begun on the evening of Friday, or at that time if it is before, and ended at a
 * time.
 */
const timingOf = (time: string, calendar = without()) => {
  const started = Math.min(toIndia(time), toIndia('2026-02-13 20:00'))
  return findPlace(started, { ...SESSIONS, days: ['2026-02-13'], newest: undefined, calendar }, toIndia(time))
    .timing
}

const SESSIONS: KnownSessions = {
  calendar: without(),
  days: DAYS,
  areFresh: true,
  isUnchangedSince: () => false,
  recorded: DAYS,
  newest: { day: '2026-02-12', knownAt: toIndia('2026-02-12 20:00') },
}

const place = (time: string, facts: Partial<KnownSessions> = {}) =>
  findPlace(toIndia(time), { ...SESSIONS, ...facts })

describe('the session of a run', () => {
  it.each([
    ['in the evening', '2026-02-12 20:00', '2026-02-12', 'final'],
    ['during the session', '2026-02-12 11:00', '2026-02-12', 'session'],
    ['at its first minute', '2026-02-12 09:15', '2026-02-12', 'session'],
    ['at its end', '2026-02-12 15:30', '2026-02-12', 'final'],
    ['before the market opens on the next day', '2026-02-13 09:00', '2026-02-12', 'final'],
  ])('%s is that of the day', (_, time, day, timing) =>
    expect(place(time)).toMatchObject({ day, timing, isConfirmed: true }),
  )

  it.each(['2026-02-14 12:00', '2026-02-15 23:59', '2026-02-16 09:00'])(
    'on a weekend (%s) is that of Friday',
    (time) => {
      expect(place(time)).toMatchObject({ day: '2026-02-13', timing: 'final', seenOn: time.slice(0, 10) })
    },
  )

  it('on a holiday of the file is the one before', () => {
    const calendar = without('2026-02-13')
    expect(place('2026-02-13 20:00', { calendar })).toMatchObject({
      day: '2026-02-12',
      timing: 'final',
      seenOn: '2026-02-13',
    })
    expect(place('2026-02-16 09:00', { calendar })).toMatchObject({ day: '2026-02-12', timing: 'final' })
    expect(place('2026-02-16 09:15', { calendar })).toMatchObject({ day: '2026-02-16' })
  })

  it('on a holiday that nobody named is the one before, if no daily list has changed since', () => {
    const asked: string[] = []
    const isUnchangedSince = (day: string): boolean => asked.push(day) > 0
    expect(place('2026-02-13 20:00', { isUnchangedSince })).toMatchObject({
      day: '2026-02-12',
      timing: 'late',
      isConfirmed: true,
    })
    expect(asked).toEqual(['2026-02-12'])
    expect(place('2026-02-13 20:00')).toMatchObject({
      day: '2026-02-13',
      timing: 'final',
      isConfirmed: false,
    })
    // A candle of the day shows a session, whatever the lists say.
    expect(place('2026-02-13 20:00', { isUnchangedSince, days: [...DAYS, '2026-02-13'] })).toMatchObject({
      day: '2026-02-13',
    })
  })

  it('is late, and not earlier than the newest record, if the clock is behind it', () => {
    for (const time of ['2026-02-10 20:00', '2026-02-04 20:00'])
      expect(place(time)).toMatchObject({
        day: time.slice(0, 10),
        timing: 'late',
        knownAt: SESSIONS.newest?.knownAt,
        seenOn: '2026-02-12',
      })
  })

  it('is that of --as-of, and late, if that is an earlier one', () => {
    const now = toIndia('2026-02-12 21:00')
    expect(findPlace(toIndia('2026-02-04 20:00'), SESSIONS, now)).toMatchObject({
      day: '2026-02-04',
      timing: 'late',
      knownAt: now,
    })
    const { newest: _, ...first } = SESSIONS
    expect(findPlace(toIndia('2026-02-04 20:00'), first, now)).toMatchObject({
      day: '2026-02-04',
      timing: 'late',
    })
  })

  it('is the newest of the data if the clock is years ahead', () => {
    expect(place('2036-02-12 20:00')).toMatchObject({
      day: '2026-02-12',
      timing: 'late',
      seenOn: '2026-02-12',
      isConfirmed: true,
    })
    // More than five weekdays after the last session the clock is wrong; until then the data may lag.
    expect(place('2026-02-19 20:00')).toMatchObject({ day: '2026-02-19', isConfirmed: false })
    expect(place('2026-02-20 20:00')).toMatchObject({ day: '2026-02-12' })
  })

  it('is that of the clock, with a doubt, if old candles and all recorded days are far behind it', () => {
    const doubt = expect.stringMatching(
      /candles, deals and recorded days is 2026-02-12\. .*delete 2036-02-12 from the history/,
    )
    const partial = { areFresh: false }
    expect(place('2036-02-12 20:00', partial)).toMatchObject({
      day: '2036-02-12',
      timing: 'final',
      isConfirmed: false,
      doubt,
    })
    expect(place('2026-02-20 20:00', partial)).toMatchObject({ day: '2026-02-20', doubt: expect.any(String) })
    expect(place('2026-02-19 20:00', partial)).not.toHaveProperty('doubt')
    // A person who runs one stream each day is asked once.
    expect(place('2026-04-14 20:00', { ...partial, recorded: [...DAYS, '2026-04-13'] })).not.toHaveProperty(
      'doubt',
    )
    expect(place('2026-04-14 20:00', { ...partial, days: [], recorded: [] })).not.toHaveProperty('doubt')
  })

  it('is that of the clock if no file shows a session', () => {
    expect(place('2036-02-12 20:00', { days: [] })).toMatchObject({ day: '2036-02-12', isConfirmed: false })
  })
})

describe('the timing of what is known', () => {
  it.each([
    ['2026-02-13 15:29', 'session'],
    ['2026-02-13 15:30', 'final'],
    ['2026-02-16 09:14', 'final'],
    ['2026-02-16 09:15', 'late'],
  ])('of Friday at %s is %s', (time, timing) => expect(timingOf(time)).toBe(timing))

  it('stays final over a holiday', () => {
    expect(timingOf('2026-02-17 09:14', without('2026-02-16'))).toBe('final')
  })

  it('of a run that was begun before the end of the session is session', () => {
    const place = findPlace(
      toIndia('2026-02-12 15:20'),
      { ...SESSIONS, newest: undefined },
      toIndia('2026-02-12 15:40'),
    )
    expect(place).toMatchObject({ day: '2026-02-12', timing: 'session' })
  })

  it('is of a weekend with candles, and that of Friday ends there', () => {
    const days = ['2026-01-30', '2026-02-01']
    const sunday = findPlace(toIndia('2026-02-01 20:00'), { ...SESSIONS, days, newest: undefined })
    expect(sunday).toMatchObject({ day: '2026-02-01', timing: 'final', isConfirmed: true })
    expect(
      findPlace(
        toIndia('2026-01-30 20:00'),
        { ...SESSIONS, days, newest: undefined },
        toIndia('2026-02-01 10:00'),
      ).timing,
    ).toBe('late')
  })

  it('is late if the data knows a later session than the clock', () => {
    const place = findPlace(toIndia('2026-02-10 20:00'), { ...SESSIONS, newest: undefined })
    expect(place).toMatchObject({
      day: '2026-02-10',
      timing: 'late',
      doubt: expect.stringContaining('the clock is behind'),
    })
  })
})
