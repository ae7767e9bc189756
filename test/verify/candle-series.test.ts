import fc from 'fast-check'
import { expect, it } from 'vitest'
import { dayToNumber, numberToDay } from '../../src/market/candle-file.js'
import { parseCandles } from '../../src/verify/candle-series.js'
import { orderDays } from '../../src/verify/series-checks.js'

const HEADER = 'Timestamp,Open,High,Low,Close,Volume\n'
const MIDNIGHT = Date.parse('2020-01-01T00:00:00+05:30') / 1_000

const candlesOf = (days: readonly number[]) => {
  const text = days.map((day) => `${MIDNIGHT + day * 86_400},10,11,9,10.5,100\n`).join('')
  return parseCandles(Buffer.from(HEADER + text)).candles
}

it('distinguishes duplicate days from days out of order, and sorts them', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 30 }), { maxLength: 40 }), (days) => {
      const { findings, candles } = orderDays(candlesOf(days))
      const isNew = (day: number, place: number): boolean => !days.slice(0, place).includes(day)
      const isLate = (day: number, place: number): boolean =>
        days.slice(0, place).some((earlier) => earlier > day)
      expect(findings.map(({ check }) => check)).toEqual([
        ...(days.every(isNew) ? [] : ['duplicate-candles']),
        ...(days.some((day, place) => isNew(day, place) && isLate(day, place)) ? ['unordered-candles'] : []),
      ])
      const first = dayToNumber('2020-01-01')
      expect([...(candles?.day ?? []).slice(0, candles?.length)]).toEqual(
        [...new Set(days)].sort((a, b) => a - b).map((day) => first + day),
      )
    }),
    { seed: 7 },
  )
})

it('reads every number as JavaScript would', () => {
  const number = fc.oneof(
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.integer(),
    fc.double({ min: 0, max: 100_000, noNaN: true }),
  )
  fc.assert(
    fc.property(fc.tuple(number, number, number, number, number), (cells) => {
      const { candles, fault } = parseCandles(Buffer.from(`${HEADER}${MIDNIGHT},${cells.join(',')}\n`))
      expect(fault).toBeUndefined()
      expect([candles.open[0], candles.high[0], candles.low[0], candles.close[0], candles.volume[0]]).toEqual(
        cells.map((cell) => Number(String(cell))),
      )
    }),
    { seed: 7 },
  )
})

it('reads no truncated or malformed line as a candle', () => {
  const line = `${MIDNIGHT},10,11,9,10.5,100\n`
  for (let length = 1; length < line.length; length += 1)
    expect(parseCandles(Buffer.from(HEADER + line.slice(0, length))).candles.length).toBe(0)
  for (const wrong of [
    '',
    '1,2,3',
    '1,2,3,4,5,6,7',
    'a,2,3,4,5,6',
    '1,,3,4,5,6',
    '-1,2,3,4,5,6',
    '1.5,2,3,4,5,6',
    '99999999999,2,3,4,5,6',
  ])
    expect(parseCandles(Buffer.from(`${HEADER}${wrong}\n${line}`))).toMatchObject({
      candles: { length: 1 },
      fault: 'line 2 is no candle',
    })
})

it('assigns a midnight in India to its day', () => {
  expect(numberToDay(candlesOf([0]).day[0] ?? 0)).toBe('2020-01-01')
  expect(numberToDay(dayToNumber('2026-02-12'))).toBe('2026-02-12')
})
