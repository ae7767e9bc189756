import { defer, switchMap } from 'rxjs'
import { exampleText } from '../help.js'
import { stocksOption, streamsOption, wholeOption } from '../options.js'
import { simulatedStocks } from '../provider.js'
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
  ['scripstream plan', 'requests to each service, time and disk of the next run'],
  ['scripstream plan --stocks 500 --latency 250', 'of a first run, for a market and a provider that you know'],
  ['scripstream plan --only all-ohlcv --symbols INFY,TCS', 'of a part of it'],
  ['scripstream plan --json', 'the same for programs'],
] as const

export const addPlan: AddCommand = (program, { shell, parts, act }) => {
  const names = parts.streams.map(({ name }) => name)
  program
    .command('plan')
    .description('Says how many requests a run would send to whom, how long it would take, and what it would leave. Asks nobody.')
    .option('--out <dir>', 'folder that the run would write to (default: ./data)')
    .option('--config <file>', 'settings file (default: scripstream.config.json, if it is there)')
    .addOption(streamsOption('--only', 'only these streams, and what they need', names))
    .addOption(streamsOption('--skip', 'all streams but these', names))
    .option('--symbols <symbols>', 'only these stocks: A,B or @FILE', readSymbols)
    .option('--as-of <iso>', '"now": a day (its evening in India) or an instant with its offset', readAsOf)
    .option('--fresh', 'a run that begins anew, whatever was done already')
    .addOption(stocksOption('--simulate [stocks]', 'a run on the embedded provider; 500 stocks if no number is given'))
    .addOption(stocksOption('--stocks <n>', 'how many stocks there are, if the folder holds no master list (default: 2775)'))
    .addOption(wholeOption('--latency <ms>', 'what a request takes (default: as in the last run, else 100)', [0, 600_000]))
    .option('--json', 'as JSON')
    .addHelpText('after', exampleText(examples))
    .action(({ out, config, simulate, stocks, latency, json = false, ...run }: PlanInput) => {
      const flags = { out, config, run, asOf: run.asOf, simulate: simulatedStocks(simulate), stocks, latency, json }
      return act(defer(() => import('../plan/plan.js')).pipe(switchMap(({ planCommand }) => planCommand(flags, shell, parts))))
    })
}
