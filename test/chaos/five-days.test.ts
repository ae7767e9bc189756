import { expect, it } from 'vitest'
import { simulate } from '../../src/testing.js'

/** More of them: `npm run simulate -- --seeds 200 --days 5`. */
const SEEDS = 12

it(`five days in a row keep every invariant, with ${SEEDS} seeds`, async () => {
  const { checks, faults, kills } = await simulate({ seed: 1, seeds: SEEDS, days: 5 })
  expect(checks['a complete folder is left as it is']).toBe(5 * SEEDS)
  expect(kills).toBeGreaterThan(0)
  expect(faults.hours).toBeGreaterThan(0)
})
