import { expect, it } from 'vitest'
import { invariants } from '../../src/simulation/invariants.js'
import { NETWORK_FAULTS } from '../../src/simulation/network.js'
import { type SimulationOptions, simulate } from '../../src/simulation/simulate.js'

/** How many seeds; set it with `SEEDS=1000 npm run test:chaos`. */
const SEEDS = Number(process.env.SEEDS ?? 100)

const simulateAll = async (options: SimulationOptions) => {
  const { checks, faults, kills } = await simulate(options)
  for (const [name] of invariants) expect(checks[name], name).toBeGreaterThanOrEqual((options.seeds ?? 1) * (options.days ?? 1))
  return { faults, kills }
}

it(`every invariant holds in simulated evenings with everything that can go wrong (${SEEDS} seeds)`, async () => {
  const { faults, kills } = await simulateAll({ seed: 1, seeds: SEEDS })
  expect(NETWORK_FAULTS.filter((fault) => faults[fault] === undefined)).toEqual([])
  expect(kills).toBeGreaterThan(SEEDS / 5)
})

it('every invariant holds over three evenings in a row, with splits, new listings and other events', async () => {
  await simulateAll({ seed: 1, seeds: Math.ceil(SEEDS / 20), days: 3 })
})
