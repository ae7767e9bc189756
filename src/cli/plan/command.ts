import { defer, switchMap } from 'rxjs'
import type { RunOptions } from '../../collector.js'
import { asOfOption } from '../as-of.js'
import type { AddCommand } from '../dependencies.js'
import { exampleText, integerOption, simulateOption, stocksOption, streamsOption, withFolderOptions } from '../options.js'
import { readSymbols, symbolsOption } from '../symbols.js'
import type { PlanFlags } from './plan.js'

interface PlanInput extends Omit<PlanFlags, 'run' | 'asOf'>, Pick<RunOptions, 'only' | 'skip' | 'asOf' | 'fresh'> {
  readonly symbols?: string
}

const examples = [
  ['scripstream plan', 'requests, time and disk space of the next run'],
  ['scripstream plan --stocks 500 --latency 250', 'a first run, with your number of stocks and latency'],
  ['scripstream plan --only all-ohlcv --symbols INFY,TCS', 'part of a run'],
  ['scripstream plan --json', 'the same as JSON'],
] as const

export const addPlan: AddCommand = (program, { io, dependencies, act }) => {
  withFolderOptions(
    program.command('plan').description('Estimates the requests, time and disk space of a run. Sends no request.'),
    'output folder of the run (default: ./data)',
  )
    .addOption(streamsOption('--only', 'only these streams and those that they need', dependencies.streams))
    .addOption(streamsOption('--skip', 'all streams except these', dependencies.streams))
    .addOption(symbolsOption())
    .addOption(asOfOption(io))
    .option('--fresh', 'a run that starts from scratch')
    .addOption(simulateOption('a run on the built-in simulator'))
    .addOption(stocksOption('--stocks <n>', 'number of stocks, if the folder has no master list (default: 2775)'))
    .addOption(integerOption('--latency <ms>', 'time of one request (default: as in the last run, else 100)', [0, 600_000]))
    .option('--json', 'print JSON on stdout')
    .addHelpText('after', exampleText(examples))
    .action(({ out, config, symbols, simulate, stocks, latency, json, ...run }: PlanInput) => {
      const readRun: PlanFlags['run'] = (settings) => ({ ...run, ...readSymbols(symbols, settings) })
      const flags = { out, config, run: readRun, asOf: run.asOf, simulate, stocks, latency, json }
      return act(defer(() => import('./plan.js')).pipe(switchMap(({ planCommand }) => planCommand(flags, io, dependencies))))
    })
}
