import { describe, expect, it } from 'vitest'
import { type DatedOutput, findStale } from '../../src/market/calendar.js'
import { describeStale } from '../../src/model/script-figures.js'
import { type Day, toInstant } from '../../src/model/trading-day.js'

const OUTPUTS = {
  candles: { publishedAt: '18:00', isEvidence: true, isEverySession: true },
  deals: { publishedAt: '20:00', isEvidence: true, isEverySession: false },
  bands: { publishedAt: '20:00', isEvidence: false, isEverySession: false },
} as const

interface Given {
  readonly newest: Partial<Record<keyof typeof OUTPUTS, Day>>
  /** `2026-02-12 20:00` by default, a Thursday. */
  readonly at?: string
  readonly holidays?: readonly Day[]
  readonly sessions?: readonly Day[]
}

const find = ({ newest, at = '2026-02-12 20:00', holidays = [], sessions = [] }: Given) => {
  const [day = '', time] = at.split(' ')
  const outputs = Object.entries(newest).map(
    ([output, end]): DatedOutput => ({
      ...OUTPUTS[output as keyof typeof OUTPUTS],
      stream: `the-${output}`,
      output,
      newest: end,
    }),
  )
  return findStale(outputs, {
    instant: toInstant(day, time),
    calendar: { holidays: new Set(holidays), sessions: {} },
    sessions,
  })
}
const say = (given: Given) => describeStale({ stale: find(given) })

describe('what is not up to date', () => {
  it('ends before a session that another output shows', () => {
    expect(say({ newest: { candles: '2026-02-11', deals: '2026-02-12' } })).toEqual([
      'candles end at 2026-02-11, expected 2026-02-12 (deals of that day exist)',
    ])
    expect(say({ newest: { candles: '2026-02-11' }, sessions: ['2026-02-12'] })).toEqual([
      'candles end at 2026-02-11, expected 2026-02-12 (candles or deals of that day exist)',
    ])
  })

  it.each<[string, Given]>([
    [
      'everything has the session',
      { newest: { candles: '2026-02-12', deals: '2026-02-12', bands: '2026-02-12' } },
    ],
    ['nothing shows one: it may be a holiday', { newest: { candles: '2026-02-11', deals: '2026-02-11' } }],
    [
      'only an archive has the day, which can answer a holiday',
      { newest: { candles: '2026-02-11', bands: '2026-02-12' } },
    ],
    [
      'its data is not published yet',
      { newest: { candles: '2026-02-12', deals: '2026-02-11' }, at: '2026-02-12 19:59' },
    ],
    ['in the morning', { newest: { candles: '2026-02-11', deals: '2026-02-12' }, at: '2026-02-12 12:00' }],
    ['on a weekend', { newest: { candles: '2026-02-13', deals: '2026-02-13' }, at: '2026-02-15 20:00' }],
    [
      'after holidays that are named',
      { newest: { candles: '2026-02-09' }, holidays: ['2026-02-10', '2026-02-11', '2026-02-12'] },
    ],
    [
      'special sessions on a weekend have no deals',
      { newest: { candles: '2026-02-08', deals: '2026-02-06' }, at: '2026-02-08 21:00' },
    ],
    ['no candles are collected, and deals are rare', { newest: { deals: '2026-02-02' } }],
    ['a day is in the future', { newest: { candles: '2026-02-12', deals: '2027-02-12' } }],
    ['nothing is known', { newest: {} }],
  ])('is nothing if %s', (_, given) => expect(find(given)).toEqual([]))

  it('counts sessions, not weekdays, as far as stored files know them', () => {
    const sessions = ['2026-02-09', '2026-02-12']
    const newest = { candles: '2026-02-09', deals: '2026-02-12' } as const
    expect(find({ newest, sessions })).toMatchObject([{ sessions: 1 }])
    expect(find({ newest })).toMatchObject([{ sessions: 3 }])
    expect(find({ newest, holidays: ['2026-02-10'] })).toMatchObject([{ sessions: 2 }])
  })

  it('is everything once two weekdays show nothing', () => {
    const newest = { candles: '2026-02-10', deals: '2026-02-10' } as const
    expect(say({ newest })).toEqual([
      'nothing of 2026-02-12 from any source, the newest session is 2026-02-10: holidays, or the provider stands still',
    ])
    expect(say({ newest, at: '2026-02-12 17:59' })).toEqual([])
    expect(say({ newest, holidays: ['2026-02-11'] })).toEqual([])
  })
})
