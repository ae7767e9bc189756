// Runs simulations: npm run simulate -- --seeds 10000, or --seed 4711 --days 250 --stocks 60 --verbose
import { parseArgs } from 'node:util'
import { simulate } from '../../dist/src/simulation/simulate.js'

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    seeds: { type: 'string', default: '1' },
    days: { type: 'string', default: '1' },
    stocks: { type: 'string', default: '8' },
    faults: { type: 'string' },
    verbose: { type: 'boolean', default: false },
  },
})
const numbers = Object.fromEntries(['seed', 'seeds', 'days', 'stocks'].map((name) => [name, Number(values[name])]))
const cpu = process.cpuUsage()
try {
  const result = await simulate({
    ...numbers,
    ...(values.faults ? { faults: values.faults.split(',') } : {}),
    ...(values.verbose ? { log: console.log } : {}),
  })
  const { user, system } = process.cpuUsage(cpu)
  console.log({ ...result, virtualHours: Math.round(result.virtualMs / 36_000) / 100, cpuSeconds: Math.round((user + system) / 1e4) / 100 })
} catch (error) {
  if (error?.name !== 'SimulationError') throw error
  const { seed, days, stocks } = { ...numbers, seed: error.seed }
  console.error(`${error.message}\nRepeat it with: npm run simulate -- --seed ${seed} --days ${days} --stocks ${stocks} --verbose`)
  process.exitCode = 1
}
