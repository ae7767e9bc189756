import { describe, expect, it } from 'vitest'
import type { StockEvent } from '../../../src/show/answers.js'
import { groupBySession, toMarkers } from '../../../src/web/page/parts/chart-marks.js'

const DAYS = ['2026-02-10', '2026-02-11', '2026-02-12']
const event = (day: string, mark: StockEvent['mark']): StockEvent => ({
  day,
  kind: 'news',
  mark,
  title: mark,
})
const sessions = groupBySession(DAYS, [
  event('2026-02-10', 'D'),
  event('2026-02-12', 'F'),
  event('2026-02-12', 'N'),
])

describe('the marks of the chart', () => {
  const textsOf = (options: Partial<Parameters<typeof toMarkers>[1]>) =>
    toMarkers(sessions, { visible: 3, width: 300, accent: 'blue', soft: 'grey', ...options }).map(
      ({ time, text }) => [time, text],
    )

  it('are the letters of the events of a session', () => {
    expect(textsOf({})).toEqual([
      ['2026-02-10', 'D'],
      ['2026-02-12', 'FN'],
    ])
  })

  it('leave out the kinds that the reader has hidden', () => {
    expect(textsOf({ hidden: 'N' })).toEqual([
      ['2026-02-10', 'D'],
      ['2026-02-12', 'F'],
    ])
    expect(textsOf({ hidden: 'NFD' })).toEqual([])
  })

  it('are dots where letters would cover each other, and only rare ones in a long range', () => {
    expect(textsOf({ visible: 250 })).toEqual([
      ['2026-02-10', 'D'],
      ['2026-02-12', '•'],
    ])
    expect(textsOf({ visible: 1_000 })).toEqual([['2026-02-10', 'D']])
  })
})
