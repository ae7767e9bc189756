import { describe, expect, it } from 'vitest'
import { parseRetryAfter } from '../../src/http/retry-after.js'

const NOW = Date.parse('2026-02-12T14:30:00Z')

describe('Retry-After', () => {
  it.each([
    ['0', 0],
    ['2', 2_000],
    [' 120 ', 120_000],
    ['99999999', 99_999_999_000],
  ])('of %j is %i ms', (header, ms) => expect(parseRetryAfter(header, NOW)).toBe(ms))

  it.each([
    ['Thu, 12 Feb 2026 14:30:05 GMT', 5_000],
    ['Thu, 12 Feb 2026 14:30:00 GMT', 0],
    ['Thu, 12 Feb 2026 14:29:00 GMT', 0],
    ['Thu, 01 Jan 1970 00:00:00 GMT', 0],
  ])('of the date %j is %i ms from now', (header, ms) => expect(parseRetryAfter(header, NOW)).toBe(ms))

  it.each([undefined, '', ' ', '-5', '1.5', '1e3', '0x10', 'abc', 'soon', 'Feb', '2 seconds', 'NaN', 'Infinity', 'Thu, 99 Foo 2026'])(
    'of %j is ignored',
    (header) => expect(parseRetryAfter(header, NOW)).toBeUndefined(),
  )
})
