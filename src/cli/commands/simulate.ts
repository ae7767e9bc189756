import { exampleText, faultsText } from '../help.js'
import { integerOption, stocksOption } from '../options.js'
import { simulateCommand } from '../simulate.js'
import { readSize } from '../terminal.js'
import { readAsOf } from '../values.js'
import type { AddCommand } from './context.js'

interface SimulateInput {
  readonly port: number
  readonly stocks: number
  readonly seed: number
  readonly latency: number
  readonly faults?: string
  readonly limits?: string
  readonly asOf?: number
}

const examples = [
  ['scripstream simulate --port 8080 --stocks 2775', 'a whole market on port 8080'],
  ['scripstream simulate --faults faults.json', 'with faults, such as [{"on":"news","mode":"hang","times":1}]'],
  ['scripstream simulate > simulator.env', 'then, in another terminal: . ./simulator.env && scripstream run'],
] as const

export const addSimulate: AddCommand = (program, { io, dependencies, act }) => {
  program
    .command('simulate')
    .description('Starts the simulator and prints the environment variables that point to it.')
    .addOption(integerOption('--port <n>', 'port on 127.0.0.1; 0 for any free port', [0, 65_535]).default(0))
    .addOption(stocksOption('--stocks <n>', 'number of stocks').default(500))
    .addOption(integerOption('--seed <n>', 'the same seed gives the same market', [0, 2 ** 31 - 1]).default(1))
    .addOption(integerOption('--latency <ms>', 'delay before each answer', [0, 60_000]).default(0))
    .option('--faults <file>', 'JSON file with a list of faults')
    .option('--limits <file>', 'JSON file with the rate limit of each host (or *): {"news": {"perSecond": 50, "burst": 10}}')
    .option('--as-of <iso>', '"now" of the market: a day (its end in India) or a timestamp with offset', readAsOf)
    .addHelpText('after', () => exampleText(examples) + faultsText(readSize(io.stdout).columns))
    .action(({ latency, faults, limits, asOf, ...rest }: SimulateInput) =>
      act(simulateCommand({ ...rest, latencyMs: latency, faults, limits, asOf }, io, dependencies)),
    )
}
