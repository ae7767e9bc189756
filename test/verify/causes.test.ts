import { describe, expect, it } from 'vitest'
import { type Finding, groupByCause, isOfConcern } from '../../src/verify/finding.js'
import { compareWithBaseline } from '../../src/verify/life-of-findings.js'

const move = (symbol: string, day: string): Finding => ({
  check: 'large-moves',
  severity: 'warning',
  symbol,
  day,
  detail: `moved on ${day}`,
})
const oddDay = (day: string, what = 'no stock has a candle of'): Finding => ({
  check: 'odd-days',
  severity: 'warning',
  day,
  detail: `${what} ${day}`,
})
const texts = (findings: readonly Finding[]) =>
  groupByCause(findings).map(({ symbol = '', detail }) => `${symbol} ${detail}`.trim())

describe('findings with one cause are one line', () => {
  it('of a stock, with the newest day and how many others there are', () => {
    expect(texts([move('A', '2019-01-02'), move('B', '2020-01-02'), move('A', '2021-01-04')])).toEqual([
      'A moved on 2021-01-04, and 1 more since 2019-01-02',
      'B moved on 2020-01-02',
    ])
  })

  it('of the market, if the words are the same', () => {
    expect(texts([oddDay('2026-01-26'), oddDay('2026-01-15'), oddDay('2026-01-20', 'many lack')])).toEqual([
      'no stock has a candle of 2026-01-26, and 1 more since 2026-01-15',
      'many lack 2026-01-20',
    ])
  })

  it('but not of several checks, severities or fields', () => {
    const one: Finding = { check: 'impossible-values', severity: 'warning', symbol: 'A', detail: 'Mcap: -1' }
    const others: readonly Finding[] = [
      one,
      { ...one, detail: 'Pe: -1' },
      { ...move('A', '2026-01-20'), severity: 'error' },
      move('A', '2026-01-20'),
      { ...move('A', '2026-01-20'), check: 'volumes' },
    ]
    expect(groupByCause(others)).toEqual(others)
  })
})

it.each<[what: string, finding: Partial<Finding>, isSo: boolean]>([
  ['a watched stock', { symbol: 'A' }, true],
  ['another stock', { symbol: 'B' }, false],
  ['the market', {}, true],
  ['an error', { symbol: 'B', severity: 'error' }, true],
  ['what is only good to know', { symbol: 'A', severity: 'info' }, false],
])('a finding about %s may concern who watches A', (_, finding, isSo) => {
  const whole: Finding = { check: 'volumes', severity: 'warning', detail: '', ...finding }
  expect(isOfConcern(whole, new Set(['A']))).toBe(isSo)
  // Without a list, all stocks are watched.
  expect(isOfConcern(whole, undefined)).toBe(whole.severity !== 'info')
})

describe('a cause that lasts', () => {
  const shifted = (day: string, lasting: string): Finding => ({
    check: 'witness',
    severity: 'warning',
    symbol: 'A',
    day,
    lasting,
    detail: `its ${lasting}s differ since ${day}`,
  })

  it('is known on the next day, when its first day is out of what is compared', () => {
    const known = [{ ...shifted('2026-02-03', 'close'), accepted: '2026-02-12' }]
    const today = [shifted('2026-02-04', 'close'), shifted('2026-02-04', 'volume')]
    expect(compareWithBaseline(today, known)).toEqual({ fresh: [today[1]], accepted: known, stale: [] })
  })

  it('is of concern to who watches the other one of two stocks', () => {
    const { symbol: _, ...about } = shifted('2026-02-04', 'close')
    const pair = { ...about, symbol: 'A', other: 'B' }
    expect(['A', 'B', 'C'].map((one) => isOfConcern(pair, new Set([one])))).toEqual([true, true, false])
  })
})

it('findings about different files of one stock are different causes', () => {
  const about = { check: 'impossible-values', severity: 'warning', symbol: 'A', day: '2026-02-10' } as const
  const [name, deal] = ['master', 'deals'].map((file): Finding => ({ ...about, file, detail: file }))
  expect(texts([name, deal].filter((one) => one !== undefined))).toEqual(['A master', 'A deals'])
})
