import { defer, switchMap } from 'rxjs'
import { exampleText } from '../help.js'
import { stocksOption } from '../options.js'
import { countSimulatedStocks } from '../provider.js'
import { readAsOf } from '../values.js'
import type { AddCommand } from './context.js'

interface DoctorInput {
  readonly out?: string
  readonly config?: string
  readonly asOf?: number
  readonly simulate?: number | true
  readonly json?: boolean
}

const examples = [
  ['scripstream doctor', 'sends one request to each endpoint and reports what fails'],
  ['scripstream doctor --json', 'the same as JSON'],
  ['scripstream doctor --simulate', 'the output when everything works'],
] as const

const DOCTOR_EXIT_CODES = `
Exit codes:
  0    everything works
  1    something does not work; the cause and what to do are shown
  2    wrong usage or configuration
  3    everything works, but answers have changed
  130  stopped by Ctrl+C
`

export const addDoctor: AddCommand = (program, { io, dependencies, act }) => {
  program
    .command('doctor')
    .description('Checks this machine and sends one request to each endpoint: what works, how fast, what has changed.')
    .option('--out <dir>', 'output folder of a run (default: ./data)')
    .option('--config <file>', 'settings file (default: scripstream.config.json, if present)')
    .option('--as-of <iso>', '"now": a day (its end in India) or a timestamp with offset', readAsOf)
    .addOption(stocksOption('--simulate [stocks]', 'use the built-in simulator; 500 stocks if no number is given'))
    .option('--json', 'print JSON on stdout')
    .addHelpText('after', exampleText(examples) + DOCTOR_EXIT_CODES)
    .action(({ json = false, out, config, asOf, simulate }: DoctorInput) => {
      const flags = { json, out, config, asOf, simulate: countSimulatedStocks(simulate) }
      return act(defer(() => import('../doctor/doctor.js')).pipe(switchMap(({ doctorCommand }) => doctorCommand(flags, io, dependencies))))
    })
}
