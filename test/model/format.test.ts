import { describe, expect, it } from 'vitest'
import {
  formatAgo,
  formatBytes,
  formatCountdown,
  formatCrore,
  formatDay,
  formatDaysIn,
  formatDuration,
  formatInstant,
  formatNumber,
  formatPart,
  formatPrice,
  formatQuantity,
  formatTime,
  groupDigits,
} from '../../src/model/format.js'

describe('numbers for people', () => {
  it.each([
    [0, 0, '0'],
    [999, 0, '999'],
    [2775, 0, '2,775'],
    [100000, 0, '100,000'],
    [1234567, 0, '1,234,567'],
    [123456789, 0, '123,456,789'],
    [-1234.5, 2, '-1,234.50'],
    [-0.001, 2, '0.00'],
    [-100, 0, '-100'],
    [1412.3, 2, '1,412.30'],
  ])('%d with %d decimals is %s', (value, decimals, text) => expect(formatNumber(value, decimals)).toBe(text))

  it.each([
    [7.876, '₹ 7.88 crore'],
    [9.996, '₹ 10 crore'],
    [-1170.6, '₹ -1,171 crore'],
  ])('%d crore rupees are %s', (value, text) => expect(formatCrore(value)).toBe(text))

  it.each([
    [1440.55, '1,440.55'],
    ['-12345.000', '-12,345.000'],
    [1e21, '1e+21'],
    [0.12345, '0.12345'],
  ])('groups the digits of %s without rounding: %s', (value, text) => expect(groupDigits(value)).toBe(text))

  it('counts one thing in the singular, and others in the plural', () => {
    expect([
      formatQuantity(1, 'file'),
      formatQuantity(0, 'file'),
      formatQuantity(2775, 'index', 'indices'),
    ]).toEqual(['1 file', '0 files', '2,775 indices'])
    expect([formatPart(1, 1, 'stock'), formatPart(1, 2775, 'stock')]).toEqual([
      '1 of 1 stock',
      '1 of 2,775 stocks',
    ])
  })

  it('shows a missing number as missing, never as zero', () => {
    for (const missing of [null, undefined, Number.NaN, Number.POSITIVE_INFINITY])
      expect([formatNumber(missing), formatPrice(missing), formatCrore(missing)]).toEqual(['–', '–', '–'])
    expect(formatPrice(1412.3)).toBe('₹ 1,412.30')
  })
})

describe('times of the page', () => {
  const at = Date.parse('2026-02-12T20:00:41+05:30')

  it('are those of India', () => {
    expect([formatDay('2026-02-12'), formatTime(at), formatInstant(at)]).toEqual([
      '12 Feb 2026',
      '20:00:41 IST',
      '12 Feb 2026, 20:00 IST',
    ])
    expect([formatDay('soon'), formatDay(undefined)]).toEqual(['soon', '–'])
  })

  it.each([
    [0, '0.0 s'],
    [1_000, '1.0 s'],
    [1_100, '1.1 s'],
    [18_900, '18.9 s'],
    [59_940, '59.9 s'],
    [59_960, '1 min 00 s'],
    [72_300, '1 min 12 s'],
    [185_000, '3 min 05 s'],
    [3_720_000, '1 h 02 min'],
  ])('a duration of %d ms is %s', (ms, text) => expect(formatDuration(ms)).toBe(text))

  it.each([
    [-5_000, '1 s'],
    [1_000, '1 s'],
    [1_100, '2 s'],
    [61_000, '1 min 01 s'],
  ])('%d ms to come are %s', (ms, text) => expect(formatCountdown(ms)).toBe(text))

  it('are found in sentences, but not in names of files', () => {
    expect(formatDaysIn('no candle of 2026-02-12 yet; until 2026-02-13.')).toBe(
      'no candle of 12 Feb 2026 yet; until 13 Feb 2026.',
    )
    const path = '.scripstream/history/2026-02-12.day is damaged, from 2026-02-12T14:30'
    expect(formatDaysIn(path)).toBe(path)
  })

  it.each([
    [59_000, 'just now'],
    [180_000, '3 min ago'],
    [19 * 3_600_000, '19 h ago'],
    [30 * 3_600_000, '1 day ago'],
    [72 * 3_600_000, '3 days ago'],
  ])('%d ms ago is %s', (ms, text) => expect(formatAgo(at - ms, at)).toBe(text))
})

it.each([
  [0, '0 B'],
  [999, '999 B'],
  [1_200, '1.2 kB'],
  [31_000_000, '31 MB'],
  [850_000_000, '850 MB'],
])('%d bytes are %s', (bytes, text) => expect(formatBytes(bytes)).toBe(text))
