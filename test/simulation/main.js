// Runs simulations: npm run simulate -- --seeds 10000, or --seed 4711 --days 250 --stocks 60 --verbose
import { parseArgs } from 'node:util'
import { SIMULATED_FAULTS, simulate } from '../../dist/src/testing.js'

const NUMBERS = { seed: '1', seeds: '1', days: '1', stocks: '8', sql: undefined }

const HELP = `Simulates daily runs on virtual time until an invariant fails. Build first.

  --seeds <n>      how many seeds (default 1)
  --seed <n>       the first seed (default 1)
  --days <n>       days that each seed simulates (default 1)
  --stocks <n>     stocks of the market (default 8)
  --faults <list>  only these: ${SIMULATED_FAULTS.join(',')}
  --sql <n>        also check every n-th seed by SQL, which needs DuckDB
  --verbose        print what happens`

/** The options of the command line. @throws an error that names the option, and what it may be */
const readOptions = () => {
  const texts = Object.fromEntries(
    Object.entries(NUMBERS).map(([name, value]) => [name, { type: 'string', default: value }]),
  )
  const switches = { help: { type: 'boolean', short: 'h' }, verbose: { type: 'boolean', default: false } }
  const { values } = parseArgs({ options: { ...texts, ...switches, faults: { type: 'string' } } })
  if (values.help) {
    console.log(HELP)
    process.exit()
  }
  const faults = values.faults?.split(',')
  const unknown = faults?.find((fault) => !SIMULATED_FAULTS.includes(fault))
  if (unknown !== undefined)
    throw new Error(`--faults: unknown fault "${unknown}"; use some of ${SIMULATED_FAULTS.join(',')}`)
  const given = Object.keys(NUMBERS).filter((name) => values[name] !== undefined)
  const numbers = Object.fromEntries(given.map((name) => [name, Number(values[name])]))
  const wrong = Object.keys(numbers).find((name) => !Number.isSafeInteger(numbers[name]) || numbers[name] < 1)
  if (wrong !== undefined) throw new Error(`--${wrong}: "${values[wrong]}" is not a whole number from 1 on`)
  return { ...numbers, ...(faults && { faults }), ...(values.verbose && { log: console.log }) }
}

const cpuSeconds = () => {
  const { user, system } = process.cpuUsage()
  return Math.round((user + system) / 1e4) / 100
}

const run = async ({ sql, ...options }) => {
  try {
    const { planted, virtualMs, ...result } = await simulate(options)
    const virtualHours = Math.round(virtualMs / 36_000) / 100
    console.log({ ...result, planted: planted.length, virtualHours, cpuSeconds: cpuSeconds() })
    if (sql === undefined) return
    const { checkBySql } = await import('./sql.js')
    for (let seed = options.seed; seed < options.seed + options.seeds; seed += sql)
      await checkBySql({ ...options, seed })
    console.log(`seeds checked by SQL: ${Math.ceil(options.seeds / sql)}`)
  } catch (error) {
    if (error?.code === 'missing-package') return console.log(`skipped: no check by SQL: ${error.message}`)
    if (error?.name !== 'SimulationError') throw error
    const { days, stocks, faults } = options
    const repeat = `--seed ${error.seed} --days ${days} --stocks ${stocks}${faults ? ` --faults ${faults}` : ''}${sql ? ' --sql 1' : ''} --verbose`
    console.error(`${error.message}\nRepeat it with: npm run simulate -- ${repeat}\n${cpuSeconds()} s CPU`)
    process.exitCode = 1
  }
}

let options
try {
  options = readOptions()
} catch (error) {
  console.error(`error: ${error.message}`)
  process.exitCode = 2
}
if (options) await run(options)
