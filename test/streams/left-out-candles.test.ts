import { describe, expect, it } from 'vitest'
import { toInstant } from '../../src/model/trading-day.js'
import { ALPHA, type Collecting, collect, withFile } from './support.js'

const FILE = 'ohlcv_data/ALPHA.csv'
const HEADER = 'Timestamp,Open,High,Low,Close,Volume\n'
const DAYS = ['2026-02-09', '2026-02-10', '2026-02-11', '2026-02-12'] as const
const TIMES = DAYS.map((day) => toInstant(day) / 1_000)
const NAMES = ['o', 'h', 'l', 'c', 'v'] as const
type Cells = readonly (number | null)[]

const USUAL: Cells = [10, 11.25, 9.5, 10.5, 1_000]
const fileOf = (...places: readonly number[]): string =>
  HEADER + places.map((place) => `${TIMES[place]},${USUAL.join(',')}\n`).join('')

/** Usual candles of four days, but for the given ones, from `first` on. */
const answerOf = (given: Readonly<Record<number, Cells>>, first = 0) => ({
  success: true,
  data: Object.fromEntries([
    ['Time', TIMES.slice(first)],
    ...NAMES.map((name, column) => [
      name,
      TIMES.map((_, place) => (given[place] ?? USUAL)[column] ?? null).slice(first),
    ]),
  ]),
})

const candles = (answer: unknown, more: Partial<Collecting> = {}) =>
  collect({ stream: 'all-ohlcv', answer: () => answer, master: [ALPHA], ...more })

const NO_PRICES: Cells = [null, null, null, null, null]

describe('a day without prices', () => {
  it.each([
    { what: 'nulls', cells: NO_PRICES },
    { what: 'nulls with a volume', cells: [null, null, null, null, 500] },
    { what: 'zeros', cells: [0, 0, 0, 0, 0] },
    { what: 'zeros and nulls', cells: [0, null, 0, 0, null] },
  ])('of $what is left out and counted, and the other days are stored', async ({ cells }) => {
    const { text, script, report } = await candles(answerOf({ 1: cells }))
    expect(text(FILE)).toBe(fileOf(0, 2, 3))
    expect(report.outcome).toBe('complete')
    expect(script?.problems).toEqual([{ reason: '1 candle without prices left out: ALPHA 2026-02-10' }])
  })

  it('names the first of many days', async () => {
    const zeros = [0, 0, 0, 0, 0]
    const { text, script } = await candles(answerOf({ 0: zeros, 1: zeros, 2: NO_PRICES, 3: zeros }))
    expect(text(FILE)).toBeUndefined()
    expect(script?.problems).toEqual([
      { reason: '4 candles without prices left out: ALPHA 2026-02-09, 2026-02-10, 2026-02-11 and 1 more' },
    ])
  })

  it('that is the newest one leaves the stored end, and is requested again', async () => {
    const files = withFile(FILE, fileOf(0, 1, 2))
    const { text, script, requests } = await candles(answerOf({ 3: NO_PRICES }, 2), { files })
    expect(text(FILE)).toBe(fileOf(0, 1, 2))
    expect(requests).toHaveLength(1)
    expect(script?.problems).toEqual([{ reason: '1 candle without prices left out: ALPHA 2026-02-12' }])
  })

  it('that had prices keeps the stored ones, and later days are added', async () => {
    const files = withFile(FILE, fileOf(0, 1, 2))
    const { text, script, requests } = await candles(answerOf({ 2: [0, 0, 0, 0, 0] }, 2), { files })
    expect(text(FILE)).toBe(fileOf(0, 1, 2, 3))
    expect(requests).toHaveLength(1)
    expect(script).not.toHaveProperty('rewritten')
  })
})

describe('a candle that does not fit its columns', () => {
  it.each([
    { cells: [null, 11.25, 9.5, 10.5, 1_000], fault: 'open is null' },
    { cells: [10, 11.25, 9.5, null, 1_000], fault: 'close is null' },
    { cells: [10, 11.25, 9.5, 10.5, null], fault: 'volume is null' },
    { cells: [10, 11.25, 9.5, 10.5, 0.5], fault: 'volume is 0.5' },
    { cells: [10, 1e300, 9.5, 10.5, 1_000], fault: 'high is 1e+300' },
  ])('is refused alone: $fault', async ({ cells, fault }) => {
    const { text, script } = await candles(answerOf({ 1: cells }))
    expect(text(FILE)).toBe(fileOf(0, 2, 3))
    expect(script?.problems).toEqual([{ reason: `1 candle refused: ALPHA 2026-02-10 (${fault})` }])
  })

  it('refuses the answer if many of its candles do not fit', async () => {
    const wrong: Cells = [10, 11.25, 9.5, null, 1_000]
    const { text, script } = await candles(answerOf({ 0: wrong, 1: wrong, 2: wrong }))
    expect(text(FILE)).toBeUndefined()
    expect(JSON.stringify(script?.problems)).toContain(
      'the candle of 2026-02-09 does not fit its columns: close is null',
    )
  })
})
