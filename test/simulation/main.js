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
const cpuSeconds = () => {
  const { user, system } = process.cpuUsage()
  return Math.round((user + system) / 1e4) / 100
}
try {
  const result = await simulate({
    ...numbers,
    ...(values.faults ? { faults: values.faults.split(',') } : {}),
    ...(values.verbose ? { log: console.log } : {}),
  })
  console.log({
    ...result,
    planted: result.planted.length,
    virtualHours: Math.round(result.virtualMs / 36_000) / 100,
    cpuSeconds: cpuSeconds(),
  })
} catch (error) {
  if (error?.name !== 'SimulationError') throw error
  const { seed, days, stocks } = { ...numbers, seed: error.seed }
  console.error(
    `${error.message}\nRepeat it with: npm run simulate -- --seed ${seed} --days ${days} --stocks ${stocks}${values.faults ? ` --faults ${values.faults}` : ''} --verbose`,
  )
  console.error(`${cpuSeconds()} s CPU`)
  process.exitCode = 1
}
