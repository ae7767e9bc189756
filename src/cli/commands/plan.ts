import { defer, switchMap } from 'rxjs'
import { exampleText } from '../help.js'
import { integerOption, stocksOption, streamsOption } from '../options.js'
import { countSimulatedStocks } from '../provider.js'
import { readAsOf, readSymbols } from '../values.js'
import type { AddCommand } from './context.js'

interface PlanInput {
  readonly out?: string
  readonly config?: string
  readonly only?: readonly string[]
  readonly skip?: readonly string[]
  readonly symbols?: readonly string[]
  readonly asOf?: number
  readonly fresh?: boolean
  readonly simulate?: number | true
  readonly stocks?: number
  readonly latency?: number
  readonly json?: boolean
}

const examples = [
  ['scripstream plan', 'requests, time and disk space of the next run'],
  ['scripstream plan --stocks 500 --latency 250', 'a first run, with your number of stocks and latency'],
  ['scripstream plan --only all-ohlcv --symbols INFY,TCS', 'part of a run'],
  ['scripstream plan --json', 'the same as JSON'],
] as const

export const addPlan: AddCommand = (program, { io, dependencies, act }) => {
  const names = dependencies.streams.map(({ name }) => name)
  program
    .command('plan')
    .description('Estimates the requests, time and disk space of a run. Sends no request.')
    .option('--out <dir>', 'output folder of the run (default: ./data)')
    .option('--config <file>', 'settings file (default: scripstream.config.json, if present)')
    .addOption(streamsOption('--only', 'only these streams and those that they need', names))
    .addOption(streamsOption('--skip', 'all streams except these', names))
    .option('--symbols <symbols>', 'only these stocks: A,B or @FILE', readSymbols)
    .option('--as-of <iso>', '"now": a day (its end in India) or a timestamp with offset', readAsOf)
    .option('--fresh', 'a run that starts from scratch')
    .addOption(stocksOption('--simulate [stocks]', 'a run on the built-in simulator; 500 stocks if no number is given'))
    .addOption(stocksOption('--stocks <n>', 'number of stocks, if the folder has no master list (default: 2775)'))
    .addOption(integerOption('--latency <ms>', 'time of one request (default: as in the last run, else 100)', [0, 600_000]))
    .option('--json', 'print JSON on stdout')
    .addHelpText('after', exampleText(examples))
    .action(({ out, config, simulate, stocks, latency, json = false, ...run }: PlanInput) => {
      const flags = { out, config, run, asOf: run.asOf, simulate: countSimulatedStocks(simulate), stocks, latency, json }
      return act(defer(() => import('../plan/plan.js')).pipe(switchMap(({ planCommand }) => planCommand(flags, io, dependencies))))
    })
}
