import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { computeLimit, lowerLimit, unlimited } from '../../src/limiter/rate.js'

const found = lowerLimit(lowerLimit(unlimited, 1, 0), 100, 0)

describe('an adaptive limit', () => {
  it('is infinite before the first refusal', () =>
    expect(computeLimit(unlimited, 1e9)).toBe(Number.POSITIVE_INFINITY))

  it('doubles each second after the first refusal until the host’s limit is known', () => {
    const searching = lowerLimit(unlimited, 66, 5_000)
    expect([5_000, 6_000, 7_000].map((now) => computeLimit(searching, now))).toEqual([66, 132, 264])
  })

  it('that is known starts below it, stays close to it for 10 s, and is far above after 30 s', () => {
    const at = (seconds: number): number => Math.round(computeLimit(found, seconds * 1_000))
    expect([0, 5, 10, 15, 20, 30].map(at)).toEqual([76, 93, 95, 97, 114, 247])
  })

  it('never falls with time, and never starts above the estimate', () => {
    const moment = fc.integer({ min: 0, max: 600_000 })
    const property = fc.property(
      fc.double({ min: 0.2, max: 1e5, noNaN: true }),
      moment,
      moment,
      (estimate, one, other) => {
        for (const before of [unlimited, found]) {
          const limit = lowerLimit(before, estimate, 0)
          expect(computeLimit(limit, 0)).toBeLessThanOrEqual(estimate)
          expect(computeLimit(limit, Math.max(one, other))).toBeGreaterThanOrEqual(
            computeLimit(limit, Math.min(one, other)),
          )
        }
      },
    )
    fc.assert(property)
  })
})
