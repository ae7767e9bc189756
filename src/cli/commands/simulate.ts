import { exampleText, faultsText } from '../help.js'
import { stocksOption, wholeOption } from '../options.js'
import { simulateCommand } from '../simulate.js'
import { sizeOf } from '../terminal.js'
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
  ['scripstream simulate --port 8080 --stocks 2775', 'a whole market on a port of your choice'],
  ['scripstream simulate --faults faults.json', 'with faults, such as [{"on":"news","mode":"hang","times":1}]'],
  ['scripstream simulate > simulator.env', 'then, elsewhere: . ./simulator.env && scripstream run'],
] as const

export const addSimulate: AddCommand = (program, { shell, parts, act }) => {
  program
    .command('simulate')
    .description('Serves the embedded provider and prints the environment that leads to it.')
    .addOption(wholeOption('--port <n>', 'port on 127.0.0.1; 0 for any that is free', [0, 65_535]).default(0))
    .addOption(stocksOption('--stocks <n>', 'how many stocks are listed').default(500))
    .addOption(wholeOption('--seed <n>', 'the same seed gives the same market', [0, 2 ** 31 - 1]).default(1))
    .addOption(wholeOption('--latency <ms>', 'pause before each answer', [0, 60_000]).default(0))
    .option('--faults <file>', 'JSON file with a list of things that go wrong')
    .option('--limits <file>', 'JSON file with what each host (or *) grants: {"news": {"perSecond": 50, "burst": 10}}')
    .option('--as-of <iso>', '"now" of the market: a day (its evening in India) or an instant with its offset', readAsOf)
    .addHelpText('after', () => exampleText(examples) + faultsText(sizeOf(shell.stdout).columns))
    .action(({ latency, faults, limits, asOf, ...rest }: SimulateInput) =>
      act(simulateCommand({ ...rest, latencyMs: latency, faults, limits, asOf }, shell, parts)),
    )
}
