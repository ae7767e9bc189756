import { defer, switchMap } from 'rxjs'
import { exampleText } from '../help.js'
import { stocksOption } from '../options.js'
import { simulatedStocks } from '../provider.js'
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
  ['scripstream doctor', 'asks each call of the provider once, and says what does not work'],
  ['scripstream doctor --json', 'the same for programs'],
  ['scripstream doctor --simulate', 'what it looks like when all is well'],
] as const

const NOTES = `
Exit codes:
  0    all is well
  1    something does not work, each with its reason and what to do
  2    wrong usage or configuration
  3    all works, but answers have changed
  130  stopped by Ctrl+C
`

export const addDoctor: AddCommand = (program, { shell, parts, act }) => {
  program
    .command('doctor')
    .description('Checks this machine and asks each call of the provider once: what works, how fast, what has changed.')
    .option('--out <dir>', 'folder that a run would write to (default: ./data)')
    .option('--config <file>', 'settings file (default: scripstream.config.json, if it is there)')
    .option('--as-of <iso>', '"now": a day (its evening in India) or an instant with its offset', readAsOf)
    .addOption(stocksOption('--simulate [stocks]', 'ask the embedded provider; 500 stocks if no number is given'))
    .option('--json', 'as JSON')
    .addHelpText('after', exampleText(examples) + NOTES)
    .action(({ json = false, out, config, asOf, simulate }: DoctorInput) => {
      const flags = { json, out, config, asOf, simulate: simulatedStocks(simulate) }
      return act(defer(() => import('../doctor/doctor.js')).pipe(switchMap(({ doctorCommand }) => doctorCommand(flags, shell, parts))))
    })
}
