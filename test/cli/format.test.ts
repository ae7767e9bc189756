import { describe, expect, test } from 'vitest'
import {
  formatBytes,
  formatCount,
  formatCountdown,
  formatDuration,
  formatQuantity,
  formatRate,
} from '../../src/cli/terminal/text.js'

describe('numbers for people', () => {
  test.each([
    [0, '0'],
    [999, '999'],
    [2775, '2,775'],
    [1_234_567, '1,234,567'],
  ])('the number %s reads %s', (value, text) => expect(formatCount(value)).toBe(text))

  test.each([
    [0, '0 files'],
    [1, '1 file'],
    [2775, '2,775 files'],
  ])('%s things are counted as %s', (value, text) => expect(formatQuantity(value, 'file')).toBe(text))

  test.each([
    [-5, '0.0s'],
    [0, '0.0s'],
    [3_149, '3.1s'],
    [9_949, '9.9s'],
    [9_950, '10s'],
    [59_499, '59s'],
    [59_500, '1m00s'],
    [185_000, '3m05s'],
    [3_600_000, '1h00m'],
    [5_400_000, '1h30m'],
    [360_000_000, '100h00m'],
  ])('%s ms last %s', (ms, text) => expect(formatDuration(ms)).toBe(text))

  test.each([
    [0, '0s'],
    [1, '1s'],
    [1_001, '2s'],
    [59_001, '1m00s'],
  ])('%s ms to go are %s', (ms, text) => expect(formatCountdown(ms)).toBe(text))

  test.each([
    [0, 1_000, ''],
    [5, 0, ''],
    [1, 10_000, '0.1/s'],
    [99, 10_000, '9.9/s'],
    [995, 100_000, '10/s'],
    [2_775, 1_000, '2,775/s'],
  ])('%s items in %s ms go at "%s"', (done, ms, text) => expect(formatRate(done, ms)).toBe(text))

  test.each([
    [0, '0 B'],
    [999, '999 B'],
    [1_000, '1.0 kB'],
    [9_949, '9.9 kB'],
    [9_950, '10 kB'],
    [999_499, '999 kB'],
    [999_500, '1.0 MB'],
    [31_000_000, '31 MB'],
    [1_300_000_000, '1.3 GB'],
    [5e15, '5,000 TB'],
  ])('%s bytes read %s', (size, text) => expect(formatBytes(size)).toBe(text))
})
